"""Streams: facts that only grow in number."""

from collections.abc import Callable, Sequence
from typing import Any, Self

from headrace.core.errors import PlanError
from headrace.core.quantities import parse_span
from headrace.core.schema import Schema
from headrace.dsl.grouped import Grouped
from headrace.dsl.rows import Rows, step_name
from headrace.log.names import check_topic_name
from headrace.plan.dedupe import Dedupe
from headrace.plan.expressions import Given, expression
from headrace.plan.join import How, Join, equalities
from headrace.plan.node import Node, known_columns
from headrace.plan.rows import Explode, Filter, KeyBy, MapPython, Merge
from headrace.plan.source import Source, Through
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
        other: "Stream",
        *,
        on: str | Sequence[str],
        within: Span | None = None,
        before: Span | None = None,
        after: Span | None = None,
        how: How = "inner",
        name: str | None = None,
    ) -> Self:
        """Join with another stream: pairs of equal keys whose times are close.

        Args:
            other: The right side.
            on: A column of both, or an equality such as ``"clicks.ad = ads.id"``.
            within: How far apart the two times may be, either way.
            before: How far the other's row may lie before this one's, instead of ``within``.
            after: How far it may lie after this one's.
            how: ``inner``, ``left``, ``right``, ``full`` or ``semi``. Rows without a partner come out once, when no
                partner can come any more.
            name: Under which the state is kept.

        Example:
            >>> clicked = ads.join(clicks, on="ad", after="10 minutes")  # doctest: +SKIP
        """
        if not isinstance(other, Stream):
            raise PlanError(f"join() needs another stream, not {other!r}")
        self._same_program(other)
        left, right = (self._program.settled(side.node, caller()) for side in (self, other))
        names = (_called(left, "left"), _called(right, "right"))
        pairs = equalities(on, left, right, names)
        reach = _reach(within, before, after)
        step = step_name(name, "join", (*pairs, *reach, how, *names))
        return self._next(Join(left, right, pairs, *reach, how, names, step, where=caller()))


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


def _called(node: Node, otherwise: str) -> str:
    """Return the name of the stream from which rows come, if there is just one, as it can stand in SQL."""
    topics = {source.topic for source in node.walk() if isinstance(source, Source)}
    name = topics.pop() if len(topics) == 1 else otherwise
    return "".join(letter if letter.isalnum() else "_" for letter in name)
