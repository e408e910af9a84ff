"""Events of topics as rows: parsed, timed, and those that do not fit marked."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.core.quantities import milliseconds
from headrace.core.schema import UNKNOWN, quote
from headrace.log.dead_letters import LATE
from headrace.log.letter import RECEIVED
from headrace.plan.dedupe import Dedupe
from headrace.plan.join import Join
from headrace.plan.source import Correction, Source, Through
from headrace.plan.stages import Stage
from headrace.plan.table import AsTable
from headrace.plan.table_join import Enrich
from headrace.plan.windows import show_span
from headrace.spark.columns import (
    DEAD,
    GONE,
    NEVER,
    ORDER,
    ORIGIN,
    SOURCE,
    TIME,
    VERSION,
    column,
    compute,
    keyless,
    once,
    span,
)
from headrace.spark.lowering import Context, lower

_META = ("topic", "partition", "offset", "key", "value", "timestamp")
_BAD = "__bad"
_BODY = "__body"
_SPACE = " \n\r\t"
_TICK = timedelta(milliseconds=1)
_SKEW = "__skew"
_SAME_TIME = 1 << 22  # events of one partition that may be written in one millisecond


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
    by_log = node.correction is not None and node.correction.received is None
    raw = _raw(ctx, node.topic, node.start, node.table, headers=by_log)
    if node.table:
        return _table(node, raw, ctx)
    beat = _beat(ctx)
    names = list(node.columns)
    if node.format == "json":
        rows, bad, reason = _from_json(raw, node.columns.ddl)
    else:
        value = F.col("__value").cast("string") if node.format == "text" else F.col("__value")
        rows = raw.withColumn("value", value)
        bad = F.col("__value").isNull()
        reason = F.when(bad, "the event has no value")
    clock = node.clock or ("append" if ctx.dates else None)
    if clock is not None:
        if node.correction is not None:
            rows = _corrected(rows, node.correction)
        rows = rows.withColumn("__when", _when(node, ctx))
        untimed, told = F.col("__when").isNull(), node.time.sql if node.time else "append"
        if node.correction is not None:
            untimed, told = untimed | column(node.correction.event).isNull(), node.correction.event
        reason = F.when(bad, reason).when(untimed, f"the event has no time: {told} is missing or null")
        bad |= untimed
        if node.correction is not None:
            wrong, why = _skewed(node.correction)
            bad, reason = bad | wrong, F.when(~bad & wrong, why).otherwise(reason)
    parsed = _Parsed(rows, names, bad, reason, beat, ctx.tells(node))
    return _finish(parsed, ctx, delay_of(node, ctx.stage) if clock else None)


def _table(node: Source, raw: DataFrame, ctx: Context) -> DataFrame:
    """Return the changes of a table that lies in a topic."""
    image = f"struct<{node.columns.ddl}>"
    if node.envelope:
        payload = f"before {image}, after {image}, op string"
        rows, bad, reason = _from_json(raw, f"{payload}, payload struct<{payload}>")
        parts = {part: F.coalesce(F.col(part), F.col(f"payload.{part}")) for part in ("before", "after", "op")}
        rows = rows.select(*raw.columns, _BODY, _BAD, *(value.alias(f"__{part}") for part, value in parts.items()))
        gone = (F.col("__op") == "d") | F.col("__after").isNull()
        rows = rows.select("*", F.coalesce(F.col("__after"), F.col("__before")).alias("__image"))
        rows = rows.select("*", "__image.*")
        empty = F.col("__op").isNull() & F.col("__value").isNotNull()
        bad, reason = bad | empty, F.when(~bad & empty, "the value is no change: it has no op").otherwise(reason)
        gone = F.coalesce(gone, F.lit(False))
    else:
        rows, bad, reason = _from_json(raw, node.columns.ddl)
        gone = F.col("__value").isNull()
    return _changes(rows.withColumn(GONE, gone | F.col("__value").isNull()), node, ctx, bad, reason)


def _changes(rows: DataFrame, node: Source | Through, ctx: Context, bad: Column, reason: Column) -> DataFrame:
    """Return rows that are the changes of a table: one without a value deletes the row of its key."""
    deletes = F.col("__value").isNull()
    kinds = {field.name: field.dataType.simpleString() for field in rows.select(*map(column, node.schema)).schema}
    for name, value in _keys(node.key, kinds).items():
        rows = rows.withColumn(name, F.when(deletes, value).otherwise(column(name)))
    lost, told = keyless(node.key)
    bad = (bad & ~deletes) | lost
    reason = F.when(~lost | ~deletes & reason.isNotNull(), reason).otherwise(told)
    when = F.col("__timestamp")
    if isinstance(node, Source) and node.time is not None:
        when = F.coalesce(compute(node.time).cast("timestamp"), when)
    rows = rows.withColumn(VERSION, when)
    if ctx.dates:
        rows = rows.withColumn("__when", F.when(_beat(ctx), _beat_time()).otherwise(F.col(VERSION)))
    parsed = _Parsed(rows, [*node.schema], bad, reason, _beat(ctx), ctx.tells(node))
    return _finish(parsed, ctx, timedelta(0) if ctx.dates else None, (GONE, VERSION))


def _keys(names: tuple[str, ...], kinds: Mapping[str, str]) -> dict[str, Column]:
    """Return the columns of a key as they stand in an event's key: see `encoding.key_of`."""
    text = F.col("__key").cast("string")
    inner = F.when(text.startswith("{"), text)
    ddl = ", ".join(f"{quote(name)} {kinds[name]}" for name in names)
    wrapped = F.from_json(inner, f"{ddl}, payload struct<{ddl}>")
    if len(names) > 1:
        return {name: F.coalesce(wrapped[name], wrapped["payload"][name]) for name in names}
    (name,) = names
    plain = text.cast(kinds[name])
    return {name: F.coalesce(wrapped[name], wrapped["payload"][name], plain)}


