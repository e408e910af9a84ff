"""Steps that look at one row at a time, in Spark's own code."""

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.plan.rows import Explode, Filter, KeyBy, Merge, Project
from headrace.spark.columns import DEAD, GONE, NEVER, TIME, column, compute, hidden
from headrace.spark.lowering import Context, lower


@lower.register(Filter)
def _(node: Filter, ctx: Context) -> DataFrame:
    frame = lower(node.parent, ctx)
    condition = F.coalesce(compute(node.condition), F.lit(False))
    if node.updates:  # a row that no longer passes is no more
        return frame.withColumn(GONE, F.col(GONE) | ~condition if GONE in frame.columns else ~condition)
    timed = TIME in frame.columns and ctx.watched
    if timed:  # dead events are nobody's to filter
        condition = (F.col(TIME) == F.lit(NEVER)) | condition
    if DEAD in frame.columns and (ctx.keeps_origin or not timed):  # rows at which a function raised have a time
        condition = F.col(DEAD).isNotNull() | condition
    return frame.filter(condition)


@lower.register(Project)
def _(node: Project, ctx: Context) -> DataFrame:
    frame = lower(node.parent, ctx)
    return frame.select(*(compute(given).alias(name) for name, given in node.columns), *hidden(frame))


@lower.register(Explode)
def _(node: Explode, ctx: Context) -> DataFrame:
    frame = lower(node.parent, ctx)
    elements = column(node.column)
    if DEAD in frame.columns:
        elements = F.when(F.col(DEAD).isNotNull(), F.array(F.lit(None))).otherwise(elements)
    names = [F.explode(elements).alias(node.alias) if n == node.column else column(n) for n in node.parent.schema]
    return frame.select(*names, *hidden(frame))


@lower.register(KeyBy)
def _(node: KeyBy, ctx: Context) -> DataFrame:
    return lower(node.parent, ctx)


@lower.register(Merge)
def _(node: Merge, ctx: Context) -> DataFrame:
    frames = (lower(parent, ctx) for parent in node.inputs)
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)
