"""From plan nodes to DataFrames: one rule per node, registered by the file that has it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import singledispatch
from typing import Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.plan.alert import Alerts
from headrace.plan.node import Node
from headrace.plan.process import Process
from headrace.plan.rows import MapPython
from headrace.plan.source import Source
from headrace.plan.stages import Stage
from headrace.plan.table import AsTable, Changes, Weighed
from headrace.plan.table_join import Enrich, TableJoin
from headrace.spark.columns import DEAD


class Log(Protocol):
    """Where topics are read from: Kafka, a part of it once more, or a test."""

    def read(self, topic: str, start: str, whole: bool = False, headers: bool = False) -> DataFrame:
        """Return the events of a topic with the columns key, value, topic, partition, offset, timestamp.

        Heartbeats of the stage come among them under their own topic. A batch takes all there is where it shall be the
        ``whole``, otherwise no more than the program allows. ``headers`` are a column more: only who needs them pays.
        """
        ...

    def now(self) -> Column:
        """Return the time of processing."""
        ...


@dataclass
class Context:
    """What the rules need to know beside the node.

    Attributes:
        spark: The session of the stage.
        app: The program's name.
        stage: The stage that is lowered.
        log: Where its topics are read.
        heartbeat: The topic whose events move time while nothing else comes, if the stage needs one.
        schemas: What topics between stages hold, as Spark told it when the writing stage was lowered.
        stages: All stages of the program: what several share, the first answers for.
        aside: True for a second look at a batch, in which every row keeps its origin and none is dropped.
        waits: How much longer than declared the stage waits for late rows, while it catches up.
        given: Rows of nodes that are there already, by the node's id.
        observed: The names of the counts in the stage's stream.
        told: The nodes whose dead rows are among what was lowered so far.
    """

    spark: SparkSession
    app: str
    stage: Stage
    log: Log
    heartbeat: str | None = None
    schemas: Mapping[str, StructType] = field(default_factory=dict)
    stages: tuple[Stage, ...] = ()
    aside: bool = False
    waits: timedelta = timedelta(0)
    given: Mapping[int, DataFrame] = field(default_factory=dict)
    observed: list[str] = field(default_factory=list)
    told: list[Node] = field(default_factory=list)

    def answers_for(self, node: Node) -> bool:
        """Whether this stage is the one that tells what a node could not process; others may have it too."""
        return next((stage is self.stage for stage in self.stages if any(_same(n, node) for n in stage.nodes)), True)

    def tells(self, node: Node) -> bool:
        """Whether the node's dead rows are to be kept: in the stage that answers, where it is lowered first."""
        if not self.answers_for(node) or any(_same(known, node) for known in self.told):
            return False
        self.told.append(node)
        return True

    def together(self, rows: DataFrame) -> DataFrame:
        """Return the rows of an input as one task reads them, where all state lies in one: they need no shuffle.

        Comes after the watermark, which for Spark cuts rows into unknown parts again.
        """
        alone = self.stage.stateful and self.spark.conf.get("spark.sql.shuffle.partitions") == "1"
        return rows.coalesce(1) if alone else rows

    @property
    def watched(self) -> bool:
        """Whether the stage's rows carry a watermark, if they have a time."""
        return bool(self.stage.stateful) and not self.aside

    @property
    def keeps_origin(self) -> bool:
        """Whether a later step may have to say from which event a row came."""
        return self.aside or any(isinstance(node, MapPython | AsTable) for node in self.stage.nodes)

    @property
    def keeps_place(self) -> bool:
        """Whether a later step asks where in the log a row came from."""
        return any(
            isinstance(node, AsTable | Changes | Weighed | Enrich | TableJoin | Process | Alerts)
            for node in self.stage.nodes
        )

    @property
    def dates(self) -> bool:
        """Whether rows that were declared without a time have that at which they were written: alerts need one."""
        return any(isinstance(node, Alerts) for node in self.stage.nodes)


def _same(one: Node, other: Node) -> bool:
    """Whether two nodes put the same events aside: streams of a topic may be declared alike more than once."""
    if not isinstance(one, Source) or not isinstance(other, Source):
        return one is other
    return _reading(one) == _reading(other)


def _reading(source: Source) -> tuple[object, ...]:
    return source.topic, source.columns, source.format, source.clock, source.time, source.correction


@singledispatch
def lower(node: Node, ctx: Context) -> DataFrame:
    """Return the rows of a node as Spark computes them."""
    raise NotImplementedError(f"no rule for {type(node).__name__}")


def live(node: Node, ctx: Context, drops_late: bool) -> DataFrame:
    """Return the rows of a node that a step may see which knows of no dead ones.

    Those are counted and left behind. The runtime reads the count, and has another look at the batch where it is not
    zero. A step that drops late rows counts them itself: dead ones have a time before all others.
    """
    frame = lower(node, ctx)
    if DEAD not in frame.columns:
        return frame
    if drops_late and ctx.watched and not ctx.keeps_origin:  # a row at which a function raised has its own time
        return frame.drop(DEAD)
    name = f"dead-{len(ctx.observed)}"
    ctx.observed.append(name)
    return frame.observe(name, F.count(DEAD).alias("dead")).filter(F.col(DEAD).isNull()).drop(DEAD)
