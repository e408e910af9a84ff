"""Streams: facts that only grow in number."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Self

from headrace.core.errors import PlanError
from headrace.core.quantities import parse_span
from headrace.core.schema import Schema
from headrace.dsl.grouped import Grouped
from headrace.dsl.rows import Rows, called, step_name
from headrace.dsl.table import Table
from headrace.log.names import check_topic_name
from headrace.plan.dedupe import Dedupe
from headrace.plan.expressions import Given, expression
from headrace.plan.join import How, Join, equalities
from headrace.plan.node import known_columns
from headrace.plan.rows import Explode, Filter, KeyBy, MapPython, Merge
from headrace.plan.source import Correction, Source, Through
from headrace.plan.table import AsTable
from headrace.plan.table_join import AsOf, Enrich
from headrace.plan.where import caller, declared
from headrace.plan.windows import Span


class Stream(Rows):
    """Events as they come: append-only."""

    @declared
    def explode(self, column: str, as_: str | None = None) -> Self:
        """One row for each element of an array column; rows without elements vanish.

        Example:
            >>> words = lines.select(word="split(value, ' ')").explode("word")  # doctest: +SKIP
        """
        (found,) = known_columns(self.node.schema, (column,), "explode")
        return self._next(Explode(self.node, found, as_ or found, where=caller()))

    @declared
    def map(
        self, function: Callable[[dict[str, Any]], dict[str, Any] | None], schema: Any, key: str | None = None
    ) -> Self:
        """Put each row, a dict, through a Python function that returns another, or None to leave it away.

        A row at which the function raises goes to the dead letters of its topic; the others go on. Spark SQL is about
        seven times as fast, `map_batches` about as fast as Spark SQL.

        Args:
            function: Is sent to Spark's workers, so it should not hold connections or locks.
            schema: Of the rows it returns.
            key: The column, if any, under which rows are written from here on.
        """
        keys = (key,) if key else ()
        return self._next(MapPython(self.node, function, Schema.of(schema), False, keys, where=caller()))

    @declared
    def map_batches(self, function: Callable[[Any], Any], schema: Any, key: str | None = None) -> Self:
        """Put Arrow record batches through a Python function that returns others, of any number of rows.

        Rows have no event time afterwards. If the function raises, it is called again row by row, and the rows at
        which it raises go to the dead letters.
        """
        keys = (key,) if key else ()
        return self._next(MapPython(self.node, function, Schema.of(schema), True, keys, where=caller()))

    @declared
    def branch(self, *conditions: Given) -> tuple[Self, ...]:
        """Split into one stream per condition and a last one for the rest; a row goes to the first that fits.

        Example:
            >>> large, small, other = orders.branch("amount > 100", "amount > 0")  # doctest: +SKIP
        """
        if not conditions:
            raise PlanError("branch() needs at least one condition")
        texts = [expression(given, self.node.schema, "branch") for given in conditions]
        if any(text.column is not None for text in texts):
            raise PlanError("branch() takes conditions in Spark SQL, not Columns")
        missed = [f"not coalesce({text.sql}, false)" for text in texts]
        chosen = [f"({text.sql})" for text in texts] + ["true"]
        return tuple(
            self._next(
                Filter(
                    self.node,
                    expression(" and ".join([*missed[:number], condition]), self.node.schema, "branch"),
                    where=caller(),
                )
            )
            for number, condition in enumerate(chosen)
        )

    @declared
    def merge(self, *others: "Stream") -> Self:
        """Take the rows of other streams too; all must have the same columns."""
        if wrong := [other for other in others if not isinstance(other, Stream)]:
            raise PlanError(f"merge() needs other streams, not {wrong[0]!r}")
        self._same_program(*others)
        return self._next(Merge((self.node, *(other.node for other in others)), where=caller()))

    @declared
    def key_by(self, *columns: str) -> Self:
        """Say under which columns' values rows are written from here on: rows of one key keep their order.

        Example:
            >>> per_store = orders.key_by("store")  # doctest: +SKIP
        """
        return self._next(KeyBy(self.node, known_columns(self.node.schema, columns, "key_by"), where=caller()))

    @declared
    def repartition(self, *columns: str, partitions: int | None = None, name: str | None = None) -> Self:
        """Spread rows anew by the values of some columns, over a topic of the program's own."""
        keyed = KeyBy(self.node, known_columns(self.node.schema, columns, "repartition"), where=caller())
        step = step_name(name, "repartition", (*columns, *(node.label for node in self.node.walk())))
        return self._next(Through(keyed, self._program.internal(step, "repartition"), partitions, where=caller()))

    @declared
    def through(self, topic: str, *, partitions: int | None = None) -> Self:
        """Write the rows to a topic and go on reading them from there, in a stage of its own."""
        return self._next(Through(self.node, check_topic_name(topic), partitions, where=caller()))

    @declared
    def dedupe(self, *columns: str, within: Span, name: str | None = None) -> Self:
        """Keep the first row of equal values; others within ``within`` of its time vanish.

        It is forgotten when the stream's time has gone past that span: until then equal rows further away vanish too.

        Example:
            >>> once = orders.dedupe("order_id", within="1 hour")  # doctest: +SKIP
        """
        found = known_columns(self.node.schema, columns, "dedupe")
        step = step_name(name, "dedupe", (*found, within, *(node.label for node in self.node.walk())))
        return self._next(Dedupe(self.node, found, parse_span(within), step, where=caller()))

    @declared
    def group_by(self, *columns: str) -> Grouped:
        """Group rows by the values of some columns, or all of them together.

        Example:
            >>> orders.group_by("store").agg(sales="count(*)")  # doctest: +SKIP
        """
        return Grouped(self._program, self.node, known_columns(self.node.schema, columns, "group_by"))

    @declared
    def join(
        self,
        other: "Stream | Table",
        *,
        on: str | Sequence[str],
        within: Span | None = None,
        before: Span | None = None,
        after: Span | None = None,
        how: How = "inner",
        as_of: AsOf | None = None,
        grace: Span | None = None,
        name: str | None = None,
    ) -> Self:
        """Join with another stream, in pairs of equal keys whose times are close; or look rows of a table up.

        Args:
            other: The right side.
            on: A column of both, or an equality such as ``"clicks.ad = ads.id"``.
            within: How far apart the two times may be, either way.
            before: How far the other's row may lie before this one's, instead of ``within``.
            after: How far it may lie after this one's.
            how: ``inner``, ``left``, ``right``, ``full`` or ``semi``. Rows without a partner come out once, when no
                partner can come any more. With a table: ``inner`` or ``left``.
            as_of: With a table: ``event_time`` for the row that held when the event happened, ``latest`` for the
                newest.
            grace: With ``as_of="event_time"``: how long after its time an event waits for rows that come late.
            name: Under which the state is kept.

        Example:
            >>> clicked = ads.join(clicks, on="ad", after="10 minutes")  # doctest: +SKIP
        """
        if not isinstance(other, Stream | Table):
            raise PlanError(f"join() needs another stream or a table, not {other!r}")
        self._same_program(other)
        if isinstance(other, Table):
            if within is not None or before is not None or after is not None:
                raise PlanError("within=, before= and after= are for joins of two streams; with a table say as_of=")
            if as_of is None:
                raise PlanError("join() with a table needs as_of='event_time' or as_of='latest'")
            return self._enriched(other, on, how=how, name=name, as_of=as_of, grace=grace or "0 seconds")
        if as_of is not None or grace is not None:
            raise PlanError("as_of= and grace= are for joins with a table; two streams join within a time: within=")
        left, right = self._settled(), other._settled()
        names = (called(left, "left"), called(right, "right"))
        pairs = equalities(on, left, right, names)
        reach = _reach(within, before, after)
        step = step_name(name, "join", (*pairs, *reach, how, *names))
        return self._next(Join(left, right, pairs, how, names, step, *reach, where=caller()))

    def _enriched(
        self, table: Table, on: str | Sequence[str], *, how: How, name: str | None, as_of: AsOf, grace: Span
    ) -> Self:
        left, right = self._settled(alone=True), table._settled(alone=True)
        names = (called(left, "left"), called(right, "right"))
        pairs = equalities(on, left, right, names)
        span = parse_span(grace)
        step = step_name(name, "join", (*pairs, how, *names, as_of, span))
        return self._next(Enrich(left, right, pairs, how, names, step, as_of, span, where=caller()))

    @declared
    def to_table(self, *key: str) -> Table:
        """Make a table of the stream: of each key, the latest row.

        Args:
            key: The columns that tell rows apart; those of the stream's key unless told.

        Example:
            >>> latest = readings.to_table("sensor")  # doctest: +SKIP
        """
        keys = known_columns(self.node.schema, key or tuple(self.node.key), "to_table")
        return Table(self._program, AsTable(self._settled(alone=True), keys, where=caller()))

    @declared
    def correct_clock(self, *, event: str, sent: str, received: str | None = None, max_skew: Span) -> Self:
        """Put right the times of devices whose clocks are wrong, and go by the right ones.

        A device tells when something happened and when it sent it, both by its own clock. That clock is wrong by as
        much as the sending differs from the receipt, and so is the time of the event. Events of a clock that is wrong
        by more than ``max_skew`` go to the late ledger. A stream that was declared with ``time="append"`` or
        ``"processing"`` still goes by that time: only the column is put right.

        Args:
            event: The column with the time of the event by the device's clock; it gets the corrected time.
            sent: The column with the time of sending by the device's clock.
            received: The column with the time of receipt by a clock that is right; the time at which the event was
                written to the log unless told.
            max_skew: The most by which a clock may be wrong.

        Example:
            >>> right = readings.correct_clock(
            ...     event="device_at", sent="sent_at", received="received_at", max_skew="1 hour"
            ... )  # doctest: +SKIP
        """
        source = self.node
        if not isinstance(source, Source) or source.correction is not None:
            raise PlanError("correct_clock() comes right after app.stream(…): time must be right before it is used")
        given = [event, sent, *([received] if received else [])]
        columns = known_columns(source.columns, tuple(given), "correct_clock")
        for column in columns:
            if source.columns[column] != "TIMESTAMP":
                raise PlanError(f"correct_clock: {column!r} is of type {source.columns[column]}, not timestamp")
        span = parse_span(max_skew)
        if span < timedelta(0):
            raise PlanError("max_skew must not be below 0")
        correction = Correction(columns[0], columns[1], columns[2] if received else None, span)
        if source.clock in ("append", "processing"):
            return self._next(replace(source, correction=correction, where=caller()))
        time = expression(columns[0], source.columns, "event")
        return self._next(replace(source, clock="event", time=time, correction=correction, where=caller()))


def _reach(within: Span | None, before: Span | None, after: Span | None) -> tuple[Any, Any]:
    if within is not None and (before is not None or after is not None):
        raise PlanError("join() takes either within= or before= and after=")
    if within is not None:
        return parse_span(within), parse_span(within)
    if before is None and after is None:
        raise PlanError(
            "join() of two streams needs a bound, or every row would be kept forever: within='10 minutes', "
            "or before= and after="
        )
    return parse_span(before or "0 seconds"), parse_span(after or "0 seconds")
