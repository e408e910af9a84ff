"""TestDriver: a program fed by hand."""

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from headrace.core.change import Delete
from headrace.core.codec import encode
from headrace.core.errors import ConfigError, PlanError, QueryError, UnknownTopicError
from headrace.core.quantities import milliseconds
from headrace.dsl.program import Program
from headrace.log.dead_letters import REASON
from headrace.plan.source import Source
from headrace.plan.stages import Stage, TopicOutput, read_again
from headrace.runtime.progress import entries
from headrace.spark import asides
from headrace.spark.columns import ORDER, TIME, column, visible
from headrace.spark.encoding import encoded
from headrace.spark.failures import failure
from headrace.spark.lower import lowered, settings_of
from headrace.spark.lowering import Context
from headrace.spark.sending import headers_of, is_late, letter_of
from headrace.spark.session import FEW_ROWS, ONE_TASK, session, stage_session
from headrace.testing.topics import HandFed, Sendings, Sent, Topics

Given = Mapping[str, Any] | bytes | str | Delete | None
Row = dict[str, Any]
_HEARTBEAT = "__heartbeat"
_REMOVALS, _PAUSE = 10, 0.1  # tries to remove the folder, and seconds between them
_STARTS, _STARVED = 5, "Python worker failed to connect back"  # which a busy machine gives it ten seconds for
# There is no end of empty batches while timers go by the clock.
_EMPTY_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"
# Each stage looks all the time whether there is something: with many of them that takes more than the rest.
_SELDOM = {"spark.sql.streaming.pollingDelay": "50ms"}
_NOT_RUNNING = "the TestDriver does not run; use it as 'with TestDriver(app) as t:'"
_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass
class _Running:
    """A stage under test, and how far its progress was looked at."""

    stage: Stage
    ctx: Context
    log: HandFed
    start: Callable[[], StreamingQuery]
    query: StreamingQuery
    watermark: int = 0
    seen: int = -1


