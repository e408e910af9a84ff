"""Session windows that tell each change: which sessions a row makes, extends or joins together."""

import numpy as np
import pyarrow as pa

from headrace.operators.operator import (
    DUE,
    HASH,
    KEY,
    TIME,
    Flags,
    Numbers,
    Turn,
    codes,
    numbers,
    starts,
    with_column,
)
from headrace.operators.sliding import END, START


class Sessions:
    """Rows of a key that follow each other by at most ``gap``: ``[first, last + gap)``.

    For each session with a new row all its rows come out. A session that became part of another comes out once more,
    with no time: it is no more.

    Args:
        gap: In microseconds.
        rows: The columns of the rows that come.
        keys: Those that are the same for all rows of a key.
    """

    def __init__(self, gap: int, rows: pa.Schema, keys: tuple[str, ...]) -> None:
        self._gap, self._rows, self._keys = gap, rows, keys
        self.kept = rows.append(pa.field(DUE, pa.int64()))
        self._given = [field for field in rows if field.name not in (KEY, HASH)]
        self.out = pa.schema([pa.field(START, pa.int64()), pa.field(END, pa.int64()), *self._given])

    def turn(self, kept: pa.Table, rows: pa.Table, now: int) -> Turn:
        """Add rows, tell the sessions that changed, and forget those that are closed."""
        new = rows.filter(pa.array(numbers(rows, TIME) + self._gap > now * 1000))
        table = pa.concat_tables([kept.select(self._rows.names), new]).combine_chunks()
        times, code = numbers(table, TIME), codes(table.column(KEY))
        order = np.lexsort((times, code))
        table, times, code = table.take(pa.array(order)), times[order], code[order]
        fresh: Flags = order >= kept.num_rows
        if not len(order):
            return Turn(self.kept.empty_table(), self.out.empty_table(), rows.num_rows)
        session, first, begin, end = self._cut(code, times)
        changed = np.logical_or.reduceat(fresh, first)
        told = changed[session]
        out = self._given_out(table.filter(pa.array(told)), begin[session][told], end[session][told], True)
        parts = [out]
        if (old := np.flatnonzero(~fresh)).size:  # which were there before these rows came, and have other bounds now
            _, before, was_begin, was_end = self._cut(code[old], times[old])
            now_in = session[old[before]]
            moved = (was_begin != begin[now_in]) | (was_end != end[now_in])
            gone = table.take(pa.array(old[before][moved]))
            parts.append(self._given_out(gone, was_begin[moved], was_end[moved], False))
        left = end[session] > now * 1000
        due = -(-end[session][left] // 1000)
        remembered = with_column(table.filter(pa.array(left)), DUE, due).select(self.kept.names)
        return Turn(remembered, pa.concat_tables(parts), rows.num_rows - new.num_rows)

    def _cut(self, code: Numbers, times: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """Return the session of each sorted row, and of each session its first row, its begin and its end."""
        begins = starts(code)
        begins[1:] |= times[1:] - times[:-1] > self._gap
        first = np.flatnonzero(begins)
        last = np.append(first[1:], len(times)) - 1
        return np.cumsum(begins) - 1, first, times[first], times[last] + self._gap

    def _given_out(self, table: pa.Table, begin: Numbers, end: Numbers, there: bool) -> pa.Table:
        def column(field: pa.Field) -> pa.ChunkedArray | pa.Array:
            known = there or field.name in self._keys
            return table.column(field.name) if known else pa.nulls(table.num_rows, field.type)

        return pa.table([pa.array(begin), pa.array(end), *map(column, self._given)], schema=self.out)
