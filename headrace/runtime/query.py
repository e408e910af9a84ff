"""One stage as a running Spark query: started, stopped between two batches, started again after a failure."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.core.errors import HeadraceError, PlanError, QueryFailedError
from headrace.plan.alert import Alerts
from headrace.plan.stages import FileOutput, Stage, TopicOutput, read_again
from headrace.runtime import progress
from headrace.runtime.asides import Asides
from headrace.runtime.catch_up import CatchUp
from headrace.runtime.checkpoint import Checkpoint
from headrace.runtime.home import Home
from headrace.runtime.options import Options
from headrace.runtime.topics import heartbeat_topic, late_topic, marker_topic
from headrace.runtime.turns import hurries, turn
from headrace.spark.columns import plain
from headrace.spark.encoding import encoded
from headrace.spark.failures import failure
from headrace.spark.files import Files
from headrace.spark.kafka import KafkaLog
from headrace.spark.lower import Lowered, lowered, settings_of
from headrace.spark.lowering import Context
from headrace.spark.realtime import as_they_come
from headrace.spark.session import FEW_ROWS, LATER, MANY_ROWS, POOL, SOON, stage_session
from headrace.spark.sink import ExactlyOnce, Target

State = Literal["running", "waiting", "stopped", "failed"]
logger = logging.getLogger("headrace")
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds between two attempts
_TRIES = 30  # failures without a finished batch between them, until a stage is given up
_FOREVER = timedelta(days=3650)  # that a stage waits for late events while it catches up
_TICK = 0.02  # seconds between two looks whether a batch is over
_SMALL = 20_000  # rows that this process writes as fast as workers, which take a tenth of a second to begin
_COLD = 200_000  # rows of a query's first batches, for which code of its own is not worth being made and compiled
_FIRST = 5  # batches of a query that are its first
_SKIMMED = 50  # rows of the state that cost as much as one that is computed
_PATIENCE = 600.0  # seconds for the batch under way to end
_BY_CLOCK = {"processingTime": "200 milliseconds"}  # between two looks at the timers


@dataclass
class World:
    """What the stages of a run share."""

    program: str
    version: str
    stages: tuple[Stage, ...]
    options: Options
    client: dict[str, Any]
    partitions: Mapping[str, int]
    home: Home
    spark: SparkSession
    schemas: dict[str, Any] = field(default_factory=dict)


class Stopped(Exception):
    """Raised in a batch that must not begin any more."""


class Gate:
    """Lets batches through, until it is closed; the next one is then dropped before it has written."""

    def __init__(self) -> None:
        self.closed = False

    def pass_through(self) -> None:
        """Return if the gate is open."""
        if self.closed:
            raise Stopped


class StageQuery:
    """A stage of a running program."""

    def __init__(self, stage: Stage, world: World) -> None:
        self.stage = stage
        self._world = world
        every = stage.output.every
        self._options = world.options if every is None else replace(world.options, every=every)
        self.state: State = "stopped"
        self.error: QueryFailedError | None = None
        self.failures = 0
        self.restarts = 0
        self.last: progress.Progress | None = None
        self.seen_at = time.monotonic()  # when an event came last
        self.catching_up = False
        self._catch_up: CatchUp | None = None
        self.fed_by: list[StageQuery] = []
        self.rows = 0
        self._query: StreamingQuery | None = None
        self._gate = Gate()
        self._few = False  # whether Spark expects small batches
        self._written = 0  # batches since it was started
        self._raised: BaseException | None = None
        self._batch_since: float | None = None
        self._again_at = 0.0
        self.asides: Asides | None = None

    @property
    def name(self) -> str:
        """Return the name of the stage within all programs."""
        return f"{self._world.program}.{self.stage.name}"

    @property
    def id(self) -> str:
        """Return the name of the stage among heartbeats."""
        return f"{self._world.program}.{self._world.version}.{self.stage.name}"

    @property
    def markers(self) -> str:
        """Return the topic that tells what is written."""
        return marker_topic(self._world.program, self._world.version, self.stage.name)

    @property
    def under_way(self) -> float | None:
        """Return for how many seconds a batch is under way, None between two."""
        since = self._batch_since
        return None if since is None else time.monotonic() - since

    @property
    def active(self) -> bool:
        """Whether Spark runs it."""
        return self._query is not None and self._query.isActive

    def start(self) -> None:
        """Lower the stage and start it; what cannot be is raised."""
        self._gate, self._raised, self.last, self._few, self._written = Gate(), None, None, False, 0
        world = self._world
        spark = stage_session(world.spark, {**settings_of(self.stage), **world.options.spark})
        beats = (heartbeat_topic(world.program), self.id) if self.beats else None
        most = None if self.realtime else self._options.per_batch
        log = KafkaLog(spark, world.client, world.partitions, beats, most)
        ctx = Context(spark, world.program, self.stage, log, beats[0] if beats else None, world.schemas, world.stages)
        place = world.home.checkpoint(self.stage.name)
        checkpoint = Checkpoint(spark, place)
        self._catch_up = CatchUp(
            self.stage,
            self.fed_by,
            partitions=world.partitions,
            client=world.client,
            checkpoint=checkpoint,
            most=self._options.per_batch,
        )
        self.catching_up = self._catch_up.needed
        ctx.waits = _FOREVER if self.catching_up else timedelta(0)
        low = lowered(ctx)
        self._tell(low)
        if self._catch_up.holds:
            self._query = None  # until watch() sees that those above are done
        else:
            note = world.home.folder / "looked" / self.stage.name
            self.asides = Asides(ctx, self.markers, world.client, checkpoint, note)
            self.asides.catch_up()
            pool = SOON if hurries(self._options.pause) else LATER
            spark.sparkContext.setLocalProperty(POOL, pool)  # the query keeps it
            self._query = self._write(low, place)
        self.state, self.error = "running", None

    @property
    def behind(self) -> bool:
        """Whether what the stage writes is still of its backlog, and so in no order of time."""
        if self.state == "stopped" or self._catch_up is None:
            return False
        if self.last is None:
            return self.catching_up or self._catch_up.waiting > 0
        return self.catching_up or self.last.lag >= self._options.per_batch

    @property
    def backlog(self) -> int:
        """How many events the stage had not read when it was started."""
        return self._catch_up.waiting if self._catch_up is not None else 0

    @property
    def beats(self) -> bool:
        """Whether heartbeats move the stage's time while its inputs are idle."""
        return bool(self.stage.stateful) and self.stage.idle is not None

    @property
    def realtime(self) -> bool:
        """Whether rows are passed on without batches."""
        return isinstance(self.stage.output, TopicOutput) and self.stage.output.latency == "realtime"

    def _tell(self, low: Lowered) -> None:
        """Tell the stages that read what this one writes which columns it has."""
        output, world = self.stage.output, self._world
        if isinstance(output, TopicOutput) and read_again(output.topic, world.stages):
            world.schemas[output.topic] = low.schema

    def _write(self, low: Lowered, checkpoint: str) -> StreamingQuery:
        output, world = self.stage.output, self._world
        if isinstance(output, FileOutput):
            return self._batches(plain(low.rows), Files(output), checkpoint)
        again = read_again(output.topic, world.stages)
        finish, node = low.finish, self.stage.node
        rows = encoded(low.rows, node, output, again) if finish is None else low.rows
        if self.realtime:
            passing = as_they_come(rows, output.topic, late_topic(world.program), world.client)
            return passing.queryName(self.name).option("checkpointLocation", checkpoint).start()
        target = Target(output.topic, self.markers, world.client, self.stage.declared, late_topic(world.program))
        sink = ExactlyOnce(target, lambda: self._next_is_small(_SMALL))
        if finish is None:
            return self._batches(rows, sink, checkpoint)

        def write(batch: DataFrame, number: int) -> None:
            sink(encoded(finish(batch), node, output, again), number)

        return self._batches(rows, write, checkpoint)

    def _next_is_small(self, most: int, skimmed: int = 1) -> bool:
        """Whether the next batch, as far as can be told before it is computed, has at most so many rows.

        It may take what came during the last one, and closes windows: then all that is remembered may come out, or it
        is only skimmed, so many rows in the time of one. After a failure nothing is taken for small.
        """
        assert self._catch_up is not None
        if self.failures:
            return False
        if self.last is None:
            return self._catch_up.waiting <= most and not (self.stage.stateful and self._catch_up.ran_before)
        return max(self.last.rows, self.last.lag) + self.last.state // skimmed <= most

    def _prepare(self, spark: SparkSession) -> None:
        """Have Spark run the batches to come as their size asks for: code pays for itself where much is computed."""
        few = self._next_is_small(_SMALL if self._written >= _FIRST else _COLD, _SKIMMED)
        if few == self._few:
            return
        self._few = few
        for name, value in (FEW_ROWS if few else MANY_ROWS).items():
            if name not in self._world.options.spark:
                spark.conf.set(name, value)

    def _batches(self, rows: DataFrame, sink: Any, checkpoint: str) -> StreamingQuery:
        gate, catch_up = self._gate, self._catch_up
        cores = rows.sparkSession.sparkContext.defaultParallelism
        assert catch_up is not None
        self._prepare(rows.sparkSession)

        def write(batch: DataFrame, number: int) -> None:
            self._batch_since = time.monotonic()
            try:
                gate.pass_through()
                if catch_up.ends_with(number, lambda: gate.closed):
                    gate.closed = True  # to be repeated, as the first batch after the backlog
                gate.pass_through()
                with turn(self._options.pause, cores):
                    sink(batch, number)
                self._written += 1
                self._prepare(batch.sparkSession)
            except BaseException as error:
                self._raised = error
                raise
            finally:
                self._batch_since = None

        return (
            rows.writeStream.queryName(self.name)
            .foreachBatch(write)
            .outputMode(self.stage.mode)
            .option("checkpointLocation", checkpoint)
            .trigger(**self._trigger())
            .start()
        )

    def _trigger(self) -> dict[str, Any]:
        """Return when batches begin; one whose timers go by the clock would begin another as soon as it has ended."""
        options = self._options
        return _BY_CLOCK if self.stage.by_clock and not options.pause else options.trigger

    def watch(self) -> None:
        """Take note of what Spark did since the last call; start the stage again if it failed a while ago."""
        if self.state == "waiting" and time.monotonic() >= self._again_at:
            self.restarts += 1
            self._try_again()
        if self.state == "running" and self._query is None and self._catch_up and not self._catch_up.holds:
            self._try_again()
        if self.state != "running" or self._query is None:
            return
        active = self._query.isActive
        self._follow()
        if self.state != "running":  # what the batch left out could not be written
            return
        if self.catching_up and (self._gate.closed or (active and self._has_caught_up())):
            logger.info("%s has caught up; windows close from now on", self.name)
            self._halt()
            self._try_again()
        elif not active:
            self._failed(self._raised if isinstance(self._raised, HeadraceError) else self._query.exception())

    def _has_caught_up(self) -> bool:
        """Whether a stage that catches up has nothing left to do it with."""
        assert self._query is not None and self._catch_up is not None
        try:
            return not self._query.status["isDataAvailable"] and self._catch_up.is_over()
        except HeadraceError:  # a broker that is away: not now
            return False

    def _follow(self) -> None:
        assert self._query is not None and self.asides is not None
        before = self.last
        for entry in progress.read(self._query, before.batch if before else -1):
            if self.last is None or entry.reached != self.last.reached:
                self.seen_at = time.monotonic()
            self.last = entry
            self.rows += entry.rows
            self.asides.follow(entry)
        if self._look_aside() and self.last is not before:
            self.failures = 0

    def _look_aside(self) -> bool:
        """Write down what batches left out; if that cannot be, start again, which looks at them once more."""
        assert self.asides is not None and self._query is not None
        try:
            self.asides.work(busy=self.last is not None and self.last.lag > 0)
        except Exception as error:
            if self.state != "stopped":
                self._gate.closed = True
                self._query.stop()
                self._failed(error)
            return False
        return True

    def _failed(self, error: BaseException | None) -> None:
        self.failures += 1
        self.error = failure(self.stage.name, error or RuntimeError("it ended by itself"), self.stage.where)
        if isinstance(error, PlanError) or self.failures >= _TRIES:
            self.state = "failed"
            return
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (self.failures - 1))
        self.state, self._again_at = "waiting", time.monotonic() + pause
        logger.warning("%s; trying again in %.0f s", self.error, pause)

    def _try_again(self) -> None:
        try:
            self.start()
        except Exception as error:
            self._failed(error)

    def settle(self) -> bool:
        """Wait until all there is has been processed; False if the stage failed meanwhile."""
        query = self._query
        if query is None or self.catching_up:
            return False
        try:
            if query.isActive and (self.stage.by_clock or self._waits_for_time):
                self._read_all(query)
            elif query.isActive:
                query.processAllAvailable()
            return self._query is query and query.isActive and not self.catching_up  # not one started meanwhile
        except Exception:
            return False

    @property
    def _waits_for_time(self) -> bool:
        """Whether heartbeats keep coming: with a pause between batches, each batch then finds one."""
        return any(isinstance(node, Alerts) and node.pause for node in self.stage.nodes)

    def _read_all(self, query: StreamingQuery) -> None:
        """Wait until all there is has been read; for Spark's own wait a stage would have to come to rest."""
        assert self._catch_up is not None
        while query.isActive and not self._catch_up.is_over():
            time.sleep(_TICK)

    def stop(self, patience: float = _PATIENCE) -> None:
        """Stop after the batch under way; one that has not begun to write is left for the next start."""
        self.state = "stopped"
        self._halt(patience)

    def _halt(self, patience: float = _PATIENCE) -> None:
        query = self._query
        if query is None:
            return
        self._gate.closed = True
        deadline = time.monotonic() + (0 if self.realtime else patience)
        while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(_TICK)
        query.stop()
        self._follow()
