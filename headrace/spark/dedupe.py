"""De-duplication within a time, on Spark's own operator."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.plan.dedupe import Dedupe
from headrace.spark.columns import TIME, column, hidden, span, visible
from headrace.spark.lowering import Context, live, lower
from headrace.spark.source import delay_of

_SPAN = "__span"


@lower.register(Dedupe)
def _(node: Dedupe, ctx: Context) -> DataFrame:
    """Spark forgets a row when its time plus the *delay of its time column* is past.

    The stream's delay is its lateness, which may be shorter than ``within``; so the column gets a second watermark
    with that delay. The session takes the larger of the two (`settings_of`), so time goes on as without it.
    """
    frame = live(node.parent, ctx, drops_late=True)
    keys = [f"__key{number}" for number in range(len(node.columns))]
    keyed = frame.select("*", *(column(name).alias(key) for name, key in zip(node.columns, keys, strict=True)))
    if ctx.stage.dedupes_alone:
        keyed = keyed.withColumn(_SPAN, F.expr(f"{TIME} + INTERVAL 0 SECONDS")).drop(TIME)
        kept = max(node.within, delay_of(ctx.stage.inputs[0], ctx.stage))
        keyed = ctx.together(keyed.withWatermark(_SPAN, span(kept)).withColumnRenamed(_SPAN, TIME))
    once = keyed.dropDuplicatesWithinWatermark(keys)
    return once.select(*map(column, visible(frame)), *hidden(once))
