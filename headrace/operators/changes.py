"""Tables as changes: what a row was before, so that what follows can take it back."""

import numpy as np
import pyarrow as pa

from headrace.operators.operator import DUE, GONE, KEY, ORDER, Turn, codes, kept_for_good, numbers, starts

BEFORE, AFTER = "__before", "__after"


class Remember:
    """Give each change of a row the row as it was before; to delete what is not there is no change.

    Args:
        rows: The columns that come, `ORDER` and `GONE` among them.
        columns: Those of the table's rows.
    """

    def __init__(self, rows: pa.Schema, columns: tuple[str, ...]) -> None:
        self._rows, self._columns = rows, columns
        self.kept = rows.append(pa.field(DUE, pa.int64()))
        image = pa.struct([rows.field(name) for name in columns])
        plain = [field for field in rows if field.name.startswith("__") and field.name not in (GONE, KEY)]
        self._plain = [field.name for field in plain]
        self.out = pa.schema([*plain, pa.field(BEFORE, image), pa.field(AFTER, image)])

    def turn(self, kept: pa.Table, rows: pa.Table, now: int) -> Turn:
        """Give out the changes of a batch in their order, and remember the last row of each key."""
        table = pa.concat_tables([kept.select(self._rows.names), rows]).combine_chunks()
        is_new = np.arange(table.num_rows) >= kept.num_rows
        code = codes(table.column(KEY))
        order = np.lexsort((numbers(table, ORDER), is_new, code))
        table, is_new, code = table.take(pa.array(order)), is_new[order], code[order]
        first = starts(code)
        gone = table.column(GONE).to_numpy()
        image = table.select(list(self._columns)).to_struct_array().combine_chunks()
        here = np.arange(len(code))
        nothing_before = first | np.append(True, gone[:-1])[: len(code)]
        before = image.take(pa.array(np.maximum(here - 1, 0), mask=nothing_before))
        after = image.take(pa.array(here, mask=gone))
        changed = is_new & ~(nothing_before & gone)
        out = pa.table([*table.select(self._plain).columns, before, after], schema=self.out)
        last = np.append(first[1:], True) if len(code) else first
        left = table.filter(pa.array(last & ~gone))
        return Turn(kept_for_good(left, self.kept), out.filter(pa.array(changed)))