class TestDriver:
    """Runs a program without a broker: the same plan, the same lowering, the same Spark.

    The test sends events, moves time, and reads what came out; each of these returns when the program is done with
    all that was sent.

    Args:
        program: The `App` under test; it need not run.
        now: Where the clock stands at first, for streams by append or processing time; ``advance_to`` moves it.

    Example:
        >>> with TestDriver(app) as t:  # doctest: +SKIP
        ...     t.send("orders", [{"store": 7, "amount": 5.0, "at": "2024-05-01T10:00:05Z"}])
        ...     t.advance_to("2024-05-01T10:02:00Z")
        ...     assert t.read("revenue-per-minute") == [...]
    """

    __test__ = False  # pytest: not a test, in spite of its name
    _tuning: Mapping[str, str] = {**FEW_ROWS, **ONE_TASK, **_SELDOM}

    def __init__(self, program: Program, now: str | datetime = "2024-01-01T00:00:00Z") -> None:
        self._app, self._stages = program.name, program.stages
        if files := next((stage for stage in self._stages if not isinstance(stage.output, TopicOutput)), None):
            raise PlanError(
                f"the TestDriver has topics only, but the stage {files.name!r} writes files; test it with to()"
            )
        self._now, self._advanced = _time(now), datetime.min.replace(tzinfo=UTC)
        self._folder = tempfile.TemporaryDirectory(prefix="headrace-test-", ignore_cleanup_errors=True)
        self._topics = Topics()
        self._begun = False
        self._running: list[_Running] = []
        self._schemas: dict[str, Any] = {}
        self._written: dict[str, list[tuple[bytes | None, Row | Delete]]] = defaultdict(list)
        self._read: dict[str, int] = defaultdict(int)
        self._fresh: dict[str, list[Row]] = defaultdict(list)  # dead letters by stage: stages run side by side
        self._aside: dict[str, list[Row]] = {"late": [], "dead": []}

    def __enter__(self) -> Self:
        try:
            for stage in self._stages:
                self._running.append(self._start(stage))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        self._begun = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for running in self._running:
            running.query.stop()
        self._running = []
        _remove(self._folder)

    def send(self, topic: str, rows: Given | Iterable[Given]) -> None:
        """Append events to a topic that the program reads, and wait until it has processed them.

        Args:
            topic: Declared with ``app.stream(topic, …)``.
            rows: Dicts, or text and bytes as they would lie in the topic.
        """
        source = self._source(topic)
        given = [rows] if isinstance(rows, Mapping | bytes | str | Delete) or rows is None else list(rows)
        if given:
            self._topics.put(topic, [_sent(row, source) for row in given], self._now)
        for running in self._now_running():
            self._settle(running)

    def advance_to(self, time: str | datetime) -> None:
        """Move the clock and, with it, the time of every stream, as if an event of that time had come."""
        told = _time(time)
        if told < self._advanced:
            raise ConfigError(f"time does not go back: it is {self._advanced.isoformat()}, not {told.isoformat()}")
        self._now = self._advanced = told
        value = str(milliseconds(self._now - _EPOCH)).encode()
        reached: set[str] = set()
        for running in self._now_running():  # one by one: what a stage writes now comes before its readers' time moves
            for topic in {node.topic for node in running.stage.inputs} - reached:
                self._topics.put(topic, [Sent(None, value)], self._now, _HEARTBEAT)
                reached.add(topic)
            self._settle(running)

    def read(self, topic: str) -> list[Row | Delete]:
        """Return the rows written to a topic since the last call: dicts, in order, times as aware datetimes."""
        written = self._output(topic)
        begin, self._read[topic] = self._read[topic], len(written)
        return [row for _, row in written[begin:]]

    def table(self, topic: str) -> list[Row]:
        """Return the latest row of each key written to a topic so far."""
        latest: dict[bytes | None, Row] = {}
        for key, row in self._output(topic):
            latest.pop(key, None)
            if not isinstance(row, Delete):
                latest[key] = row
        return list(latest.values())

    def late(self) -> list[Row]:
        """Return the events that came too late: reason, topic, partition, offset, key, value."""
        return list(self._aside["late"])

    def dead_letters(self) -> list[Row]:
        """Return the events that could not be processed: reason, topic, partition, offset, key, value."""
        return list(self._aside["dead"])

    def _start(self, stage: Stage) -> _Running:
        output = stage.output
        assert isinstance(output, TopicOutput)
        rest = {_EMPTY_BATCHES: "false"} if stage.by_clock else {}
        own = stage_session(session(), {**self._tuning, **settings_of(stage), **rest})
        log = HandFed(own, self._topics)
        ctx = Context(own, self._app, stage, log, _HEARTBEAT, self._schemas, self._stages)
        low = lowered(ctx)
        again = read_again(output.topic, self._stages)

        def shaped(frame: DataFrame) -> DataFrame:
            row = F.struct(*map(column, visible(frame)))
            time = F.col(TIME) if TIME in frame.columns else F.lit(None).cast("timestamp")
            order = F.col(ORDER) if ORDER in frame.columns else F.lit(None).cast("bigint")
            more = [row.alias("row"), time.alias("time"), order.alias("order")]
            return encoded(frame, stage.node, output, again, more)

        def write(batch: DataFrame, _: int) -> None:
            self._collect(stage, shaped(low.finish(batch)) if low.finish else batch)

        if again:
            self._schemas[output.topic] = low.schema
        writer = (
            (shaped(low.rows) if low.finish is None else low.rows)
            .writeStream.foreachBatch(write)
            .outputMode(stage.mode)
            .option("checkpointLocation", str(Path(self._folder.name) / "checkpoints" / stage.name))
        )
        return _Running(stage, ctx, log, writer.start, writer.start())

    def _collect(self, stage: Stage, batch: DataFrame) -> None:
        topic = stage.output.name
        rows = batch.toArrow().to_pylist(maps_as_pydicts="lossy")
        self._fresh[stage.name] += [letter_of(row) for row in rows if row["dead"] is not None]
        alive = [row for row in rows if row["dead"] is None]
        if stage.stateful:  # they come from as many tasks as there are cores: in the same order on every machine
            alive.sort(key=_order)
        for row in alive:
            gone = row["value"] is None
            self._written[topic].append((row["key"], Delete(_plain_key(row["key"])) if gone else row["row"]))
        read = any(node.topic == topic for other in self._stages for node in other.inputs)
        if read and alive:
            self._topics.put(topic, [Sent(row["key"], row["value"]) for row in alive], self._now)

    def _settle(self, running: _Running) -> None:
        """Let a stage process what there is, one sending at a time, and look at what it puts aside."""
        while fed := running.log.feed():
            self._process(running)
            self._note(self._fresh.pop(running.stage.name, []))
            self._look(running, fed)

    def _process(self, running: _Running) -> None:
        for tries in range(_STARTS, -1, -1):
            try:
                running.query.processAllAvailable()
                return
            except Exception as error:
                if _STARVED not in str(error) or not tries:
                    raise failure(running.stage.name, error, running.stage.where) from None
                running.query = running.start()  # goes on where it was

    def _look(self, running: _Running, fed: Mapping[str, str]) -> None:
        for told in entries(running.query, running.seen):
            running.seen = told["batchId"]
            current = _watermark(told.get("eventTime", {}).get("watermark"))
            dropped = sum(operator["numRowsDroppedByWatermark"] for operator in told.get("stateOperators", []))
            dead = sum(metrics.get("dead") or 0 for metrics in told.get("observedMetrics", {}).values())
            if dropped or dead:
                judged = current if running.stage.judges_now else running.watermark
                self._note(_rows(asides.left_out(running.ctx, Sendings(running.ctx.spark, fed), judged)))
            running.watermark = current

    def _note(self, letters: list[Row]) -> None:
        schemas = {
            node.topic: node.columns for stage in self._stages for node in stage.inputs if isinstance(node, Source)
        }
        told = [{**letter, "reason": dict(headers_of(letter, schemas))[REASON]} for letter in letters]
        for letter in sorted(told, key=lambda letter: (letter["topic"], letter["partition"], letter["offset"])):
            self._aside["late" if is_late(letter) else "dead"].append(letter)

    def _source(self, topic: str) -> Source:
        known = {node.topic: node for stage in self._stages for node in stage.inputs if isinstance(node, Source)}
        if topic not in known:
            raise UnknownTopicError(f"the program reads no topic {topic!r}; it reads {', '.join(sorted(known))}")
        return known[topic]

    def _output(self, topic: str) -> list[tuple[bytes | None, Row | Delete]]:
        known = {stage.output.topic for stage in self._stages if isinstance(stage.output, TopicOutput)}
        if topic not in known:
            raise UnknownTopicError(f"the program writes no topic {topic!r}; it writes {', '.join(sorted(known))}")
        if not self._begun:
            raise QueryError(_NOT_RUNNING)
        return self._written[topic]

    def _now_running(self) -> list[_Running]:
        if not self._running:
            raise QueryError(_NOT_RUNNING)
        return self._running


