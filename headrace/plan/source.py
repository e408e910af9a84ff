"""Where rows come from: topics, and topics between the stages of a program."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Literal

from headrace.core.errors import PlanError
from headrace.core.schema import UNKNOWN, Schema
from headrace.plan.expressions import Expression, expression
from headrace.plan.node import Node, known_columns
from headrace.plan.windows import show_span

Clock = Literal["event", "append", "processing"]
Start = Literal["earliest", "latest"]
TEXT = Schema([("value", "STRING")])
RAW = Schema([("value", "BINARY")])
_TIMES = ("TIMESTAMP", "TIMESTAMPLTZ", "TIMESTAMPTZ", UNKNOWN)


@dataclass(frozen=True)
class Source(Node):
    """Events of a topic.

    Attributes:
        topic: Its name.
        columns: What a value holds.
        format: ``json``, ``text`` (one column ``value``) or ``raw`` (the same as bytes).
        keys: The columns that are the event's key.
        clock: Which of an event's three times counts, or None where none was declared.
        time: The event time as an expression of the columns, where that clock was chosen.
        lateness: How far behind the newest event another may come and still count.
        idle: After how long without events time goes on by itself; None for never.
        start: Where a program that never ran begins.
        table: Whether an event is the latest row of its key, and one without a value deletes it.
        envelope: Whether the values are changes, with the row before and after.
        history: How long the versions of a table's row can be asked for.
        correction: How a wrong clock is put right.
    """

    topic: str
    columns: Schema
    format: str = "json"
    keys: tuple[str, ...] = ()
    clock: Clock | None = None
    time: Expression | None = None
    lateness: timedelta = timedelta(0)
    idle: timedelta | None = None
    start: Start = "earliest"
    table: bool = False
    envelope: bool = False
    history: timedelta = timedelta(0)
    correction: "Correction | None" = None

    def __post_init__(self) -> None:
        known_columns(self.columns, self.keys, "key")
        if self.time is not None and self.time.type not in _TIMES:
            raise PlanError(
                f"event_time {self.time.sql!r} is of type {self.time.type}, not timestamp; declare the column as "
                "timestamp, or convert it: event_time='timestamp_millis(ts)' or 'timestamp_seconds(ts)'"
            )
        if self.lateness < timedelta(0):
            raise PlanError("lateness must not be below 0")
        if self.table and not self.keys:
            raise PlanError("a table needs key=: the column, or columns, whose values tell its rows apart")
        if self.idle is not None and self.idle <= timedelta(0):
            raise PlanError("idle must be above 0; leave it away for never")

    @cached_property
    def schema(self) -> Schema:
        return self.columns

    @property
    def key(self) -> tuple[str, ...]:
        return self.keys

    @property
    def timed(self) -> bool:
        return self.clock is not None and not self.table

    @property
    def updates(self) -> bool:
        return self.table

    @property
    def label(self) -> str:
        clock = {"event": f"event time {self.time.sql if self.time else ''}", "append": "log-append time"}
        told = [self.format]
        if self.clock:
            told.append(clock.get(self.clock, f"{self.clock} time"))
            told.append(f"lateness {show_span(self.lateness)}")
        if self.correction:
            told.append(f"clock corrected by {self.correction.sent} and {self.correction.received or 'append time'}")
        return f"{'table' if self.table else 'topic'} {self.topic} ({', '.join(told)})"


@dataclass(frozen=True)
class Correction:
    """How a device's clock is put right: it is wrong by as much as its sending time differs from the receipt.

    Attributes:
        event: The column with the time by the device's clock; it gets the corrected one.
        sent: The column with the time of sending by the same clock.
        received: The column with the time of receipt by a clock that is right; None for the log's own.
        max_skew: The most by which a clock may be wrong.
    """

    event: str
    sent: str
    received: str | None
    max_skew: timedelta


@dataclass(frozen=True)
class Through(Node):
    """Rows written to a topic and read again: one stage ends here and another begins.

    Attributes:
        parent: Whose rows.
        topic: The topic.
        partitions: Of the topic, if it must be created.
    """

    parent: Node
    topic: str
    partitions: int | None = None

    def __post_init__(self) -> None:
        check_partitions(self.partitions)

    @property
    def label(self) -> str:
        return f"through topic {self.topic}"


def within(node: Node) -> Iterator[Node]:
    """Yield the nodes of a stage: a topic between stages is its first, what lies behind is another's."""
    return node.walk(past=lambda step: not isinstance(step, Through))


def check_partitions(given: object) -> None:
    """Refuse what is no number of partitions."""
    if given is not None and (not isinstance(given, int) or isinstance(given, bool) or given < 1):
        raise PlanError(f"partitions must be a whole number above 0, not {given!r}")


def event_time(given: object, schema: Schema) -> Expression:
    """Check the expression that tells an event's time."""
    return expression(given, schema, "event_time")
