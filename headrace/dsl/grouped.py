"""Groups of rows, and groups within windows: the way from a stream to a table."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any, get_args

from headrace.core.errors import PlanError
from headrace.core.quantities import parse_span
from headrace.core.schema import Schema
from headrace.dsl.rows import step_name
from headrace.operators.processor import Processor
from headrace.plan.aggregate import BOUNDS, Aggregate
from headrace.plan.aggregates import Custom, agg
from headrace.plan.expressions import Given
from headrace.plan.node import Emit, Node
from headrace.plan.process import Process, TimerClock
from headrace.plan.where import caller, declared
from headrace.plan.windows import Sliding, Span, Window

if TYPE_CHECKING:
    from headrace.dsl.program import Program
    from headrace.dsl.stream import Stream
    from headrace.dsl.table import Table


class Grouped:
    """Rows with the same values of some columns."""

    def __init__(self, program: "Program", node: Node, keys: tuple[str, ...]) -> None:
        self._program, self._node, self._keys = program, node, keys

    @declared
    def agg(self, *, name: str | None = None, **aggregates: Given | Custom) -> "Table":
        """Aggregate per key over all time; a row is sent whenever its key has changed, once per batch.

        Results of final windows grouped by ``window_start`` and ``window_end`` are final too.

        Example:
            >>> counts = words.group_by("word").agg(n="count(*)")  # doctest: +SKIP
        """
        by_window = self._node.timed and BOUNDS[1] in self._keys
        return self.table(aggregates, name, "final" if by_window else "updates")

    def table(
        self,
        aggregates: dict[str, Given | Custom],
        name: str | None,
        emit: Emit,
        window: Window | None = None,
        grace: timedelta = timedelta(0),
    ) -> "Table":
        """Return the result of an aggregation; `agg` and `Windowed.agg` are the ways to it."""
        from headrace.dsl.table import Table  # noqa: PLC0415 - a table can be grouped, and a group becomes a table

        where = caller()
        alone = self._node.updates or isinstance(window, Sliding)
        node = self._program.settled(self._node, where, alone)
        if node.updates:
            node = self._program.weighed(node, where)
        aggs = tuple(agg(column, given, node.schema, node.timed) for column, given in aggregates.items())
        step = step_name(name, "aggregate", (*self._keys, window, grace, emit, *(f"{a.name}={a.given}" for a in aggs)))
        return Table(self._program, Aggregate(node, self._keys, aggs, window, grace, emit, step, where=where))

    @declared
    def process(
        self,
        logic: Processor,
        schema: Any,
        *,
        clock: TimerClock = "event",
        patience: Span = "1 minute",
        name: str | None = None,
    ) -> "Stream":
        """Put the rows of each key through logic of your own, which keeps a state for it and can set timers.

        Rows have no event time afterwards.

        Args:
            logic: An instance of a subclass of `hr.Processor`.
            schema: Of the rows that it returns.
            clock: By which its timers go: ``event`` or ``processing``.
            patience: How long it may take for the rows of one key.
            name: Under which the state is kept.
        """
        from headrace.dsl.stream import Stream  # noqa: PLC0415 - a stream can be grouped, and a group becomes a stream

        where = caller()
        node = self._program.settled(self._node, where, alone=True)
        result = Schema.of(schema)
        step = step_name(name, "process", (*self._keys, type(logic).__name__, result.ddl, clock))
        span = parse_span(patience)
        return Stream(self._program, Process(node, self._keys, logic, result, clock, span, step, where=where))

    @declared
    def window(self, window: Window, *, grace: Span = "0 seconds", emit: Emit = "updates") -> "Windowed":
        """Cut each key's time into windows.

        Args:
            window: ``hr.tumbling(size)``, ``hr.hopping(size, every)``, ``hr.sliding(size)`` or ``hr.session(gap)``.
            grace: How long after its end, beyond the stream's lateness, a window still takes late rows.
            emit: ``updates`` tells each change as it happens, ``final`` each result once, when its window has closed.

        Example:
            >>> minutes = orders.group_by("store").window(hr.tumbling("1 minute"), emit="final")  # doctest: +SKIP
        """
        if not isinstance(window, get_args(Window)):
            raise PlanError(
                f"window() takes hr.tumbling(…), hr.hopping(…), hr.sliding(…) or hr.session(…), not {window!r}"
            )
        if emit not in get_args(Emit):
            raise PlanError(f"emit must be 'updates' or 'final', not {emit!r}")
        if taken := [name for name in BOUNDS if name in self._keys]:
            raise PlanError(f"the result of a window has a column {taken[0]!r} of its own; rename the key")
        if self._node.updates:
            raise PlanError(
                "window() cuts the time of a stream; of a table, take its changes(), or agg() without window"
            )
        if not self._node.timed:  # here, and not only at agg(): the error should name this line
            raise PlanError(
                "window() needs to know when events happened; declare the stream with event_time='column', "
                "or with time='append' or time='processing'"
            )
        return Windowed(self, window, parse_span(grace), emit)


class Windowed:
    """Groups within windows."""

    def __init__(self, groups: Grouped, window: Window, grace: timedelta, emit: Emit) -> None:
        self._groups, self._window, self._grace, self._emit = groups, window, grace, emit

    @declared
    def agg(self, *, name: str | None = None, **aggregates: Given | Custom) -> "Table":
        """Aggregate per key and window, into columns ``window_start``, ``window_end``, the keys, the aggregates.

        Any aggregate of Spark is possible, and ``count(distinct x)``, ``top_n(value, by, n)``, ``moving_avg(x, n)``,
        ``first(x)`` and ``last(x)`` by time, and `hr.aggregate` for Python functions.

        Example:
            >>> revenue = minutes.agg(revenue="sum(amount)", sales="count(*)")  # doctest: +SKIP
        """
        return self._groups.table(aggregates, name, self._emit, self._window, self._grace)
