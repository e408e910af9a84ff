"""A program that runs: all its stages in one Spark session, watched by one thread."""

import logging
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark import SparkContext

from headrace.alerts.notifier import Notifier, notifier_of
from headrace.core.errors import HeadraceError, QueryError, QueryFailedError
from headrace.core.settings import Settings
from headrace.dsl.program import Program
from headrace.log.connection import connect
from headrace.plan.alert import Alerts
from headrace.plan.describe import describe
from headrace.plan.stages import Stage, TopicOutput, writes
from headrace.runtime import control
from headrace.runtime.heartbeat import Heartbeats
from headrace.runtime.home import Home, write_json
from headrace.runtime.options import Options
from headrace.runtime.progress import Offsets
from headrace.runtime.query import StageQuery, World
from headrace.runtime.topics import prepare
from headrace.spark.session import session

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger("headrace")
_TICK = 0.2  # seconds between two looks
_DYING = 2.0  # seconds in which a Java process that does not answer must have ended
_TOLD_EVERY = 0.5  # seconds between two notes of the status


class Run:
    """A started program; `App.start` gives it.

    Example:
        >>> with app.start() as run:  # doctest: +SKIP
        ...     run.drain()
    """

    def __init__(self, program: Program, options: Options) -> None:
        self._program, self._options = program, options
        self._stack = ExitStack()
        self._ended = threading.Event()
        self._wanted = threading.Event()
        self._failure: HeadraceError | None = None
        self._begun = datetime.now(UTC)
        self._folder: Path | None = None
        self.queries: list[StageQuery] = []
        self._lock = threading.RLock()
        self._pool = ThreadPoolExecutor(1)
        self._draining: Future[bool] | None = None

    def start(self) -> None:
        """Find the log, prepare topics, start Spark and every stage; raise what is wrong."""
        stages = self._program.stages
        settings = Settings.load()
        home = Home(settings, self._program.name, self._program.version, self._options.checkpoints)
        with ExitStack() as stack:
            stack.enter_context(home.held())
            for stage in stages:
                home.remember(stage)
            client = connect(self._options.brokers)
            partitions, created = prepare(self._program.name, self._program.version, stages, client)
            for name in created:
                logger.info("created the topic %s", name)
            with _own_interrupt():
                spark = session(self._options.master, self._options.spark, self._slots(partitions), home.log)
            world = World(
                self._program.name, self._program.version, stages, self._options, client, partitions, home, spark
            )
            for notifier in _notifiers(stages, settings, client):
                stack.enter_context(notifier)
            self.queries = [StageQuery(stage, world) for stage in stages]
            for query in self.queries:
                topics = {node.topic for node in query.stage.inputs}
                query.fed_by = [other for other in self.queries if writes(other.stage) in topics]
            stack.callback(self._stop_queries)
            for query in self.queries:  # in their order: those that write a topic before those that read it
                query.start()
            self._beats = Heartbeats(self._program.name, client, self.queries)
            self._folder = home.folder
            write_json(home.folder / control.TOPOLOGY, describe(self._program.name, self._program.version, stages))
            (home.folder / control.FAILED).unlink(missing_ok=True)
            self._stack = stack.pop_all()
        threading.Thread(target=self._watch, name=f"headrace-{self._program.name}", daemon=True).start()

    def _slots(self, partitions: dict[str, int]) -> int:
        """Return how many tasks must run at once: a stage in real time holds one for each partition, for good."""
        realtime = [
            sum(partitions[node.topic] for node in stage.inputs)
            for stage in self._program.stages
            if isinstance(stage.output, TopicOutput) and stage.output.latency == "realtime"
        ]
        return sum(realtime) + 2 if realtime else 0

    def _watch(self) -> None:
        told_at = 0.0
        try:
            while not self._wanted.wait(_TICK):
                with self._lock:
                    for query in self.queries:
                        query.watch()
                    self._obey()
                    self._beats.beat()
                if time.monotonic() - told_at > _TOLD_EVERY:
                    told_at = time.monotonic()
                    self._tell()
                if failed := next((query for query in self.queries if query.state == "failed"), None):
                    self._failure = failed.error
                    break
        except BaseException as error:
            self._failure = self._explained(error)
        finally:
            self._close()

    def _explained(self, error: BaseException) -> HeadraceError:
        if isinstance(error, HeadraceError):
            return error
        java = getattr(SparkContext._gateway, "proc", None)
        with suppress(subprocess.TimeoutExpired):
            if java is not None:
                return QueryFailedError(
                    f"Spark's Java process died (exit code {java.wait(_DYING)}), perhaps for want of memory; what it "
                    "wrote is in spark.log beside the broker's data. Start the program again: it goes on where it was"
                )
        logger.error("the supervisor failed", exc_info=error)
        return QueryFailedError(f"the supervisor failed: {error}")

    def _obey(self) -> None:
        assert self._folder is not None
        for path, verb, stage in control.orders(self._folder):
            query = next((query for query in self.queries if query.stage.name == stage), None)
            if query is not None:
                query.stop()
                if verb == "restart":
                    query.start()
            self._tell()
            path.unlink(missing_ok=True)

    def _tell(self) -> None:
        if self._folder is not None:
            write_json(self._folder / control.STATUS, self.status())

    def _close(self) -> None:
        try:
            self._stack.close()
            self._pool.shutdown(wait=False)
        finally:
            if self._folder is not None:
                self._leave(self._folder)
            self._ended.set()

    def _leave(self, folder: "Path") -> None:
        """Leave no status behind, but why the program failed, for those who look after it."""
        if self._failure is not None:
            write_json(folder / control.FAILED, {**self.status(), "error": str(self._failure)})
        for name in (control.STATUS, control.TOPOLOGY):
            (folder / name).unlink(missing_ok=True)

    def _stop_queries(self) -> None:
        with self._lock:
            for query in self.queries:
                with suppress(Exception):  # without Spark there is nothing left to stop
                    query.stop()

    def status(self) -> dict[str, Any]:
        """Return what the stages do, as data."""
        return {
            "program": self._program.name,
            "version": self._program.version,
            "started": self._begun.isoformat(),
            "stages": [_status(self._program.name, query) for query in self.queries],
        }

    def drain(self, timeout: float | None = None) -> None:
        """Wait until every stage has processed all that its inputs hold.

        Raises:
            QueryFailedError: A stage failed for good.
            QueryError: It is not done in ``timeout`` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.drained(1.0):
            if self._ended.is_set():
                self._raise()
                raise QueryError(f"the program {self._program.name!r} was stopped before it was done")
            if deadline is not None and time.monotonic() > deadline:
                raise QueryError(f"the program {self._program.name!r} was not done in {timeout} s")

    def drained(self, patience: float = 0.0) -> bool:
        """Whether every stage has processed all that its inputs hold; wait for it up to ``patience`` seconds.

        Who asks again goes on waiting for the same; once it was told, the next who asks begins anew.
        """
        if self._draining is None:
            self._draining = self._pool.submit(lambda: all([query.settle() for query in self.queries]))
        try:
            done = self._draining.result(patience)
        except TimeoutError:
            return False
        self._draining = None
        if done:
            with self._lock:
                for query in self.queries:
                    query.watch()
        else:
            self._ended.wait(_TICK)
        return done

    def reached(self) -> list[Offsets]:
        """Return up to where each stage has read its inputs."""
        return [query.last.reached if query.last else {} for query in self.queries]

    def stop(self, *, wait: bool = True) -> None:
        """Stop every stage after the batch under way, and wait for it unless told not to."""
        self._wanted.set()
        if wait:
            self._ended.wait()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the program has ended; False if it has not in ``timeout`` seconds.

        Raises:
            QueryFailedError: A stage failed for good.
        """
        ended = self._ended.wait(timeout)
        if ended:
            self._raise()
        return ended

    def _raise(self) -> None:
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _notifiers(stages: Sequence[Stage], settings: Settings, client: dict[str, Any]) -> Iterator[Notifier]:
    """Yield what tells people of the program's alerts; it works beside the queries, which do not wait for it."""
    topics = {stage.output.topic for stage in stages if _alerts(stage) and isinstance(stage.output, TopicOutput)}
    for topic in sorted(topics):
        if (notifier := notifier_of(settings.alerts, client["bootstrap.servers"], topic)) is not None:
            yield notifier


def _alerts(stage: Stage) -> bool:
    return isinstance(stage.node, Alerts)


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """Keep what Ctrl-C does: PySpark would have it cancel the batch under way."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, before)


def _status(program: str, query: StageQuery) -> dict[str, Any]:
    last = query.last
    rate = last.rows / last.seconds if last and last.seconds else 0.0
    mark = datetime.fromtimestamp(last.watermark / 1000, UTC).isoformat() if last and last.watermark else None
    return {
        "name": query.name,
        "program": program,
        "stage": query.stage.name,
        "state": query.state,
        "error": str(query.error) if query.error else None,
        "restarts": query.restarts,
        "batch": last.batch if last else None,
        "rows": query.rows,
        "rows_per_second": round(rate, 1),
        "batch_seconds": last.seconds if last else None,
        "under_way": None if (since := query.under_way) is None else round(since, 1),
        "lag": last.lag if last else None,
        "watermark": mark,
        "catching_up": query.catching_up,
        "state_rows": last.state if last else 0,
        "late": query.asides.late if query.asides else 0,
    }