def _corrected(rows: DataFrame, correction: Correction) -> DataFrame:
    """Shift an event's time by what its device's clock is wrong."""
    received = column(correction.received) if correction.received else _received()
    skew = F.unix_micros(received) - F.unix_micros(column(correction.sent))
    rows = rows.withColumn(_SKEW, skew)
    right = F.timestamp_micros(F.unix_micros(column(correction.event)) + F.col(_SKEW))
    return rows.withColumn(correction.event, right)


def _received() -> Column:
    """Return when the log first had an event: what a replay tells (see `letter.received`), or the log's own time."""
    place = F.array_position("__headers.key", RECEIVED)
    told = F.get("__headers.value", (place - 1).cast("int")).cast("string").try_cast("bigint")
    can_be = (told > 0) & (told <= F.unix_millis("__timestamp"))
    return F.when(can_be, F.timestamp_millis(told)).otherwise(F.col("__timestamp"))


def _skewed(correction: Correction) -> tuple[Column, Column]:
    """Return which events have a clock that is wrong by too much, and what to say of them."""
    most = milliseconds(correction.max_skew) * 1000
    wrong = F.coalesce(F.abs(F.col(_SKEW)) > most, F.lit(False))
    seconds = (F.col(_SKEW) / 1_000_000).cast("decimal(20, 3)").cast("string")
    told = f" s, which is more than {show_span(correction.max_skew)}"
    return wrong, F.concat(F.lit(f"{LATE}the device's clock is wrong by "), seconds, F.lit(told))


@lower.register(Through)
def _(node: Through, ctx: Context) -> DataFrame:
    beat = _beat(ctx)
    known = ctx.schemas.get(node.topic)
    ddl = known.toDDL() if known is not None else node.schema.ddl
    if UNKNOWN in ddl:
        raise NotImplementedError(f"the stage that writes {node.topic} must be lowered first")
    raw = _raw(ctx, node.topic, "earliest", node.updates)
    rows, bad, reason = _from_json(raw, f"{ddl}, {TIME} timestamp" if node.timed else ddl)
    if node.updates:
        return _changes(rows.withColumn(GONE, F.col("__value").isNull()), node, ctx, bad, reason)
    timed = node.timed or ctx.dates
    if timed:
        told = F.col(TIME if node.timed else "__timestamp")
        rows = rows.withColumn("__when", F.when(beat, _beat_time()).otherwise(told)).drop(TIME)
    delay = delay_of(node, ctx.stage) if timed else None
    return _finish(_Parsed(rows, list(node.schema), bad, reason, beat, ctx.tells(node)), ctx, delay)


