"""Aggregation as Spark has it: native code, state in RocksDB."""

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.core.errors import QueryError
from headrace.plan.aggregate import BOUNDS, Aggregate
from headrace.plan.aggregates import Agg, simple
from headrace.plan.windows import Hop, Session
from headrace.spark.columns import GONE, TIME, WEIGHT, arrow_schema, arrow_udf, column, span
from headrace.spark.lowering import Context, live, lower

_WINDOW = "__window"


@lower.register(Aggregate)
def _(node: Aggregate, ctx: Context) -> DataFrame:
    if id(node) in ctx.given:
        return ctx.given[id(node)]
    window = _window(node)
    frame = live(node.parent, ctx, drops_late=window is not None)
    keys = [column(key) for key in node.keys] or [_all(node)]
    if window is not None:
        keys.append(window.alias(_WINDOW))
    if node.retracts:
        return _weighed(node, frame, keys)
    grouped = frame.groupBy(*keys).agg(*(gather(agg).alias(agg.name) for agg in node.aggs))
    return grouped.select(*_bounds(node), *(column(key) for key in node.keys), *map(finish, node.aggs), *_time(node))


def _weighed(node: Aggregate, frame: DataFrame, keys: list[Column]) -> DataFrame:
    """Aggregate rows that come and go; a group without rows is no more."""
    folds = [simple(agg, node.parent.schema, decimals=True) for agg in node.aggs]
    weight = F.col(WEIGHT)
    sums = [F.sum(weight).alias("__rows")]
    for n, fold in enumerate(folds):
        value = F.expr(fold.of) if fold is not None and fold.of is not None else F.lit(1)
        sums.append(F.sum(F.when(value.isNotNull(), weight)).alias(f"__n{n}"))
        sums.append(F.sum(F.when(weight > 0, value).otherwise(-value)).alias(f"__s{n}"))
    grouped = frame.groupBy(*keys).agg(*sums)
    results = []
    for n, (agg, fold) in enumerate(zip(node.aggs, folds, strict=True)):
        count, total = F.coalesce(F.col(f"__n{n}"), F.lit(0)), F.col(f"__s{n}")
        values = {"count": count, "sum": F.when(count > 0, total), "avg": F.when(count > 0, total / count)}
        assert fold is not None
        results.append(values[fold.fold].alias(agg.name))
    return grouped.select(*map(column, node.keys), *results, (F.col("__rows") == 0).alias(GONE))


def _all(node: Aggregate) -> Column:
    """Return a key that all rows share: without one, Spark tells an unchanged result again, and has no sessions."""
    constant = F.col(TIME).isNull() if isinstance(node.window, Session) else F.lit(0)  # sessions must not see through
    return constant.alias("__all")


def _window(node: Aggregate) -> Column | None:
    if isinstance(node.window, Hop):
        return F.window(TIME, span(node.window.size), span(node.window.every))
    if isinstance(node.window, Session):
        return F.session_window(TIME, span(node.window.gap))
    if node.by_parent_window and node.parent_hop is not None:
        return F.window(TIME, span(node.parent_hop.every))  # the end of each earlier window lies in one of its own
    return None


def _bounds(node: Aggregate) -> list[Column]:
    if node.window is None:
        return []
    return [F.col(f"{_WINDOW}.{side}").alias(name) for side, name in zip(("start", "end"), BOUNDS, strict=True)]


def _time(node: Aggregate) -> list[Column]:
    """Return the time of final results, a moment before their window's end; with it goes the watermark."""
    return [F.window_time(_WINDOW).alias(TIME)] if node.timed else []


def gather(agg: Agg) -> Column:
    """Return what Spark computes of a group."""
    return agg.column if agg.column is not None else F.expr(agg.sql)


def finish(agg: Agg) -> Column:
    """Return the aggregate's value: what Spark computed, or what a Python function makes of what Spark gathered."""
    if agg.function is None:
        return column(agg.name)
    kind = arrow_schema(f"c {agg.type}").field("c").type
    function = agg.function

    def compute(groups: pa.Array) -> pa.Array:
        rows = (group or [] for group in groups.to_pylist(maps_as_pydicts="lossy"))
        lists = ([[row[name] for row in group] for name in _fields(group)] for group in rows)
        try:
            return pa.array([function(*columns) for columns in lists], type=kind)
        except Exception as error:  # the user's function may raise anything
            raise QueryError(f"{agg.name} = {agg.given} raised {type(error).__name__}: {error}") from error

    return arrow_udf(compute, agg.type)(column(agg.name)).alias(agg.name)


def _fields(group: list[dict[str, object]]) -> list[str]:
    return [name for name in group[0] if name != "t"] if group else []
