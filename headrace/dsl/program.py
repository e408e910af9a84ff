"""A program under declaration."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal, Protocol

from headrace.core.errors import PlanError
from headrace.core.quantities import parse_span
from headrace.core.schema import Schema
from headrace.dsl.stream import Stream
from headrace.dsl.table import Table
from headrace.log.names import check_topic_name
from headrace.plan.alert import AlertRule, Alerts
from headrace.plan.node import Node
from headrace.plan.source import RAW, TEXT, Clock, Source, Start, Through, within
from headrace.plan.source import event_time as checked_time
from headrace.plan.stages import Output, Stage, TopicOutput, cut, digest, unchained
from headrace.plan.table import Changes, Weighed
from headrace.plan.where import caller, declared
from headrace.plan.windows import Span

_LONGEST = 100  # characters of a program's name: topics are called after it
_Output = tuple[Node, Output, str, str]  # rows, where they go, the name of the stage, the line that declared it


class Readable(Protocol):
    """The current rows of a table."""

    def get(self, key: Any) -> dict[str, Any] | None:
        """Return the row of a key."""
        ...

    def range(self, low: Any, high: Any, *, limit: int) -> list[dict[str, Any]]:
        """Return rows in the order of their key."""
        ...

    def query(self, sql: str, *params: Any, limit: int, timeout: float) -> list[dict[str, Any]]:
        """Return what SQL selects."""
        ...


class Program:
    """Declarations of one name, and what follows from them.

    Args:
        name: Under which state, offsets and internal topics are kept.
        version: Another one starts from the beginning, beside the old.
        idle: After how long without events on any input windows close by themselves; None for never. Streams can
            say otherwise.
    """

    @declared
    def __init__(self, name: str, *, version: int | str = 1, idle: Span | None = None) -> None:
        check_topic_name(name)
        if len(name) > _LONGEST:
            raise PlanError(f"the program's name has {len(name)} characters; the most is {_LONGEST}")
        self.name = name
        self.version = check_topic_name(str(version))
        self._idle = None if idle is None else parse_span(idle)
        self._outputs: list[_Output] = []
        self._alerts: list[tuple[Node, AlertRule, str]] = []
        self._between: dict[str, Through] = {}

    @declared
    def stream(
        self,
        topic: str,
        *,
        schema: Any = None,
        key: str | tuple[str, ...] | None = None,
        event_time: str | None = None,
        time: Clock | None = None,
        lateness: Span = "0 seconds",
        idle: Span | None = None,
        format: str = "json",
        start: Start = "earliest",
    ) -> Stream:
        """Declare the events of a topic.

        Events that do not fit go to ``<topic>.dlq`` with the reason. A field that is missing or null is null, a field
        that is not in the schema is left out.

        Args:
            topic: Its name.
            schema: DDL such as ``"store int, at timestamp"``, a StructType, or a dataclass; not for text and raw.
            key: The column, or columns, that are the event's key.
            event_time: The column, or an expression, that tells when an event happened.
            time: ``append`` to go by the time at which events were written to the log, ``processing`` by that at which
                they are read.
            lateness: How far behind the newest event another may come and still count.
            idle: After how long without events time goes on by itself.
            format: ``json``, ``text`` or ``raw``; the latter two have one column ``value``.
            start: ``earliest`` or ``latest``, for a program that never ran.

        Example:
            >>> orders = app.stream("orders", schema="store int, amount double, at timestamp", event_time="at")
            ... # doctest: +SKIP
        """
        if format not in ("json", "text", "raw"):
            raise PlanError(f"format must be json, text or raw, not {format!r}")
        if (schema is None) == (format == "json"):
            raise PlanError(
                "a JSON stream needs schema='name type, …'"
                if schema is None
                else f"format={format!r} has one column 'value'; leave schema away"
            )
        if start not in ("earliest", "latest"):
            raise PlanError(f"start must be 'earliest' or 'latest', not {start!r}")
        if time not in (None, "event", "append", "processing") or (time == "event" and event_time is None):
            raise PlanError(f"time must be 'append' or 'processing', or name a column with event_time=; not {time!r}")
        if event_time is not None and time in ("append", "processing"):
            raise PlanError(f"event_time={event_time!r} and time={time!r} exclude each other")
        if parse_span(lateness) > timedelta(0) and event_time is None and time is None:
            raise PlanError("lateness= is told, but not when events happened; declare event_time= or time=")
        columns = Schema.of(schema) if schema is not None else (TEXT if format == "text" else RAW)
        keys = tuple(key) if isinstance(key, tuple | list) else () if key is None else (key,)
        source = Source(
            check_topic_name(topic),
            columns,
            format,
            keys,
            "event" if event_time is not None else time,
            checked_time(event_time, columns) if event_time is not None else None,
            parse_span(lateness),
            parse_span(idle) if idle is not None else self._idle,
            start,
            where=caller(),
        )
        return Stream(self, source)

    @declared
    def table(
        self,
        topic: str,
        *,
        schema: Any,
        key: str | tuple[str, ...],
        event_time: str | None = None,
        envelope: Literal["debezium"] | None = None,
        history: Span = "1 day",
    ) -> Table:
        """Declare a table: of each key, the latest row that was written to a topic.

        An event without a value deletes the row of its key. Rows without a key are dead letters.

        Args:
            topic: Its name; such topics are usually compacted.
            schema: As for `stream`, the key's columns among them.
            key: The column, or columns, that tell rows apart.
            event_time: The column, or an expression, that tells since when a row holds; the time at which it was
                written to the log unless told.
            envelope: ``debezium`` where values are changes with the row before and after.
            history: How long after it was replaced a version can be asked for, by joins as of an event's time.

        Example:
            >>> customers = app.table("customers", schema="id string, city string", key="id")  # doctest: +SKIP
        """
        if envelope not in (None, "debezium"):
            raise PlanError(f"envelope must be 'debezium' or None, not {envelope!r}")
        columns = Schema.of(schema)
        keys = tuple(key) if isinstance(key, tuple | list) else (key,)
        source = Source(
            check_topic_name(topic),
            columns,
            keys=keys,
            clock="append" if event_time is None else "event",
            time=checked_time(event_time, columns) if event_time is not None else None,
            table=True,
            envelope=envelope is not None,
            history=parse_span(history),
            where=caller(),
        )
        return Table(self, source)

    def settled(self, node: Node, where: str, alone: bool = False) -> Node:
        """Return a node after which a stateful step may follow: where needed, by way of a topic, which all share."""
        step = unchained(node, alone)
        if step is None:
            return node
        return self._through(node, self.internal(step, "changelog" if node.updates else "repartition"), where)

    def weighed(self, table: Node, where: str) -> Weighed:
        """Return the rows of a table as they come and go, by way of its change log, which all share."""
        step = f"changes-{digest(table)}"
        topic = self.internal(step, "changelog")
        known = self._between.get(topic)
        if known is None or known.parent.parents[0] is not table:
            known = self._through(Changes(table, True, step, where=where), topic, where)
        return Weighed(known, table.schema, table.key, where=where)

    def _through(self, node: Node, topic: str, where: str, partitions: int | None = None) -> Through:
        known = self._between.get(topic)
        if known is None or known.parent is not node or known.partitions != partitions:
            self._between[topic] = Through(node, topic, partitions, where=where)
        return self._between[topic]

    def view(self, node: Node) -> Readable:
        """Return a view that follows a table; only a program that can run has one."""
        raise PlanError("this program cannot be asked for its tables; declare it with hr.App(…)")

    def topic_of(self, table: Node) -> str:
        """Return the topic in which a table lies."""
        if isinstance(table, Source):
            return table.topic
        topics = (o.topic for node, o, *_ in self._outputs if node is table and isinstance(o, TopicOutput))
        if (topic := next(topics, None)) is None:
            raise PlanError("get(), range() and query() read a topic; write the table with .to(topic) first")
        return topic

    def add(self, node: Node, output: Output, name: str, where: str) -> None:
        """Note an output, or say why it cannot be."""
        outputs = [*self._outputs, (node, output, name, where)]
        cut([*outputs, *self._alerting(outputs, self._alerts)])
        self._outputs = outputs

    def alert(self, node: Node, rule: AlertRule, topic: str) -> None:
        """Note a rule over the rows of a node, or say why it cannot be."""
        if known := next((other for _, other, _ in self._alerts if other.name == rule.name), None):
            raise PlanError(
                f"two alerts are called {rule.name!r}: one at {known.where}, one at {rule.where}; rename one"
            )
        alerts = [*self._alerts, (node, rule, topic)]
        cut([*self._outputs, *self._alerting(self._outputs, alerts)])
        self._alerts = alerts

    def _alerting(self, outputs: Sequence[_Output], alerts: Sequence[tuple[Node, AlertRule, str]]) -> list[_Output]:
        """Return a step with its output for the rules over the same rows."""
        together: dict[tuple[int, str], tuple[Node, list[AlertRule]]] = {}
        for node, rule, topic in alerts:
            parent = self._watched(node, outputs, rule.where)
            together.setdefault((id(parent), topic), (parent, []))[1].append(rule)
        found: dict[str, _Output] = {}
        for (_, topic), (parent, rules) in together.items():
            name = "-".join([topic, *(node.topic for node in within(parent) if isinstance(node, Source | Through))])
            if name in found or len(name) > _LONGEST:
                name = f"{name[:_LONGEST]}-{digest(parent)}"
            step = Alerts(parent, tuple(rules), self.name, f"alerts-{digest(parent)}", where=rules[0].where)
            found[name] = (step, TopicOutput(topic), name, rules[0].where)
        return list(found.values())

    def _watched(self, node: Node, outputs: Sequence[_Output], where: str) -> Node:
        """Return whose rows the rules see: where they must come by way of a topic, by one that is written anyway."""
        if unchained(node, alone=True) is None:
            return node
        for other, output, name, _ in outputs:
            if other is node and node.updates and output == TopicOutput(name, getattr(output, "partitions", None)):
                return self._through(node, name, where, output.partitions)
        return self.settled(node, where, alone=True)

    def internal(self, step: str, kind: str) -> str:
        """Return the topic between a step and the next; each version of a program has its own."""
        version = "" if self.version == "1" else f".{self.version}"
        return check_topic_name(f"{self.name}{version}.{step}.{kind}")

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Return the stages of the program as it is declared by now."""
        if not self._outputs and not self._alerts:
            raise PlanError(f"the program {self.name!r} has no output; end a stream with .to(topic) or .sink(…)")
        return cut([*self._outputs, *self._alerting(self._outputs, self._alerts)])
