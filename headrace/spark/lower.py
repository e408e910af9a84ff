"""All rules together, and what a stage asks of Spark beside its DataFrame."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

import headrace.spark.aggregate
import headrace.spark.alert
import headrace.spark.dedupe
import headrace.spark.join
import headrace.spark.process
import headrace.spark.python
import headrace.spark.rows
import headrace.spark.source
import headrace.spark.table  # noqa: F401 - importing them registers their rules
from headrace.plan.aggregate import Aggregate
from headrace.plan.stages import FileOutput, Stage
from headrace.plan.table_join import TableJoin
from headrace.spark.columns import plain
from headrace.spark.failures import explained
from headrace.spark.lowering import Context, live, lower
from headrace.spark.paged_aggregate import paged_aggregate
from headrace.spark.table_join import paged_join


@dataclass(frozen=True)
class Lowered:
    """A stage as Spark runs it.

    Attributes:
        rows: The rows as a stream.
        finish: What makes the stage's rows of a batch of them, where there is something left to do.
    """

    rows: DataFrame
    finish: Callable[[DataFrame], DataFrame] | None = None

    @property
    def schema(self) -> StructType:
        """Return the columns of the stage's rows."""
        if self.finish is None:
            return plain(self.rows).schema
        nothing = self.rows.sparkSession.createDataFrame([], self.rows.schema)
        return plain(self.finish(nothing)).schema


def lowered(ctx: Context) -> Lowered:
    """Lower a stage; what Spark's analyser refuses is told in the user's terms."""
    with explained(ctx.stage):
        stage = ctx.stage
        node = next((n for n in stage.nodes if isinstance(n, Aggregate | TableJoin) and n.paged), None)
        if node is not None:
            rows, finish = paged_join(node, ctx) if isinstance(node, TableJoin) else paged_aggregate(node, ctx)
            return Lowered(rows, lambda batch: lower(stage.node, replace(ctx, given={id(node): finish(batch)})))
        files = isinstance(stage.output, FileOutput)
        frame = live(stage.node, ctx, drops_late=False) if files else lower(stage.node, ctx)
        _ = frame.schema  # analyses the plan
        return Lowered(frame)


def settings_of(stage: Stage) -> dict[str, str]:
    """Return the settings of Spark that a stage needs beside the tuning."""
    if not stage.dedupes_alone:
        return {"spark.sql.streaming.multipleWatermarkPolicy": "min"}
    return {  # a second watermark on the same stream, which Spark allows where no step follows; see spark/dedupe.py
        "spark.sql.streaming.multipleWatermarkPolicy": "max",
        "spark.sql.streaming.statefulOperator.allowMultiple": "false",
    }