def _remove(folder: tempfile.TemporaryDirectory[str]) -> None:
    """Remove a folder; Spark keeps state in the background, and may write there a moment after its query has ended."""
    folder.cleanup()
    for _ in range(_REMOVALS):
        if not Path(folder.name).exists():
            return
        time.sleep(_PAUSE)
        folder.cleanup()


def _order(row: Row) -> tuple[Any, ...]:
    """Return by what rows are sorted: their time or place in the log, then their columns from left to right."""
    values = (row["time"], row["order"], *(row["row"] or {}).values())
    plain = (repr(value) if isinstance(value, dict | list) else value for value in values)
    return tuple((value is not None, value if value is not None else 0) for value in plain)


def _rows(frames: list[DataFrame]) -> list[Row]:
    return [row for frame in frames for row in frame.toArrow().to_pylist()]


def _sent(row: Given, source: Source) -> Sent:
    if isinstance(row, Delete):
        return Sent(encode(row.key), None)
    if not isinstance(row, Mapping):
        return Sent(None, encode(row))
    keys = {name: row.get(name) for name in source.keys}
    key = next(iter(keys.values())) if len(keys) == 1 else keys or None
    return Sent(encode(str(key) if isinstance(key, int | float) else key), encode(dict(row)))


def _plain_key(key: bytes | None) -> Any:
    text = (key or b"").decode()
    return orjson.loads(text) if text.startswith("{") else text


def _time(given: str | datetime) -> datetime:
    try:
        told = datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise ConfigError(f"{given!r} is no time; write it like '2024-05-01T10:02:00Z'") from None
    return told if told.tzinfo else told.replace(tzinfo=UTC)


def _watermark(told: str | None) -> int:
    return milliseconds(datetime.fromisoformat(told) - _EPOCH) if told else 0
