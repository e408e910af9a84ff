"""Operators of the user's own: a state, rows and timers for each key."""

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from headrace.core.errors import OperatorError
from headrace.operators.operator import (
    DUE,
    HASH,
    KEY,
    ORDER,
    TIME,
    Numbers,
    Turn,
    codes,
    numbers,
    objects,
    readable,
    starts,
)
from headrace.operators.processor import Key, Processor, Row

FROM = "__from"  # topic, partition and offset of a row, as text
_STATE = "__state"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class _Page:
    """What a turn makes: the keys to keep, and the rows that come out."""

    kept: list[tuple[str, int, int | None, list[Any], bytes]] = field(default_factory=list)
    out: list[Row] = field(default_factory=list)


class Keyed:
    """Runs a `Processor`.

    Args:
        rows: The columns that come.
        keys: Those that rows are grouped by.
        out: The columns that the processor returns.
        logic: The processor.
        step: How the user calls it.
        patience: Seconds that one call may take.
    """

    def __init__(
        self,
        rows: pa.Schema,
        keys: tuple[str, ...],
        out: pa.Schema,
        *,
        logic: Processor,
        step: str,
        patience: float,
    ) -> None:
        self._keys, self._logic, self._step, self._patience = keys, logic, step, patience
        self._given = [name for name in rows.names if name not in (KEY, HASH, TIME, ORDER, FROM)]
        place = [rows.field(KEY), rows.field(HASH), pa.field(DUE, pa.int64())]
        self.kept = pa.schema([*place, *(rows.field(name) for name in keys), pa.field(_STATE, pa.binary())])
        self.out = out
        self._returned = frozenset(out.names)

    def turn(self, kept: pa.Table, rows: pa.Table, now: int) -> Turn:
        """Call the processor for each key that has rows, and for each whose time has come."""
        read = readable(rows)
        at = _EPOCH + timedelta(milliseconds=now)
        known = {row[KEY]: row for row in _rows(kept, kept.schema.names)}
        page = _Page()
        with _alarm(self._patience):
            for name, place, values, where in self._groups(read):
                self._call(page, self._key(name, place, known.pop(name, None), values[0], at), values, where)
            for name, row in known.items():
                due = row[DUE]
                if due is not None and due <= now:
                    self._call(page, self._key(name, row[HASH], row, row, at), None, "a timer")
                else:
                    page.kept.append((name, row[HASH], due, [row[k] for k in self._keys], row[_STATE]))
        return Turn(self._table(page), self._rows(page.out), rows.num_rows - read.num_rows)

    def _groups(self, rows: pa.Table) -> Iterator[tuple[str, int, list[Row], str]]:
        """Yield the rows of each key, in the order of their time."""
        if not rows.num_rows:
            return
        code = codes(rows.column(KEY))
        order = np.lexsort((numbers(rows, ORDER), numbers(rows, TIME), code))
        table, code = rows.take(pa.array(order)), code[order]
        values = _rows(table, self._given)
        begins: Numbers = np.flatnonzero(starts(code))
        names = table.column(KEY).take(pa.array(begins)).to_pylist()
        places = table.column(HASH).take(pa.array(begins)).to_pylist()
        origins = table.column(FROM).take(pa.array(begins)).to_pylist()
        ends = np.append(begins[1:], len(code))
        for name, place, origin, begin, end in zip(names, places, origins, begins, ends, strict=True):
            yield name, place, values[begin:end], origin

    def _key(self, name: str, place: int, known: Row | None, row: Row, at: datetime) -> "_Held":
        values = [row[key] for key in self._keys]
        state = None if known is None else msgspec.msgpack.decode(known[_STATE])
        due = None if known is None or known[DUE] is None else _EPOCH + timedelta(milliseconds=known[DUE])
        return _Held(name, place, values, Key(values[0] if len(values) == 1 else tuple(values), state, at, due))

    def _call(self, page: _Page, held: "_Held", rows: list[Row] | None, where: str) -> None:
        key = held.key
        try:
            _restart(self._patience)
            if rows is None:
                key.due = None
            found = self._logic.on_timer(key) if rows is None else self._logic.on_rows(key, rows)
            given = list(found or ())
            for row in given:
                self._check(row)
            state = msgspec.msgpack.encode(key.state)
        except Exception as error:  # the user's code may raise anything
            raise OperatorError(
                f"'{self._step}' failed at the key {key.value!r}, with {where}: {type(error).__name__}: {error}"
            ) from error
        page.out += given
        if key.state is not None or key.due is not None:
            due = None if key.due is None else -(-(key.due - _EPOCH) // timedelta(milliseconds=1))
            page.kept.append((held.name, held.place, due, held.values, state))

    def _check(self, row: object) -> None:
        if not isinstance(row, Mapping):
            raise TypeError(f"it returned {row!r}, not a dict")
        if not row.keys() <= self._returned:
            raise ValueError(f"it returned the columns {', '.join(row)}; its schema has {', '.join(self.out.names)}")

    def _table(self, page: _Page) -> pa.Table:
        names, places, dues, states = ([row[n] for row in page.kept] for n in (0, 1, 2, 4))
        columns = [[row[3][n] for row in page.kept] for n in range(len(self._keys))]
        parts = zip([names, places, dues, *columns, states], self.kept, strict=True)
        return pa.table([pa.array(values, type=field.type) for values, field in parts], schema=self.kept)

    def _rows(self, rows: list[Row]) -> pa.Table:
        columns = []
        for column in self.out:
            values = [row.get(column.name) for row in rows]
            try:
                columns.append(pa.array(values, type=column.type))
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                raise OperatorError(
                    f"'{self._step}' returned a value for {column.name!r} that is no {column.type}: {error}"
                ) from error
        return pa.table(columns, schema=self.out)


@dataclass(slots=True)
class _Held:
    name: str
    place: int
    values: list[Any]
    key: Key


def _rows(table: pa.Table, names: list[str]) -> list[Row]:
    columns = [objects(table.column(name)) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise in a call that takes longer than it may, counted from the last `_restart`."""
    if not _interruptible():
        yield
        return

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"it took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _restart(seconds: float) -> None:
    if _interruptible():
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _interruptible() -> bool:
    return threading.current_thread() is threading.main_thread()  # signals reach no other
