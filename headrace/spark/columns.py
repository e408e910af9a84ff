"""Columns that travel with rows beside those of the program, and small conversions."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from headrace.core.quantities import milliseconds
from headrace.core.schema import quote
from headrace.operators import operator, weights
from headrace.plan.expressions import Expression

TIME = operator.TIME  # when the row happened; carries Spark's watermark
GONE = operator.GONE  # whether the row of this key exists no more; only tables whose rows vanish have it
ORDER = operator.ORDER  # which of two changes of a row is the later one
WEIGHT = weights.WEIGHT  # 1 for a row of a table that came, -1 for one that went
DEAD = "__dead"  # why the row cannot be processed, and what it was; null for all others
ORIGIN = "__origin"  # the event from which the row came, where somebody may ask for it
VERSION = "__version"  # since when the row of a table holds
SOURCE = "__source"  # topic, partition and offset of the event from which the row came
NEVER = datetime(1900, 1, 1, tzinfo=UTC)  # the time of dead rows: Spark's begins in 1970, and so they are always late
HIDDEN = (TIME, DEAD, ORIGIN, GONE, ORDER, VERSION, SOURCE, WEIGHT)
DEAD_TYPE = "struct<reason: string, topic: string, partition: int, offset: bigint, key: binary, value: binary>"


def hidden(frame: DataFrame, but: Iterable[str] = ()) -> list[Column]:
    """Return the columns of ours that the frame has."""
    return [F.col(name) for name in HIDDEN if name in frame.columns and name not in but]


def visible(frame: DataFrame) -> list[str]:
    """Return the names of the program's columns."""
    return [name for name in frame.columns if name not in HIDDEN]


def plain(frame: DataFrame) -> DataFrame:
    """Return the program's columns alone."""
    return frame.select(*map(column, visible(frame)))


def column(name: str) -> Column:
    """Return the column of exactly this name, whatever characters it has."""
    return F.col(quote(name))


def any_null(columns: Iterable[Column]) -> Column:
    """Return whether one of some columns has no value."""
    return reduce(lambda one, other: one | other, (each.isNull() for each in columns))


def keyless(names: Iterable[str]) -> tuple[Column, str]:
    """Return which rows cannot be in a table of this key, and what to say of them."""
    keys = list(names)
    return any_null(map(column, keys)), f"the row has no key: {', '.join(keys)} is missing or null"


def compute(expression: Expression) -> Column:
    """Return an expression as Spark has it."""
    return expression.column if expression.column is not None else F.expr(expression.sql)


def once(computed: Column) -> Column:
    """Keep Spark from moving a column: it would compute it anew for each filter, which it moves below it.

    What depends on the partition stays where it is, and no filter passes it; the condition itself is always true.
    """
    return F.when(F.spark_partition_id() >= 0, computed)


def span(given: timedelta) -> str:
    """Return a time span as Spark writes it."""
    return f"{milliseconds(given)} milliseconds"


def arrow_schema(ddl: str) -> pa.Schema:
    """Return Arrow's form of a schema."""
    return to_arrow_schema(cast("StructType", StructType.fromDDL(ddl)), timezone="UTC")


def interval(given: timedelta) -> Column:
    """Return a time span that can be added to a time."""
    return F.expr(f"INTERVAL {milliseconds(given)} MILLISECONDS")


def arrow_udf(function: Callable[[pa.Array], pa.Array], returns: str) -> Callable[..., Column]:
    """Return a function of Spark columns that hands whole Arrow arrays to a Python function.

    Spark would call it again for a filter on its result, had it not been told that the result may differ then.
    """
    udf = getattr(F, "arrow_udf")(function, returnType=returns)  # noqa: B009 - not in its stubs
    once: Callable[..., Column] = udf.asNondeterministic()
    return once
