"""Sliding windows: one for every set of events of a key that lie within ``size`` of each other.

The windows of an event at t are ``[t - size, t]`` and, where there is an event in it, ``[t + 1 ms, t + 1 ms + size]``:
those at which an event has just entered, and those at which one has just left. Both ends belong to the window.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.operators.operator import (
    DUE,
    HASH,
    KEY,
    Flags,
    Numbers,
    Turn,
    codes,
    milliseconds,
    span_indices,
    starts,
    with_column,
)

START, END = "__start", "__end"  # of a window, in microseconds
_DONE = "__done"  # up to when the windows of a row were told, in milliseconds
Fold = Literal["count", "sum", "avg", "min", "max"]


@dataclass(frozen=True)
class Measure:
    """An aggregate that is computed here; ``column`` is None where all rows count."""

    name: str
    fold: Fold
    column: str | None
    type: pa.DataType


@dataclass(frozen=True)
class _Windows:
    """Windows over sorted rows: their bounds in milliseconds, and the rows ``[low, high)`` that they hold."""

    start: Numbers
    end: Numbers
    low: Numbers
    high: Numbers
    fresh: Flags  # whether the window has a new row, or did not exist before

    def where(self, mask: Flags) -> "_Windows":
        return _Windows(self.start[mask], self.end[mask], self.low[mask], self.high[mask], self.fresh[mask])


class Sliding:
    """Windows of one size per key.

    Args:
        size: In milliseconds.
        rows: The columns of the rows that come.
        keys: Those that are the same for all rows of a key.
        measures: What to compute; None to give out the rows of each window instead, for others to compute of.
        final: Whether each window comes out once, when it is closed, or whenever it changes.
    """

    def __init__(
        self,
        size: int,
        rows: pa.Schema,
        keys: tuple[str, ...],
        measures: tuple[Measure, ...] | None,
        final: bool,
    ) -> None:
        self._size, self._keys, self._measures, self._final = size, keys, measures, final
        self._rows = rows
        self.kept = rows.append(pa.field(DUE, pa.int64())).append(pa.field(_DONE, pa.int64()))
        bounds = [pa.field(START, pa.int64()), pa.field(END, pa.int64())]
        if measures is None:
            self._given = [field for field in rows if field.name not in (KEY, HASH)]
            self.out = pa.schema([*bounds, *self._given])
        else:
            self._given = [rows.field(name) for name in keys]
            self.out = pa.schema([*bounds, *self._given, *(pa.field(m.name, m.type) for m in measures)])

    def turn(self, kept: pa.Table, rows: pa.Table, now: int) -> Turn:
        """Add rows, tell the windows that changed or closed, and forget what can be in no other window."""
        at = milliseconds(rows)
        new = rows.filter(pa.array(at > now))
        late = rows.num_rows - new.num_rows
        done = np.concatenate([kept.column(_DONE).to_numpy(), np.full(new.num_rows, now)])
        table = pa.concat_tables([kept.select(self._rows.names), new]).combine_chunks()
        times, code = milliseconds(table), codes(table.column(KEY))
        order = np.lexsort((times, code))
        times, code, table = times[order], code[order], table.take(pa.array(order))
        fresh = order >= kept.num_rows
        windows = self._windows(code, times, fresh)
        if self._final:
            told = np.minimum.reduceat(done[order], np.flatnonzero(starts(code))) if len(code) else done
            since = told[np.cumsum(starts(code)) - 1][windows.low] if len(code) else done
            windows = windows.where((windows.end <= now) & (windows.end > since))
        else:
            windows = windows.where(windows.fresh)
        out = self._told(table, windows)
        return Turn(self._left(table, times, now), out, late)

    def _left(self, table: pa.Table, times: Numbers, now: int) -> pa.Table:
        """Return the rows that later windows may hold, each with the time at which to look again."""
        needed = times >= now - self._size - 1
        left, at = table.filter(pa.array(needed)), times[needed]
        gone = at + self._size + 2
        due = np.where(at > now, at, np.where(at + self._size + 1 > now, at + self._size + 1, gone))
        left = with_column(left, DUE, due if self._final else gone)
        return with_column(left, _DONE, np.full(len(at), now)).select(self.kept.names)

    def _windows(self, code: Numbers, times: Numbers, fresh: Flags) -> _Windows:
        moments = np.flatnonzero(starts(code) | starts(times))
        if not len(moments):
            nothing = np.zeros(0, np.int64)
            return _Windows(nothing, nothing, nothing, nothing, np.zeros(0, np.bool_))
        ends = np.append(moments[1:], len(code))  # past the last row of each moment
        who, when = code[moments], times[moments]
        known = np.unique(times)
        place = code * (len(known) + 1) + np.searchsorted(known, times)

        def first(at: Numbers) -> Numbers:
            """Return the first row of the same key that is not before a time."""
            found: Numbers = np.searchsorted(place, who * (len(known) + 1) + np.searchsorted(known, at))
            return found

        low = first(when - self._size)
        after, high = ends, first(when + self._size + 2)
        news = np.concatenate([[0], np.cumsum(fresh)])
        is_new = np.logical_and.reduceat(fresh, moments)
        entering = _Windows(when - self._size, when, low, ends, news[ends] > news[low])
        leaving = _Windows(when + 1, when + self._size + 1, after, high, (news[high] > news[after]) | is_new)
        some = high > after
        last = times[np.maximum(high - 1, 0)]
        leaving = leaving.where(some & (last != when + self._size + 1))  # that one is a window at which a row enters
        parts = zip(vars(entering).values(), vars(leaving).values(), strict=True)
        return _Windows(*(np.concatenate(pair) for pair in parts))

    def _told(self, table: pa.Table, windows: _Windows) -> pa.Table:
        start, end = windows.start * 1000, windows.end * 1000
        if self._measures is None:
            rows, owner = span_indices(windows.low, windows.high)
            given = table.select([field.name for field in self._given]).take(pa.array(rows))
            columns = [pa.array(start[owner]), pa.array(end[owner]), *given.columns]
            return pa.table(columns, schema=self.out)
        given = table.select(list(self._keys)).take(pa.array(windows.low))
        values = [_measured(table, measure, windows) for measure in self._measures]
        return pa.table([pa.array(start), pa.array(end), *given.columns, *values], schema=self.out)


def _measured(table: pa.Table, measure: Measure, windows: _Windows) -> pa.Array:
    size = windows.high - windows.low
    if measure.column is None:
        return pa.array(size).cast(measure.type)
    column = table.column(measure.column).combine_chunks()
    there = column.is_valid().to_numpy(zero_copy_only=False)
    count = np.concatenate([[0], np.cumsum(there)])
    present = count[windows.high] - count[windows.low]
    if measure.fold == "count":
        return pa.array(present).cast(measure.type)
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    if measure.fold in ("sum", "avg"):
        values = values.astype(np.float64 if measure.fold == "avg" or values.dtype.kind == "f" else np.int64)
    elif not there.all():
        values = np.where(there, values, _least(values.dtype, measure.fold))
    found = _folded(values, measure.fold, windows)
    if measure.fold == "avg":
        found = found / np.maximum(present, 1)
    return pa.array(found, mask=present == 0).cast(measure.type)


def _least(dtype: np.dtype[Any], fold: Fold) -> float:
    """Return a value that changes no minimum, or no maximum."""
    if dtype.kind == "f":
        return np.inf if fold == "min" else -np.inf
    return np.iinfo(dtype).max if fold == "min" else np.iinfo(dtype).min


def _folded(values: npt.NDArray[np.generic], fold: Fold, windows: _Windows) -> npt.NDArray[np.generic]:
    """Fold each window's rows by themselves: to subtract running totals would let errors of rounding grow."""
    if not len(windows.low):
        return np.zeros(0, values.dtype)
    ufunc = {"sum": np.add, "avg": np.add, "min": np.fmin, "max": np.maximum}[fold]  # NaN counts as the largest
    padded = np.append(values, values[-1:])  # so that the end of the last row is an index too
    bounds = np.empty(2 * len(windows.low), np.int64)
    bounds[0::2], bounds[1::2] = windows.low, windows.high
    folded: npt.NDArray[np.generic] = ufunc.reduceat(padded, bounds)[0::2]
    return folded
