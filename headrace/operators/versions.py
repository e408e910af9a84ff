"""The value of a table that held at a time: stream rows look it up among the versions of their key."""

from typing import Literal

import numpy as np
import pyarrow as pa

from headrace.operators.operator import (
    DUE,
    GONE,
    KEY,
    ORDER,
    SIDE,
    TIME,
    Flags,
    Numbers,
    Turn,
    codes,
    kept_for_good,
    milliseconds,
    numbers,
    readable,
    starts,
    with_column,
)

STREAM, TABLE = 0, 1


class AsOf:
    """Enrich stream rows with the version of the table that held at their time, or with the latest.

    A row waits until the time has come at which no older version is expected, if it is told to; otherwise it gets what
    is known. Versions are kept for a while after they were replaced, the latest of a key for ever.

    Args:
        rows: The columns that come from both sides, `SIDE`, `TIME`, `ORDER` and `GONE` among them.
        stream: Those of the stream that come out.
        table: Those of the table that come out.
        how: Whether rows without a partner come out.
        history: How long versions are kept, in milliseconds; None to keep the latest only, and to look that up.
        waits: Whether rows wait for their time.
    """

    def __init__(
        self,
        rows: pa.Schema,
        stream: tuple[str, ...],
        table: tuple[str, ...],
        *,
        how: Literal["inner", "left"],
        history: int | None,
        waits: bool,
    ) -> None:
        self._rows, self._stream, self._table = rows, stream, table
        self._how, self._history, self._waits = how, history, waits
        self.kept = rows.append(pa.field(DUE, pa.int64()))
        self.out = pa.schema([rows.field(TIME), *(rows.field(name) for name in (*stream, *table))])

    def turn(self, kept: pa.Table, rows: pa.Table, now: int) -> Turn:
        """Add the versions of a batch, then answer its stream rows and those that have waited long enough."""
        read = readable(rows)
        table = pa.concat_tables([kept.select(self._rows.names), read]).combine_chunks()
        code, at = codes(table.column(KEY)), self._moments(table)
        of_stream = numbers(table, SIDE) == STREAM
        asking = np.flatnonzero(of_stream)
        asking = asking[np.argsort(numbers(table, ORDER)[asking], kind="stable")]  # as they lie in the log
        ready = milliseconds(table)[asking] <= now if self._waits else np.ones(len(asking), np.bool_)
        held = _sorted(np.flatnonzero(~of_stream), numbers(table, ORDER), at, code)
        out = self._answered(table, asking[ready], held, at, code)
        waiting = table.take(pa.array(asking[~ready]))
        later = with_column(waiting, DUE, milliseconds(waiting)).select(self.kept.names)
        left = pa.concat_tables([self._remembered(table.take(pa.array(held)), code[held], now), later])
        return Turn(left, out, rows.num_rows - read.num_rows)

    def _moments(self, table: pa.Table) -> Numbers:
        """Return when versions hold from, and when rows look; without a history there is one moment only."""
        return np.zeros(table.num_rows, np.int64) if self._history is None else numbers(table, TIME)

    def _answered(self, table: pa.Table, asking: Numbers, held: Numbers, at: Numbers, code: Numbers) -> pa.Table:
        known, moment = np.unique(at, return_inverse=True)
        place = code * (len(known) + 1) + moment
        found = np.searchsorted(place[held], place[asking], side="right") - 1
        hit: Flags = np.zeros(len(asking), np.bool_)
        index = np.zeros(len(asking), np.int64)
        if len(held):
            index = held[np.maximum(found, 0)]
            gone = table.column(GONE).to_numpy()
            hit = (found >= 0) & (code[index] == code[asking]) & ~gone[index]
        if self._how == "inner":
            asking, index, hit = asking[hit], index[hit], hit[hit]
        given = table.select([TIME, *self._stream]).take(pa.array(asking))
        columns = table.select(list(self._table)).take(pa.array(index, mask=~hit))
        return pa.table([*given.columns, *columns.columns], schema=self.out)

    def _remembered(self, versions: pa.Table, code: Numbers, now: int) -> pa.Table:
        """Return the versions that a later row may ask for: the latest, and those replaced not long ago."""
        latest: Flags = np.append(starts(code)[1:], True) if len(code) else np.zeros(0, np.bool_)
        gone = versions.column(GONE).to_numpy()
        if self._history is None:
            needed = latest & ~gone
        else:
            began = milliseconds(versions)
            until = _replaced(began, latest)
            needed = (until > now - self._history) & ~(latest & gone & (began <= now - self._history))
        return kept_for_good(versions.filter(pa.array(needed)), self.kept)


def _sorted(held: Numbers, order: Numbers, at: Numbers, code: Numbers) -> Numbers:
    """Return the versions by key and time; of those of one time, the last written."""
    held = held[np.lexsort((order[held], at[held], code[held]))]
    last = np.ones(len(held), np.bool_)
    last[:-1] = (np.diff(code[held]) != 0) | (np.diff(at[held]) != 0)
    return held[last]


def _replaced(began: Numbers, latest: Flags) -> Numbers:
    """Return until when each version held; the latest hold for ever."""
    until = np.append(began[1:], 0)
    until[latest] = np.iinfo(np.int64).max
    return until
