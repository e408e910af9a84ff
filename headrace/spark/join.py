"""Joins of two streams within a time, on Spark's own operator."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.plan.join import Join
from headrace.spark.columns import TIME, any_null, column, interval
from headrace.spark.lowering import Context, live, lower

_TYPES = {"inner": "inner", "left": "left_outer", "right": "right_outer", "full": "full_outer", "semi": "left_semi"}
_RIGHT_TIME = "__right_time"


@lower.register(Join)
def _(node: Join, ctx: Context) -> DataFrame:
    left, right = (live(side, ctx, drops_late=True) for side in (node.left, node.right))
    left_keys = _keys(node, "left")
    right_keys = _keys(node, "right")
    renamed = [column(name).alias(alias) for name, alias in node.right_columns.items()]
    left = left.select(*map(column, node.left.schema), TIME, *left_keys)
    right = right.select(*renamed, F.col(TIME).alias(_RIGHT_TIME), *right_keys)
    joined = left.join(right, _condition(node), _TYPES[node.how])
    return joined.select(*_columns(node), *_time(node))


def _keys(node: Join, side: str) -> list[Column]:
    """Return the columns that must be equal; for Spark's full join, which pairs nulls, one more that then never is."""
    given = [F.expr(pair.left if side == "left" else pair.right) for pair in node.on]
    keys = [key.alias(f"__{side}{n}") for n, key in enumerate(given)]
    if node.how == "full":
        keys.append(F.when(any_null(given), side).otherwise("both").alias(f"__{side}{len(given)}"))
    return keys


def _condition(node: Join) -> Column:
    count = len(node.on) + (node.how == "full")
    equal = [F.col(f"__left{n}") == F.col(f"__right{n}") for n in range(count)]
    near = [
        F.col(_RIGHT_TIME) >= F.col(TIME) - interval(node.before),
        F.col(_RIGHT_TIME) <= F.col(TIME) + interval(node.after),
    ]
    return reduce(lambda all_, one: all_ & one, [*equal, *near])


def _columns(node: Join) -> list[Column]:
    if node.how == "semi":
        return [column(name) for name in node.left.schema]
    shared = {pair.shared: f"__right{n}" for n, pair in enumerate(node.on) if pair.shared}
    left = [
        F.coalesce(column(name), F.col(shared[name])).alias(name) if name in shared else column(name)
        for name in node.left.schema
    ]
    return [*left, *(column(alias) for alias in node.right_columns.values())]


def _time(node: Join) -> list[Column]:
    if not node.timed:
        return []
    return [F.col(_RIGHT_TIME).alias(TIME) if node.how == "right" else F.col(TIME)]
