"""What rows were before they changed, against a dict."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headrace.operators.changes import AFTER, BEFORE, Remember
from headrace.operators.operator import HASH, KEY
from headrace.operators.versions import GONE, ORDER
from tests.operators.shelf import Hosted

ROWS = pa.schema(
    [
        (KEY, pa.string()),
        (HASH, pa.int64()),
        (ORDER, pa.int64()),
        (GONE, pa.bool_()),
        ("k", pa.string()),
        ("v", pa.list_(pa.int64())),
    ]
)
changes = st.lists(
    st.tuples(st.sampled_from("abc"), st.none() | st.lists(st.integers(0, 3), max_size=2)), min_size=1, max_size=8
)


def row(order, k, v):
    return {KEY: k, ORDER: order, GONE: v is None, "k": k, "v": v}


@given(st.lists(changes, max_size=5), st.randoms())
def test_each_change_comes_with_what_was_before(batches, random):
    host, table, number = Hosted(Remember(ROWS, ("k", "v")), ROWS), {}, 0
    for batch in batches:
        rows, expected = [], []
        for k, v in batch:
            rows.append(row(number, k, v))
            before, after = table.get(k), None if v is None else {"k": k, "v": v}
            if before is not None or after is not None:
                expected.append((number, before, after))
            table.pop(k, None)
            if after is not None:
                table[k] = after
            number += 1
        random.shuffle(rows)
        out = sorted(host.send(rows), key=lambda one: one[ORDER])
        assert [(one[ORDER], one[BEFORE], one[AFTER]) for one in out] == expected
    assert bool(host.shelf.blobs) == bool(table)
