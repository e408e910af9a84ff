"""Groups of a table's rows, for aggregates that cannot take a row back: all rows of each group that changed."""

import numpy as np
import pyarrow as pa

from headrace.operators.operator import DUE, HASH, KEY, ORDER, Turn, kept_for_good, starts
from headrace.operators.weights import ROW, WEIGHT, Applied

THERE = "__there"  # whether the row is one of the group's; one that is not stands for a group that is empty


class Groups:
    """Keep the rows of each group, and give out those of the groups that changed.

    Args:
        rows: The columns that come, `ROW`, `ORDER` and `WEIGHT` among them.
        keys: Those that are the same for all rows of a group.
    """

    def __init__(self, rows: pa.Schema, keys: tuple[str, ...]) -> None:
        self._keys = keys
        self._kept = pa.schema([field for field in rows if field.name != WEIGHT])
        self.kept = self._kept.append(pa.field(DUE, pa.int64()))
        self._given = [field for field in self._kept if field.name not in (KEY, HASH, ROW, ORDER)]
        self.out = pa.schema([pa.field(THERE, pa.bool_()), *self._given])

    def turn(self, kept: pa.Table, rows: pa.Table, now: int) -> Turn:
        """Take the rows that came and went."""
        done = Applied(kept.select(self._kept.names), rows)
        told = np.isin(done.key_after, done.keys)
        full = done.after.filter(pa.array(told)).select([field.name for field in self._given])
        out = [with_there(full, True, self.out), self._empty(done)]
        return Turn(kept_for_good(done.after, self.kept), pa.concat_tables(out))

    def _empty(self, done: Applied) -> pa.Table:
        """Return a row for each group that has none any more."""
        gone = ~np.isin(done.key_before, done.key_after) & starts(done.key_before)
        rows = done.before.filter(pa.array(gone))
        columns = [
            rows.column(field.name) if field.name in self._keys else pa.nulls(rows.num_rows, field.type)
            for field in self._given
        ]
        return with_there(pa.table(columns, schema=pa.schema(self._given)), False, self.out)


def with_there(rows: pa.Table, there: bool, schema: pa.Schema) -> pa.Table:
    """Return rows with a column that says whether they are there."""
    return pa.table([pa.array(np.full(rows.num_rows, there)), *rows.columns], schema=schema)
