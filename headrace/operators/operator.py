"""What remembers: Arrow tables in, Arrow tables out. Knows nothing of Spark."""

from dataclasses import dataclass
from datetime import UTC
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

KEY = "__key"  # text that tells keys apart
HASH = "__hash"  # of the key: it decides where the key is kept
TIME = "__time"  # when the row happened, in microseconds
SIDE = "__side"  # from which input the row came, where there are several
ORDER = "__order"  # which of two rows of a key is the later one
GONE = "__gone"  # whether the row of a table was deleted
DUE = "__due"  # when the row wants to be looked at again, in milliseconds; null for never
PLACE = [pa.field(KEY, pa.string()), pa.field(HASH, pa.int64())]

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Turn:
    """What a batch did to some keys.

    Attributes:
        kept: All that is to be remembered of them, instead of what was.
        out: Rows for the next step.
        late: How many rows came too late to count.
    """

    kept: pa.Table
    out: pa.Table
    late: int = 0


class Operator(Protocol):
    """Logic with memory; the host gives it the keys that a batch touches, and keeps what it returns.

    Attributes:
        kept: The columns of what it remembers, with `KEY`, `HASH` and `DUE` among them.
        out: The columns of its rows.
    """

    @property
    def kept(self) -> pa.Schema:
        """Return the columns of what is remembered, with `KEY`, `HASH` and `DUE` among them."""
        ...

    @property
    def out(self) -> pa.Schema:
        """Return the columns of the rows for the next step."""
        ...

    def turn(self, kept: pa.Table, rows: pa.Table, now: int) -> Turn:
        """Take the rows of a batch, none if only time has gone on.

        Args:
            kept: What is remembered of the keys of these rows, or is due; and of some others.
            rows: In no order that means anything.
            now: The time in milliseconds: up to it, nothing new is expected.
        """
        ...


def codes(keys: pa.ChunkedArray) -> Numbers:
    """Return a number for each key, the same for equal ones."""
    encoded = keys.combine_chunks().dictionary_encode()
    numbers: Numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def numbers(table: pa.Table, name: str) -> Numbers:
    """Return a column of whole numbers without nulls."""
    found: Numbers = table.column(name).to_numpy()
    return found


def milliseconds(table: pa.Table, name: str = TIME) -> Numbers:
    """Return a column of microseconds, rounded down to milliseconds."""
    return numbers(table, name) // 1000


def objects(column: pa.ChunkedArray) -> list[Any]:
    """Return a column's values for code in Python, null as None; several times as fast as Arrow's own way."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        plain = column.cast(pa.timestamp("us")).to_numpy().tolist()
        return [None if at is None else at.replace(tzinfo=UTC) for at in plain]
    whole = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if (whole and not column.null_count) or pa.types.is_string(kind) or pa.types.is_binary(kind):
        values: list[Any] = column.to_numpy().tolist()
        return values
    found: list[Any] = column.to_pylist()
    return found


def readable(rows: pa.Table) -> pa.Table:
    """Return the rows without those that could not be read: their time lies before all others."""
    return rows.filter(pa.array(numbers(rows, TIME) >= 0))


def kept_for_good(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return what is to be remembered, and never to be looked at by itself."""
    return with_column(table, DUE, pa.nulls(table.num_rows, pa.int64())).select(schema.names)


def starts(code: Numbers) -> Flags:
    """Return which rows of a sorted column are the first of their value."""
    first: Flags = np.ones(len(code), np.bool_)
    first[1:] = code[1:] != code[:-1]
    return first


def with_column(table: pa.Table, name: str, values: npt.NDArray[np.generic] | pa.Array) -> pa.Table:
    """Return the table with a column set."""
    array = values if isinstance(values, pa.Array) else pa.array(values)
    at = table.schema.get_field_index(name)
    return table.append_column(name, array) if at < 0 else table.set_column(at, name, array)


def span_indices(lows: Numbers, highs: Numbers) -> tuple[Numbers, Numbers]:
    """Return all indices of the spans ``[low, high)``, one span after the other, and to which span each belongs.

    Example:
        >>> span_indices(np.array([0, 1]), np.array([2, 4]))
        (array([0, 1, 1, 2, 3]), array([0, 0, 1, 1, 1]))
    """
    sizes = highs - lows
    owner = np.repeat(np.arange(len(lows)), sizes)
    before = np.cumsum(sizes) - sizes
    return np.arange(int(sizes.sum())) - before[owner] + lows[owner], owner
