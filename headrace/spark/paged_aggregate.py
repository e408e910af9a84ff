"""Aggregates that Spark does not have: over sliding windows, over sessions that tell each change, and over tables.

The host keeps the rows. Sums, counts, averages and extremes of sliding windows are computed there. For all else, the
rows of each window come out, and Spark aggregates them, within the batch, by the same expressions as in other windows.
"""

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.core.quantities import milliseconds
from headrace.operators.groups import THERE, Groups
from headrace.operators.operator import HASH, KEY
from headrace.operators.sessions import Sessions
from headrace.operators.sliding import END, START, Measure, Sliding
from headrace.operators.weights import ROW
from headrace.plan.aggregate import BOUNDS, Aggregate
from headrace.plan.aggregates import Simple, simple
from headrace.plan.windows import Session as SessionWindow
from headrace.plan.windows import Sliding as SlidingWindow
from headrace.spark.aggregate import finish, gather
from headrace.spark.columns import GONE, ORDER, TIME, WEIGHT, column, visible
from headrace.spark.host import Hosted
from headrace.spark.lowering import Context, live
from headrace.spark.paged import key_text, keyed, paged, schema_of

_VALUE = "__value"  # what an aggregate is computed of; a number follows


def paged_aggregate(node: Aggregate, ctx: Context) -> tuple[DataFrame, Callable[[DataFrame], DataFrame]]:
    """Return what the host gives out as a stream, and the function that makes results of a batch of it."""
    return _groups(node, ctx) if node.retracts else _windows(node, ctx)


def _groups(node: Aggregate, ctx: Context) -> tuple[DataFrame, Callable[[DataFrame], DataFrame]]:
    frame = live(node.parent, ctx, drops_late=False)
    rest = [column(name) for name in visible(frame) if name not in node.keys]
    row = key_text([column(name) for name in node.parent.key])
    rows = keyed(frame, [column(name) for name in node.keys] or [F.lit(0)]).select(
        KEY, HASH, ORDER, row.alias(ROW), F.col(WEIGHT).cast("bigint").alias(WEIGHT), *map(column, node.keys), *rest
    )
    schema = schema_of(rows)
    told = paged(rows, Hosted(Groups(schema, node.keys), schema, node.step, "none"), ctx)
    return told, lambda batch: _grouped(node, batch)


def _grouped(node: Aggregate, batch: DataFrame) -> DataFrame:
    keys = [column(name) for name in node.keys]
    results = [gather(agg).alias(agg.name) for agg in node.aggs]
    by = keys or [F.lit(0).alias("__all")]
    found = batch.groupBy(*by).agg(*results, F.max(THERE).alias(THERE))
    return found.select(*keys, *map(finish, node.aggs), (~F.col(THERE)).alias(GONE))


def _windows(node: Aggregate, ctx: Context) -> tuple[DataFrame, Callable[[DataFrame], DataFrame]]:
    frame = live(node.parent, ctx, drops_late=True)
    found = [simple(agg, node.parent.schema) for agg in node.aggs] if isinstance(node.window, SlidingWindow) else [None]
    folds = [fold for fold in found if fold is not None]
    plain = len(folds) == len(found)
    if plain:
        columns = [F.expr(fold.of).alias(f"{_VALUE}{n}") for n, fold in enumerate(folds) if fold.of is not None]
    else:
        columns = [column(name) for name in visible(frame) if name not in node.keys]
    key = keyed(frame, [column(name) for name in node.keys]).select(
        KEY, HASH, F.unix_micros(TIME).alias(TIME), *map(column, node.keys), *columns
    )
    rows = schema_of(key)
    if isinstance(node.window, SlidingWindow):
        measures = _measures(node, folds, rows) if plain else None
        size = milliseconds(node.window.size)
        operator: Sliding | Sessions = Sliding(size, rows, node.keys, measures, node.emit == "final")
    else:
        assert isinstance(node.window, SessionWindow)
        operator = Sessions(milliseconds(node.window.gap) * 1000, rows, node.keys)
    told = paged(key, Hosted(operator, rows, node.step, "event"), ctx)
    if plain:
        return told, lambda batch: _bounded(node, batch)
    return told, lambda batch: _aggregated(node, batch)


def _measures(node: Aggregate, folds: list[Simple], rows: pa.Schema) -> tuple[Measure, ...]:
    return tuple(
        Measure(agg.name, fold.fold, name, _type(fold, rows, name))
        for n, (agg, fold) in enumerate(zip(node.aggs, folds, strict=True))
        for name in [None if fold.of is None else f"{_VALUE}{n}"]
    )


def _type(fold: Simple, rows: pa.Schema, name: str | None) -> pa.DataType:
    if fold.fold == "count":
        return pa.int64()
    kind = rows.field(name).type
    if fold.fold in ("min", "max"):
        return kind
    return pa.float64() if fold.fold == "avg" or pa.types.is_floating(kind) else pa.int64()


def _bounds() -> list[Column]:
    return [F.timestamp_micros(side).alias(name) for side, name in zip((START, END), BOUNDS, strict=True)]


def _bounded(node: Aggregate, batch: DataFrame) -> DataFrame:
    values = [column(name) for name in (*node.keys, *(agg.name for agg in node.aggs))]
    return batch.select(*_bounds(), *values, *_time(node))


def _aggregated(node: Aggregate, batch: DataFrame) -> DataFrame:
    """Aggregate the rows of each window; one that has none is gone.

    In one pass: the batch must not be computed twice, for it changes state.
    """
    rows = batch.withColumn(TIME, F.timestamp_micros(TIME))
    results = [gather(agg).alias(agg.name) for agg in node.aggs]
    keys = [column(name) for name in node.keys]
    found = rows.groupBy(START, END, *keys).agg(*results, F.count(TIME).alias("__events"))
    gone = [] if isinstance(node.window, SlidingWindow) else [(F.col("__events") == 0).alias(GONE)]
    return found.select(*_bounds(), *keys, *map(finish, node.aggs), *_time(node), *gone)


def _time(node: Aggregate) -> list[Column]:
    return [F.timestamp_micros(END).alias(TIME)] if node.timed else []
