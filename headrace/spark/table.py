"""Tables: rows as changes, changes as rows."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.operators.changes import AFTER as AFTER_IMAGE
from headrace.operators.changes import BEFORE as BEFORE_IMAGE
from headrace.operators.changes import Remember
from headrace.operators.operator import HASH, KEY
from headrace.plan.node import Node
from headrace.plan.table import AFTER, BEFORE, OP, TS, AsTable, Changes, Weighed
from headrace.plan.table import KEY as KEY_COLUMN
from headrace.plan.table import SOURCE as SOURCE_COLUMN
from headrace.spark.columns import DEAD, GONE, ORDER, ORIGIN, SOURCE, TIME, VERSION, WEIGHT, column, hidden, keyless
from headrace.spark.host import Hosted
from headrace.spark.lowering import Context, live, lower
from headrace.spark.paged import keyed, paged, schema_of

_WEIGHTS = ((BEFORE, -1), (AFTER, 1))


@lower.register(AsTable)
def _(node: AsTable, ctx: Context) -> DataFrame:
    frame = lower(node.parent, ctx)
    lost, reason = keyless(node.keys)
    dead = F.when(F.col(DEAD).isNull() & lost, F.struct(F.lit(reason).alias("reason"), f"{ORIGIN}.*"))
    rows = frame.withColumn(DEAD, F.coalesce(F.col(DEAD), dead) if ctx.tells(node) else F.col(DEAD))
    return rows.filter(F.col(DEAD).isNotNull() | ~lost).withColumn(GONE, F.lit(False)).drop(TIME)


@lower.register(Changes)
def _(node: Changes, ctx: Context) -> DataFrame:
    return _remembered(node, ctx) if node.before else _told(node, ctx)


def _told(node: Changes, ctx: Context) -> DataFrame:
    """Return the changes as far as they can be told without memory."""
    frame = lower(node.parent, ctx)
    image = F.struct(*map(column, node.parent.schema))
    gone = F.col(GONE) if GONE in frame.columns else F.lit(False)
    after = F.when(~gone, image)
    op = F.when(gone, "d").otherwise("u")
    nothing = F.when(F.lit(False), image)
    kept = hidden(frame, (GONE, ORDER, VERSION, SOURCE, TIME))
    return frame.select(*_columns(node.parent, op, nothing, after, frame), *kept)


def _remembered(node: Changes, ctx: Context) -> DataFrame:
    frame = live(node.parent, ctx, drops_late=False)
    keys = [column(name) for name in node.parent.key]
    names = tuple(node.parent.schema)
    rows = keyed(frame, keys).select(KEY, HASH, ORDER, VERSION, SOURCE, GONE, *map(column, names))
    schema = schema_of(rows)
    done = paged(rows, Hosted(Remember(schema, names), schema, node.step, "none"), ctx)
    before, after = F.col(BEFORE_IMAGE), F.col(AFTER_IMAGE)
    op = F.when(before.isNull(), "c").when(after.isNull(), "d").otherwise("u")
    image = F.coalesce(after, before)
    flat = done.select("*", *(image[name].alias(name) for name in node.parent.key))
    return flat.select(*_columns(node.parent, op, before, after, flat), ORDER)


def _columns(table: Node, op: Column, before: Column, after: Column, frame: DataFrame) -> list[Column]:
    keys = [column(name) for name in table.key]
    key = keys[0] if len(keys) == 1 else F.struct(*keys)
    place = F.struct(F.lit(None).cast("string"), F.lit(None).cast("int"), F.lit(None).cast("bigint"))
    ts = F.col(VERSION) if VERSION in frame.columns else F.current_timestamp()
    source = F.col(SOURCE) if SOURCE in frame.columns else F.when(F.lit(False), place)
    named = {KEY_COLUMN: key, OP: op, BEFORE: before, AFTER: after, TS: ts, SOURCE_COLUMN: source}
    return [value.alias(name) for name, value in named.items()]


@lower.register(Weighed)
def _(node: Weighed, ctx: Context) -> DataFrame:
    frame = lower(node.parent, ctx)
    sides = [F.struct(F.col(side).alias("row"), F.lit(weight).alias(WEIGHT)) for side, weight in _WEIGHTS]
    there = F.filter(F.array(*sides), lambda one: one["row"].isNotNull())
    if DEAD in frame.columns:
        there = F.when(F.col(DEAD).isNull(), there).otherwise(F.array(sides[0]))
    kept = hidden(frame)
    rows = frame.select(F.explode(there).alias("__one"), *kept)
    return rows.select(*(F.col("__one.row")[name].alias(name) for name in node.schema), f"__one.{WEIGHT}", *kept)