def _raw(ctx: Context, topic: str, start: str, whole: bool = False, headers: bool = False) -> DataFrame:
    names = (*_META, "headers") if headers else _META
    return ctx.log.read(topic, start, whole, headers).select([F.col(name).alias(f"__{name}") for name in names])


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
        told = ctx.log.now() if node.clock == "processing" else F.col("__timestamp")
    if ctx.heartbeat is None:
        return told
    return F.when(F.col("__topic") == ctx.heartbeat, _beat_time()).otherwise(told)


def _beat(ctx: Context) -> Column:
    """Return which rows are heartbeats."""
    return F.col("__topic") == ctx.heartbeat if ctx.heartbeat else F.lit(False)


def _beat_time() -> Column:
    return F.timestamp_millis(F.col("__value").cast("string").cast("long"))


def _finish(parsed: _Parsed, ctx: Context, delay: timedelta | None, also: tuple[str, ...] = ()) -> DataFrame:
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
        alive = F.when(F.col(DEAD).isNull(), F.col("__when"))
        keep.append((alive.otherwise(F.lit(NEVER)) if watched else alive).alias(TIME))
    keep += [F.col(DEAD), *map(F.col, also)]
    if ctx.keeps_origin:
        keep.append(origin.alias(ORIGIN))
    if ctx.keeps_place:
        keep += _place(ctx)
        if VERSION not in also:
            keep.append((F.col("__when") if delay is not None else F.col("__timestamp")).alias(VERSION))
    if not watched:
        return ctx.together(rows.filter(~beat).select(keep) if ctx.heartbeat else rows.select(keep))
    assert delay is not None
    timed = rows.select(*keep, beat.alias("__beat")).withWatermark(TIME, span(delay + ctx.waits))
    # No filter may go below the watermark: heartbeats, and events that are filtered out, move time too.
    return ctx.together(timed.filter(once(~F.col("__beat"))).drop("__beat"))


def _place(ctx: Context) -> list[Column]:
    """Return which of two rows is the later one, and where each lies.

    Rows of one key are in one partition, in their order, unless a stream becomes a table by another key: then the time
    at which they were written counts.
    """
    other = any(isinstance(node, AsTable) and node.keys != node.parent.key for node in ctx.stage.nodes)
    late = F.unix_millis("__timestamp") * _SAME_TIME + F.pmod(F.col("__offset"), F.lit(_SAME_TIME))
    source = F.struct(*(F.col(f"__{name}").alias(name) for name in ("topic", "partition", "offset")))
    return [(late if other else F.col("__offset")).alias(ORDER), source.alias(SOURCE)]


def _parts(origin: Column) -> list[Column]:
    return [origin[name].alias(name) for name in ("topic", "partition", "offset", "key", "value")]


def delay_of(node: Source | Through, stage: Stage) -> timedelta:
    """Return how far the watermark of an input stays behind its newest event.

    Joins and dedupe drop rows *at* the watermark too, so there it stays a tick further behind. What was joined before
    it came through a topic is behind by as much as the join waited for partners.
    """
    earlier = list(node.walk())
    delay = max((source.lateness for source in earlier if isinstance(source, Source)), default=_TICK) + stage.grace
    delay += sum((step.grace for step in earlier if isinstance(step, Enrich)), timedelta(0))
    delay += sum((_waited(join) for join in earlier if isinstance(join, Join)), timedelta(0))
    steps = [node for node in stage.nodes if isinstance(node, Join | Dedupe)]
    if len(stage.inputs) > 1:
        delay = max([delay, *(node.within for node in steps if isinstance(node, Dedupe))])
    return delay + _TICK if steps else delay


def _waited(join: Join) -> timedelta:
    """Return by how much the rows of a join may be out of order, though those of either side are not.

    Time in a join is that of the slower side. A row with a partner is ahead of it by as much as the partner may lie
    before; one that comes out later may still lie behind it by as much as its partner may come after.
    """
    return max(timedelta(0), join.before) + max(timedelta(0), join.after)
