"""Operators of the user's own, on the paged host."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.operators.operator import HASH, KEY
from headrace.operators.process import FROM, Keyed
from headrace.plan.process import Process
from headrace.spark.columns import ORDER, SOURCE, TIME, arrow_schema, column
from headrace.spark.host import Hosted
from headrace.spark.lowering import Context, live, lower
from headrace.spark.paged import keyed, paged, schema_of


@lower.register(Process)
def _(node: Process, ctx: Context) -> DataFrame:
    timed = node.parent.timed
    frame = live(node.parent, ctx, drops_late=timed)
    at = F.unix_micros(TIME) if timed else F.lit(0).cast("bigint")
    place = F.concat_ws("-", f"{SOURCE}.topic", f"{SOURCE}.partition", f"{SOURCE}.offset")
    rows = keyed(frame, [column(name) for name in node.keys]).select(
        KEY, HASH, at.alias(TIME), ORDER, place.alias(FROM), *map(column, node.parent.schema)
    )
    schema = schema_of(rows)
    out = arrow_schema(node.result.ddl)
    operator = Keyed(schema, node.keys, out, logic=node.logic, step=node.step, patience=node.patience.total_seconds())
    return paged(rows, Hosted(operator, schema, node.step, node.clock), ctx)
