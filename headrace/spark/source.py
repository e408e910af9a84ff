"""Events of topics as rows: parsed, timed, and those that do not fit marked."""

from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.core.schema import UNKNOWN
from headrace.plan.dedupe import Dedupe
from headrace.plan.join import Join
from headrace.plan.source import Source, Through
from headrace.plan.stages import Stage
from headrace.spark.columns import DEAD, NEVER, ORIGIN, TIME, column, compute, interval, once, span
from headrace.spark.lowering import Context, lower

_META = ("topic", "partition", "offset", "key", "value", "timestamp")
_BAD = "__bad"
_BODY = "__body"
_SPACE = " \n\r\t"
_TICK = timedelta(milliseconds=1)


@dataclass(frozen=True)
class _Parsed:
    """Events as columns, with what is wrong with them, if anything, and whether this stage tells so."""

    rows: DataFrame
    names: list[str]
    bad: Column
    reason: Column
    beat: Column
    told: bool


@lower.register(Source)
def _(node: Source, ctx: Context) -> DataFrame:
    raw = _raw(ctx, node.topic, node.start)
    beat = F.col("__topic") == ctx.heartbeat if ctx.heartbeat else F.lit(False)
    names = list(node.columns)
    if node.format == "json":
        rows, bad, reason = _from_json(raw, node.columns.ddl)
    else:
        value = F.col("__value").cast("string") if node.format == "text" else F.col("__value")
        rows = raw.withColumn("value", value)
        bad = F.col("__value").isNull()
        reason = F.when(bad, "the event has no value")
    if node.clock is not None:
        rows = rows.withColumn("__when", _when(node, ctx))
        untimed = f"the event has no time: {node.time.sql if node.time else 'append'} is missing or null"
        reason = F.when(bad, reason).when(F.col("__when").isNull(), untimed)
        bad |= F.col("__when").isNull()
    parsed = _Parsed(rows, names, bad, reason, beat, ctx.tells(node))
    return _finish(parsed, ctx, delay_of(node, ctx.stage) if node.clock else None)


@lower.register(Through)
def _(node: Through, ctx: Context) -> DataFrame:
    beat = F.col("__topic") == ctx.heartbeat if ctx.heartbeat else F.lit(False)
    known = ctx.schemas.get(node.topic)
    ddl = known.toDDL() if known is not None else node.schema.ddl
    if UNKNOWN in ddl:
        raise NotImplementedError(f"the stage that writes {node.topic} must be lowered first")
    rows, bad, reason = _from_json(_raw(ctx, node.topic, "earliest"), f"{ddl}, {TIME} timestamp" if node.timed else ddl)
    if node.timed:
        rows = rows.withColumnRenamed(TIME, "__when").withColumn(
            "__when", F.when(beat, _beat_time()).otherwise(F.col("__when"))
        )
    delay = delay_of(node, ctx.stage) if node.timed else None
    return _finish(_Parsed(rows, list(node.schema), bad, reason, beat, ctx.tells(node)), ctx, delay)


def _raw(ctx: Context, topic: str, start: str) -> DataFrame:
    return ctx.log.read(topic, start).select([F.col(name).alias(f"__{name}") for name in _META])


def _from_json(raw: DataFrame, ddl: str) -> tuple[DataFrame, Column, Column]:
    """Return the columns of JSON values, which of them do not fit, and why."""
    options = {"columnNameOfCorruptRecord": _BAD, "mode": "PERMISSIVE"}
    text = F.col("__value").cast("string")
    last = F.substring("__value", -1, 1)  # Spark stops at the end of the object, whatever follows
    ended = (last == F.lit(b"}")) | F.rtrim(text, F.lit(_SPACE)).endswith("}")
    rows = raw.withColumn(_BODY, once(F.when(ended, F.from_json(text, f"{ddl}, {_BAD} string", options))))
    bad = F.col(_BODY).isNull() | F.col(_BAD).isNotNull()
    reason = (
        F.when(F.col("__value").isNull(), "the event has no value")
        .when(F.trim(text, F.lit(_SPACE)) == "", "the value is empty")
        .when(bad, "the value does not fit the schema")
    )
    return rows.select("*", f"{_BODY}.*"), bad, reason


def _when(node: Source, ctx: Context) -> Column:
    if node.time is not None:
        told = compute(node.time).cast("timestamp")
    else:
        told = F.col("__timestamp") if node.clock == "append" else ctx.log.now()
    if ctx.heartbeat is None:
        return told
    return F.when(F.col("__topic") == ctx.heartbeat, _beat_time()).otherwise(told)


def _beat_time() -> Column:
    return F.timestamp_millis(F.col("__value").cast("string").cast("long"))


def _finish(parsed: _Parsed, ctx: Context, delay: timedelta | None) -> DataFrame:
    """Mark what is dead, set the watermark, and drop heartbeats once they have moved it."""
    rows, bad, beat = parsed.rows, parsed.bad, parsed.beat
    origin = F.struct(*(F.col(f"__{name}").alias(name) for name in ("topic", "partition", "offset", "key", "value")))
    if not parsed.told:
        rows, bad = rows.filter(beat | ~bad), F.lit(False)
    dead = F.when(~beat & bad, F.struct(parsed.reason.alias("reason"), *_parts(origin)))
    rows = rows.withColumn(DEAD, dead)
    keep = [column(name) for name in parsed.names]
    watched = delay is not None and ctx.watched
    if delay is not None:
        when = F.col("__when") + interval(ctx.shift) if ctx.shift else F.col("__when")
        alive = F.when(F.col(DEAD).isNull(), when)
        keep.append((alive.otherwise(F.lit(NEVER)) if watched else alive).alias(TIME))
    keep.append(F.col(DEAD))
    if ctx.keeps_origin:
        keep.append(origin.alias(ORIGIN))
    if not watched:
        return rows.filter(~beat).select(keep) if ctx.heartbeat else rows.select(keep)
    assert delay is not None
    timed = rows.select(*keep, beat.alias("__beat")).withWatermark(TIME, span(delay + ctx.shift + ctx.waits))
    # No filter may go below the watermark: heartbeats, and events that are filtered out, move time too.
    return timed.filter(once(~F.col("__beat"))).drop("__beat")


def _parts(origin: Column) -> list[Column]:
    return [origin[name].alias(name) for name in ("topic", "partition", "offset", "key", "value")]


def delay_of(node: Source | Through, stage: Stage) -> timedelta:
    """Return how far the watermark of an input stays behind its newest event.

    Joins and dedupe drop rows *at* the watermark too, so there it stays a tick further behind. What was joined before
    it came through a topic is behind by as much as the join waited for partners.
    """
    earlier = list(node.walk())
    delay = max((source.lateness for source in earlier if isinstance(source, Source)), default=_TICK) + stage.grace
    delay += sum((_waited(join) for join in earlier if isinstance(join, Join)), timedelta(0))
    steps = [node for node in stage.nodes if isinstance(node, Join | Dedupe)]
    if len(stage.inputs) > 1:
        delay = max([delay, *(node.within for node in steps if isinstance(node, Dedupe))])
    return delay + _TICK if steps else delay


def _waited(join: Join) -> timedelta:
    return max(timedelta(0), join.before if join.how == "right" else join.after)
