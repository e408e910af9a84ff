"""Rows that come and go: which are there after a batch of them."""

import numpy as np
import pyarrow as pa

from headrace.operators.operator import KEY, ORDER, Flags, Numbers, codes, numbers

ROW = "__row"  # text that tells the rows of a key apart
WEIGHT = "__weight"  # 1 for a row that came, -1 for one that went


class Applied:
    """What is kept of some keys, before and after the rows of a batch.

    Attributes:
        before: The rows that were there, sorted by key.
        after: Those that are there now, sorted by key.
        key_before: A number for the key of each of them.
        key_after: The same number for the same key.
        changed_before: Which of them went, or were replaced.
        changed_after: Which of them are new, or replace another.
    """

    def __init__(self, kept: pa.Table, rows: pa.Table, also: str | None = None) -> None:
        table = pa.concat_tables([kept, rows.select(kept.column_names)]).combine_chunks()
        is_new = np.arange(table.num_rows) >= kept.num_rows
        key = codes(table.column(KEY))
        row = codes(table.column(ROW))
        side = numbers(table, also) if also else np.zeros(len(key), np.int64)
        weight = np.concatenate([np.ones(kept.num_rows, np.int64), numbers(rows, WEIGHT)])
        order = np.lexsort((weight, numbers(table, ORDER), is_new, row, side, key))
        key, row, side, weight, is_new = key[order], row[order], side[order], weight[order], is_new[order]
        table = table.take(pa.array(order))
        same = (key[1:] == key[:-1]) & (row[1:] == row[:-1]) & (side[1:] == side[:-1])
        last = np.append(~same, True) if len(key) else np.zeros(0, np.bool_)
        first = np.append(True, ~same) if len(key) else np.zeros(0, np.bool_)
        one = np.cumsum(first) - 1  # which row of which key
        touched = np.zeros(int(first.sum()), np.bool_)
        touched[one[is_new]] = True
        there = last & (weight > 0)
        self.before, self.key_before = table.filter(pa.array(~is_new)), key[~is_new]
        self.after, self.key_after = table.filter(pa.array(there)), key[there]
        self.changed_before: Flags = touched[one[~is_new]]
        self.changed_after: Flags = touched[one[there]]
        self.keys: Numbers = np.unique(key[is_new])
