"""All rules together, and what a stage asks of Spark beside its DataFrame."""

from pyspark.sql import DataFrame

import headrace.spark.aggregate
import headrace.spark.dedupe
import headrace.spark.join
import headrace.spark.python
import headrace.spark.rows
import headrace.spark.source  # noqa: F401 - importing them registers their rules
from headrace.plan.dedupe import Dedupe
from headrace.plan.stages import FileOutput, Stage
from headrace.spark.failures import explained
from headrace.spark.lowering import Context, live, lower


def lowered(ctx: Context) -> DataFrame:
    """Return the rows of a stage; what Spark's analyser refuses is told in the user's terms."""
    with explained(ctx.stage):
        files = isinstance(ctx.stage.output, FileOutput)
        frame = live(ctx.stage.node, ctx) if files else lower(ctx.stage.node, ctx)
        _ = frame.schema  # analyses the plan
        return frame


def settings_of(stage: Stage) -> dict[str, str]:
    """Return the settings of Spark that a stage needs beside the tuning."""
    dedupes = any(isinstance(node, Dedupe) for node in stage.nodes)
    policy = "max" if dedupes and len(stage.inputs) == 1 else "min"
    return {"spark.sql.streaming.multipleWatermarkPolicy": policy}
