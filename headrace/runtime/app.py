"""App: a program that can be declared, explained and run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.core.errors import ConfigError, QueryError
from headrace.core.schema import UNKNOWN
from headrace.dsl.program import Program
from headrace.plan.describe import describe
from headrace.plan.explain import explain
from headrace.plan.node import Node
from headrace.plan.where import declared
from headrace.plan.windows import Span
from headrace.runtime.options import Options

if TYPE_CHECKING:
    from headrace.runtime.run import Run
    from headrace.serve import View

declaring = False  # while a file is read for its declarations: then nothing starts


class App(Program):
    """A program: declare its streams, then `run` it.

    Args:
        name: Under which state, offsets and internal topics are kept.
        version: Another one starts from the beginning, beside the old.
        idle: After how long without events on any input windows close by themselves; None for never.
        brokers: ``host:port,…`` of a Kafka cluster; the one configured, or the managed one, unless told.
        checkpoints: Folder for offsets and state; beside the managed broker's data unless told.
        master: Of which Spark; all cores of this machine unless told.
        spark: Further settings by Spark's names.
        max_batch: The most events that one batch takes of each input: memory stays bounded, however far behind.
        rate: The most events per second that each stage takes of each input; None for as many as it can.
        every: How often batches begin at most: a program that can wait leaves the machine to those that cannot.

    Example:
        >>> import headrace as hr
        >>> app = hr.App("retail")
        >>> orders = app.stream("orders", schema="store int, amount double, at timestamp", event_time="at")
        >>> orders.group_by("store").window(hr.tumbling("1 minute")).agg(revenue="sum(amount)").to("revenue")
    """

    @declared
    def __init__(
        self,
        name: str,
        *,
        version: int | str = 1,
        idle: Span | None = None,
        brokers: str | None = None,
        checkpoints: str | None = None,
        master: str | None = None,
        spark: Mapping[str, Any] | None = None,
        max_batch: int = 500_000,
        rate: int | None = None,
        every: Span = "0 seconds",
    ) -> None:
        super().__init__(name, version=version, idle=idle)
        self.options = Options(brokers, checkpoints, master, spark or {}, max_batch, rate, every)
        self._run: Run | None = None
        self._views: dict[str, View] = {}

    def explain(self) -> str:
        """Return the stages, their steps, state and guarantees, and the settings of Spark that apply, as text."""
        from headrace.spark.session import TUNING  # noqa: PLC0415 - only this method needs it

        settings = {**TUNING, **{name: str(value) for name, value in self.options.spark.items()}}
        return explain(self.name, self.version, self.stages, settings)

    def describe(self) -> dict[str, Any]:
        """Return the topology as data: stages with their steps, and the topics between them."""
        return describe(self.name, self.version, self.stages)

    def start(self) -> "Run":
        """Start the program and return while it runs; use the result to wait for it and to stop it."""
        from headrace.runtime.run import Run  # noqa: PLC0415 - brings Spark, which declarations do not need

        _check_starting(self.name)
        if self._run is not None and not self._run.wait(0):
            raise QueryError(f"the program {self.name!r} runs already in this process")
        run = Run(self, self.options)
        run.start()
        self._run = run
        return run

    def run(self, *, drain: bool = False) -> None:
        """Run until stopped by Ctrl-C, SIGTERM or `stop`; a batch under way is finished first.

        Args:
            drain: End by itself when all that the inputs hold has been processed.
        """
        from headrace.runtime.together import together  # noqa: PLC0415 - brings Spark, which declarations do not need

        _check_starting(self.name)
        together([self], drain=drain)

    def stop(self) -> None:
        """Stop the program after the batch under way, and the views of its tables."""
        if self._run is not None:
            self._run.stop()
        while self._views:
            self._views.popitem()[1].close()

    def view(self, node: Node) -> "View":
        """Return the view that follows a table, opened when it is first asked for; it has all that is there then."""
        from headrace.serve import View  # noqa: PLC0415 - only programs that ask need it

        topic = self.topic_of(node)
        if topic not in self._views:
            known = UNKNOWN not in node.schema.values()
            view = View(topic, *((node.schema, node.key) if known else ()), brokers=self.options.brokers)
            view.wait()
            self._views[topic] = view
        return self._views[topic]


def _check_starting(name: str) -> None:
    if declaring:
        raise ConfigError(
            f"the file of the program {name!r} starts it while it is only being read; "
            "put the call under 'if __name__ == \"__main__\":'"
        )
