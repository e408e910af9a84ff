"""A second look at a batch: which of its events were dead, and which came too late, and why.

Spark drops both without a word. While a batch runs they are only counted (`lowering.live`); where the count is not
zero, the batch's part of the log is read once more, through the same steps, up to the first step that keeps state.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.core.quantities import milliseconds
from headrace.log.dead_letters import LATE
from headrace.plan.aggregate import Aggregate
from headrace.plan.dedupe import Dedupe
from headrace.plan.join import Join
from headrace.plan.node import Node
from headrace.plan.stages import Stage
from headrace.plan.windows import Hop, Session, Sliding
from headrace.spark.columns import DEAD, ORIGIN, TIME, interval
from headrace.spark.lowering import Context, Log, lower


def left_out(ctx: Context, log: Log, watermark: int) -> list[DataFrame]:
    """Return the dead and the late rows of what ``log`` reads: reason, topic, partition, offset, key, value.

    Args:
        ctx: The stage.
        log: A batch's part of the log.
        watermark: By which the batch was judged, in milliseconds.
    """
    at = datetime.fromtimestamp(watermark / 1000, UTC)
    return [_told(rows, step, at) for step, rows in _inputs(ctx, log) if DEAD in rows.columns]


def _told(rows: DataFrame, step: Node, watermark: datetime) -> DataFrame:
    letter = F.when(F.col(DEAD).isNotNull(), F.struct(f"{DEAD}.*"))
    end = _end(step)
    if end is not None and TIME in rows.columns:
        reason = _reason(step, watermark).alias("reason")
        late = F.struct(reason, f"{ORIGIN}.*")
        letter = letter.when(end <= F.lit(watermark), late)
    told = rows.select(letter.alias("letter")).filter("letter is not null").select("letter.*")
    gathered = told.repartition("topic", "partition").dropDuplicates(["topic", "partition", "offset"])
    return gathered.sortWithinPartitions("topic", "partition", "offset")


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


def _end(step: Node) -> Column | None:
    """Return until when a row counts in full, if it ever ceases to; joins and dedupe drop rows at the watermark itself.

    A row that is in several windows is late as soon as the first of them is closed.
    """
    if isinstance(step, Dedupe | Join):
        return F.col(TIME)
    window = step.window if isinstance(step, Aggregate) else None
    if isinstance(window, Session):
        return F.col(TIME) + interval(window.gap)
    if isinstance(window, Hop):
        return _first_end(milliseconds(window.size) * 1000, milliseconds(window.every) * 1000)
    if isinstance(window, Sliding):
        return F.timestamp_millis(F.floor(F.unix_micros(TIME) / 1000))
    return F.col(TIME) if isinstance(step, Aggregate) and step.by_parent_window else None


def _first_end(size: int, every: int) -> Column:
    """Return when the first window with a row ends, in microseconds: windows begin at multiples of ``every``."""
    at = F.unix_micros(TIME)
    inside = F.pmod(at, F.lit(every))
    earlier = F.ceil((F.lit(size) - inside) / F.lit(every)) - 1
    return F.timestamp_micros(at - inside - earlier * every + size)


def _reason(step: Node, watermark: datetime) -> Column:
    told = F.date_format(TIME, "yyyy-MM-dd'T'HH:mm:ss.SSSX")
    if not watermark.timestamp():  # where Spark begins to count
        return F.concat(F.lit(f"{LATE}happened at "), told, F.lit(", but time begins in 1970"))
    time = watermark.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    what = getattr(step, "step", "") or step.label
    return F.concat(F.lit(f"{LATE}happened at "), told, F.lit(f", but time in '{what}' was already {time}"))
