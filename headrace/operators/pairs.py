"""Joins of two tables by equal values, kept right: pairs that are new or changed, and pairs that are no more."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.operators.groups import THERE, with_there
from headrace.operators.operator import DUE, SIDE, Flags, Numbers, Turn, kept_for_good, numbers, span_indices
from headrace.operators.weights import ROW, WEIGHT, Applied

LEFT, RIGHT = 0, 1
_NAME = "__name"  # text that tells pairs apart


@dataclass(frozen=True)
class _Side:
    """The rows of one side, sorted by key."""

    rows: pa.Table
    key: Numbers
    changed: Flags

    def spans(self, keys: Numbers) -> tuple[Numbers, Numbers]:
        """Return the rows of each key."""
        return np.searchsorted(self.key, keys), np.searchsorted(self.key, keys, side="right")

    def where(self, mask: Flags) -> "_Side":
        return _Side(self.rows.filter(pa.array(mask)), self.key[mask], self.changed[mask])


class Pairs:
    """Pairs of rows with the same key.

    Args:
        rows: The columns that come, `SIDE`, `ROW` and `WEIGHT` among them.
        left: Those of the left side that come out.
        right: Those of the right side.
        unique: Whether a left row has one partner at most: a pair is then the same with another partner.
        how: Which rows without a partner come out too.
    """

    def __init__(
        self,
        rows: pa.Schema,
        left: tuple[str, ...],
        right: tuple[str, ...],
        unique: bool,
        how: Literal["inner", "left", "right", "full"],
    ) -> None:
        self._left, self._right, self._unique, self._how = left, right, unique, how
        self._kept = pa.schema([field for field in rows if field.name != WEIGHT])
        self.kept = self._kept.append(pa.field(DUE, pa.int64()))
        columns = [self._kept.field(name) for name in (*left, *right)]
        self._named = pa.schema([pa.field(_NAME, pa.string()), *columns])
        self.out = pa.schema([pa.field(THERE, pa.bool_()), *columns])

    def turn(self, kept: pa.Table, rows: pa.Table, now: int) -> Turn:
        """Take the rows that came and went on both sides."""
        done = Applied(kept.select(self._kept.names), rows, SIDE)
        before = self._pairs(done.before, done.key_before, done.changed_before, done.keys)
        after = self._pairs(done.after, done.key_after, done.changed_after, done.keys)
        gone = before.filter(pc.invert(pc.is_in(before.column(_NAME), after.column(_NAME).combine_chunks())))
        out = [with_there(part.drop_columns([_NAME]), n == 0, self.out) for n, part in enumerate((after, gone))]
        return Turn(kept_for_good(done.after, self.kept), pa.concat_tables(out))

    def _pairs(self, rows: pa.Table, key: Numbers, changed: Flags, touched: Numbers) -> pa.Table:
        """Return the pairs of the keys that were touched in which a side has changed, and rows without a partner."""
        asked = np.isin(key, touched)
        rows, key, changed = rows.filter(pa.array(asked)), key[asked], changed[asked]
        side = numbers(rows, SIDE)
        left, right = (
            _Side(rows.filter(pa.array(side == n)), key[side == n], changed[side == n]) for n in (LEFT, RIGHT)
        )
        parts = [self._product(left.where(left.changed), right)]
        parts.append(self._product(left.where(~left.changed), right.where(right.changed)))
        if self._how in ("left", "full"):
            parts.append(self._alone(left, right, self._left))
        if self._how in ("right", "full"):
            parts.append(self._alone(right, left, self._right))
        return pa.concat_tables(parts)

    def _product(self, left: _Side, right: _Side) -> pa.Table:
        theirs, ours = span_indices(*right.spans(left.key))
        mine, other = left.rows.take(pa.array(ours)), right.rows.take(pa.array(theirs))
        names = mine.column(ROW)
        if not self._unique:
            names = pc.binary_join_element_wise(names, other.column(ROW), "\1")
        columns = [*mine.select(list(self._left)).columns, *other.select(list(self._right)).columns]
        return pa.table([names, *columns], schema=self._named)

    def _alone(self, side: _Side, other: _Side, columns: tuple[str, ...]) -> pa.Table:
        low, high = other.spans(side.key)
        rows = side.rows.filter(pa.array(low == high))
        names = rows.column(ROW)
        if columns is self._right or not self._unique:
            names = pc.binary_join_element_wise(names, "left" if columns is self._left else "right", "\1\1")
        plain = [
            rows.column(field.name) if field.name in columns else pa.nulls(rows.num_rows, field.type)
            for field in list(self._named)[1:]
        ]
        return pa.table([names, *plain], schema=self._named)
