"""A second look at a batch: which of its events were dead, and which came too late, and why.

Spark drops both without a word. While a batch runs they are only counted; where the count is not zero, the batch's part
of the log is read once more, through the same steps, up to the first step that keeps state.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.plan.aggregate import Aggregate
from headrace.plan.node import Node
from headrace.plan.stages import Stage
from headrace.plan.windows import Hop, Session
from headrace.spark.columns import DEAD, ORIGIN, TIME, span
from headrace.spark.lowering import Context, Log, lower

_WINDOW = "__window"


def dead(ctx: Context, log: Log) -> list[DataFrame]:
    """Return the dead rows of what ``log`` reads: reason, topic, partition, offset, key, value."""
    return [
        rows.filter(F.col(DEAD).isNotNull()).select(f"{DEAD}.*").dropDuplicates(["topic", "partition", "offset"])
        for _, rows in _inputs(ctx, log)
        if DEAD in rows.columns
    ]


def late(ctx: Context, log: Log, watermark: int) -> list[DataFrame]:
    """Return the late rows likewise; ``watermark``, in milliseconds, is that by which the batch was judged."""
    at = datetime.fromtimestamp(watermark / 1000, UTC)
    found = []
    for step, rows in _inputs(ctx, log):
        if TIME not in rows.columns or ORIGIN not in rows.columns:
            continue
        alive = rows.filter(F.col(DEAD).isNull()) if DEAD in rows.columns else rows
        windowed = alive.select(TIME, ORIGIN, _window(step).alias(_WINDOW))
        missed = windowed.filter(F.col(f"{_WINDOW}.end") <= F.lit(at))
        found.append(
            missed.groupBy(ORIGIN)
            .agg(F.min(TIME).alias("at"), F.count("*").alias("n"), F.max(f"{_WINDOW}.end").alias("end"))
            .select(_reason(step, at).alias("reason"), f"{ORIGIN}.*")
        )
    return found


def _inputs(ctx: Context, log: Log) -> Iterator[tuple[Node, DataFrame]]:
    aside = replace(ctx, log=log, heartbeat=None, aside=True, observed=[], told=[])
    for step, parent in first_steps(ctx.stage):
        if ctx.answers_for(step):
            yield step, lower(parent, aside)


def first_steps(stage: Stage) -> list[tuple[Node, Node]]:
    """Return each parent without state of a step with state, with that step; or all of a stage without state."""
    if not stage.stateful:
        return [(stage.node, stage.node)]
    within = {id(node) for node in stage.nodes}
    return [
        (step, parent)
        for step in stage.stateful
        for parent in step.parents
        if id(parent) in within and not any(node.stateful for node in _above(parent, within))
    ]


def _above(node: Node, within: set[int]) -> Iterator[Node]:
    return (other for other in node.walk() if id(other) in within)


def _window(step: Node) -> Column:
    """Return for how long a row could have counted; joins and dedupe drop rows at the watermark itself."""
    window = step.window if isinstance(step, Aggregate) else None
    if isinstance(window, Hop):
        return F.window(TIME, span(window.size), span(window.every))
    if isinstance(window, Session):
        return F.struct((F.col(TIME) + F.expr(f"INTERVAL {span(window.gap)}")).alias("end"))
    return F.struct(F.col(TIME).alias("end"))


def _reason(step: Node, watermark: datetime) -> Column:
    told = F.date_format("at", "yyyy-MM-dd'T'HH:mm:ss.SSSX")
    if not watermark.timestamp():  # where Spark begins to count
        return F.concat(F.lit("late: happened at "), told, F.lit(", but time begins in 1970"))
    time = watermark.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    what = getattr(step, "step", "") or step.label
    return F.concat(F.lit("late: happened at "), told, F.lit(f", but time in '{what}' was already {time}"))
