"""From plan nodes to DataFrames: one rule per node, registered by the file that has it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.plan.node import Node
from headrace.plan.rows import MapPython
from headrace.plan.stages import Stage
from headrace.spark.columns import DEAD


class Log(Protocol):
    """Where topics are read from: Kafka, a part of it once more, or a test."""

    def read(self, topic: str, start: str) -> DataFrame:
        """Return the events of a topic with the columns key, value, topic, partition, offset, timestamp.

        Heartbeats of the stage come among them under their own topic.
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
    """

    spark: SparkSession
    app: str
    stage: Stage
    log: Log
    heartbeat: str | None = None
    schemas: Mapping[str, StructType] = field(default_factory=dict)
    stages: tuple[Stage, ...] = ()
    aside: bool = False
    observed: list[str] = field(default_factory=list)

    def answers_for(self, node: Node) -> bool:
        """Whether this stage is the one that tells what a node could not process; others may have it too."""
        return next((stage is self.stage for stage in self.stages if any(n is node for n in stage.nodes)), True)

    @property
    def keeps_origin(self) -> bool:
        """Whether a later step may have to say from which event a row came."""
        return self.aside or any(isinstance(node, MapPython) for node in self.stage.nodes)


@singledispatch
def lower(node: Node, ctx: Context) -> DataFrame:
    """Return the rows of a node as Spark computes them."""
    raise NotImplementedError(f"no rule for {type(node).__name__}")


def live(node: Node, ctx: Context) -> DataFrame:
    """Return the rows of a node that a stateful step may see; those that are dead are counted and left behind.

    The runtime reads the count, and has another look at the batch where it is not zero.
    """
    frame = lower(node, ctx)
    if DEAD not in frame.columns:
        return frame
    name = f"dead-{len(ctx.observed)}"
    ctx.observed.append(name)
    return frame.observe(name, F.count(DEAD).alias("dead")).filter(F.col(DEAD).isNull()).drop(DEAD)
