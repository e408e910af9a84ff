"""Columns as Python's own values."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headrace.operators.operator import objects

CASES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int64(), [1, -(2**63), 2**63 - 1]),
    (pa.int64(), [2**62 + 1, None]),
    (pa.int32(), []),
    (pa.float64(), [0.1, -0.0, 1e308]),
    (pa.float64(), [None, 2.5]),
    (pa.string(), ["a", None, "", "\0é😀"]),
    (pa.binary(), [b"\0\xff", None, b""]),
    (pa.bool_(), [True, None, False]),
    (pa.decimal128(10, 2), [Decimal("1.10"), None]),
    (pa.list_(pa.struct([("n", pa.int64())])), [[{"n": 1}, {"n": None}], None, []]),
    (
        pa.timestamp("us", "UTC"),
        [datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), None, datetime(9999, 12, 31, tzinfo=UTC)],
    ),
    (pa.timestamp("us"), [datetime(2026, 1, 1), None]),
]


@pytest.mark.parametrize(("kind", "values"), CASES, ids=lambda case: str(case)[:30])
def test_a_column_gives_back_what_was_put_in(kind: pa.DataType, values: list[Any]) -> None:
    column = pa.chunked_array([pa.array(values[:1], kind), pa.array(values[1:], kind)])
    found = objects(column)
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]
