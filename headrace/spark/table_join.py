"""Joins with tables: look-ups on the paged host, tables by their keys in Spark's own code, all others on the host."""

from collections.abc import Callable
from typing import Literal

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.core.quantities import milliseconds
from headrace.operators.groups import THERE
from headrace.operators.operator import HASH, KEY, SIDE
from headrace.operators.pairs import LEFT, RIGHT, Pairs
from headrace.operators.versions import STREAM, TABLE, AsOf
from headrace.operators.weights import ROW
from headrace.plan.table_join import Enrich, TableJoin
from headrace.spark.columns import GONE, ORDER, TIME, VERSION, WEIGHT, any_null, column
from headrace.spark.host import Hosted
from headrace.spark.lowering import Context, live, lower
from headrace.spark.paged import key_text, keyed, paged, schema_of


@lower.register(Enrich)
def _(node: Enrich, ctx: Context) -> DataFrame:
    timed = node.left.timed
    stream, table = live(node.left, ctx, drops_late=timed), live(node.right, ctx, drops_late=False)
    at = F.unix_micros(TIME) if timed else F.lit(0).cast("bigint")
    left = keyed(stream, [F.expr(pair.left) for pair in node.on]).select(
        KEY,
        HASH,
        F.lit(STREAM).cast("bigint").alias(SIDE),
        at.alias(TIME),
        ORDER,
        F.lit(False).alias(GONE),
        *map(column, node.left.schema),
    )
    right = keyed(table, [F.expr(pair.right) for pair in node.on]).select(
        KEY,
        HASH,
        F.lit(TABLE).cast("bigint").alias(SIDE),
        F.unix_micros(VERSION).alias(TIME),
        ORDER,
        GONE,
        *(column(name).alias(alias) for name, alias in node.right_columns.items()),
    )
    rows = left.unionByName(right, allowMissingColumns=True)
    schema = schema_of(rows)
    history = milliseconds(node.history) if node.as_of == "event_time" else None
    names = tuple(node.left.schema), tuple(node.right_columns.values())
    how: Literal["inner", "left"] = "inner" if node.how == "inner" else "left"
    operator = AsOf(schema, *names, how=how, history=history, waits=bool(node.grace))
    done = paged(rows, Hosted(operator, schema, node.step, "event" if timed else "none"), ctx)
    return done.withColumn(TIME, F.timestamp_micros(TIME)) if timed else done.drop(TIME)


@lower.register(TableJoin)
def _(node: TableJoin, ctx: Context) -> DataFrame:
    if id(node) in ctx.given:
        return ctx.given[id(node)]
    return _by_primary(node, ctx)


def _by_primary(node: TableJoin, ctx: Context) -> DataFrame:
    """Join by keys, as one aggregation: of each key, the latest row of either side."""
    sides = []
    for side, name in (("l", "left"), ("r", "right")):
        table = getattr(node, name)
        frame = live(table, ctx, drops_late=False)
        row = F.struct(GONE, *map(column, table.schema))
        keys = [F.expr(getattr(pair, name)).alias(f"__k{n}") for n, pair in enumerate(node.on)]
        sides.append(frame.select(*keys, row.alias(side), ORDER, F.lit(side).alias("__side")))
    both = sides[0].unionByName(sides[1], allowMissingColumns=True)
    latest = [F.expr(f"max_by({side}, {ORDER}) filter (where __side = '{side}')").alias(side) for side in "lr"]
    joined = both.groupBy(*(f"__k{n}" for n in range(len(node.on)))).agg(*latest)
    seen = {side: F.col(side).isNotNull() for side in "lr"}
    here = {side: seen[side] & ~F.coalesce(F.col(side)[GONE], F.lit(True)) for side in "lr"}
    coming = {"inner": here["l"] & here["r"], "left": here["l"], "right": here["r"], "full": here["l"] | here["r"]}
    known = {"inner": seen["l"] & seen["r"], "left": seen["l"], "right": seen["r"], "full": F.lit(True)}
    by = {pair.left.strip("`").lower(): n for n, pair in enumerate(node.on)}
    left = [
        (F.col(f"__k{by[name.lower()]}") if name.lower() in by else F.when(here["l"], F.col("l")[name])).alias(name)
        for name in node.left.schema
    ]
    right = [F.when(here["r"], F.col("r")[name]).alias(alias) for name, alias in node.right_columns.items()]
    return joined.filter(known[node.how]).select(*left, *right, (~coming[node.how]).alias(GONE))


def paged_join(node: TableJoin, ctx: Context) -> tuple[DataFrame, Callable[[DataFrame], DataFrame]]:
    """Return the pairs that come and go as a stream, and the function that makes changes of a batch of them."""
    sides = []
    for number, table, name in ((LEFT, node.left, "left"), (RIGHT, node.right, "right")):
        frame = live(table, ctx, drops_late=False)
        on = [F.expr(getattr(pair, name)) for pair in node.on]
        null = any_null(on)
        row = key_text([column(key) for key in table.key])
        alone = F.concat(F.lit(f"\0{name}"), row)  # rows without a value to join by have no partner
        aliases = node.right_columns if number == RIGHT else {key: key for key in table.schema}
        shared = {pair.shared: pair.shared for pair in node.on if pair.shared} if number == RIGHT else {}
        keyed_rows = keyed(frame, on, F.when(null, alone))
        sides.append(
            keyed_rows.select(
                KEY,
                HASH,
                ORDER,
                row.alias(ROW),
                F.col(WEIGHT).cast("bigint").alias(WEIGHT),
                F.lit(number).cast("bigint").alias(SIDE),
                *(column(one).alias(alias) for one, alias in aliases.items()),
                *(column(one).alias(f"__shared_{one}") for one in shared),
            )
        )
    rows = sides[0].unionByName(sides[1], allowMissingColumns=True)
    schema = schema_of(rows)
    shared_names = tuple(name for name in schema.names if name.startswith("__shared_"))
    right = (*node.right_columns.values(), *shared_names)
    how = node.how
    assert how != "semi"
    operator = Pairs(schema, tuple(node.left.schema), right, node.unique, how)
    done = paged(rows, Hosted(operator, schema, node.step, "none"), ctx)
    return done, lambda batch: _changes(node, batch)


def _changes(node: TableJoin, batch: DataFrame) -> DataFrame:
    """Return one change for each result: of one that went here and came there, the coming counts."""
    shared = {pair.shared for pair in node.on if pair.shared}
    columns = [
        F.coalesce(column(name), F.col(f"__shared_{name}")).alias(name) if name in shared else column(name)
        for name in node.schema
    ]
    rows = batch.select(*columns, THERE)
    rest = [name for name in node.schema if name not in node.key]
    row = F.struct(*map(column, rest), F.lit(0).alias("_"))
    latest = rows.groupBy(*map(column, node.key)).agg(F.max_by(row, THERE).alias("__row"), F.max(THERE).alias(THERE))
    values = {name: F.col("__row")[name].alias(name) for name in rest}
    return latest.select(*(values.get(name, column(name)) for name in node.schema), (~F.col(THERE)).alias(GONE))
