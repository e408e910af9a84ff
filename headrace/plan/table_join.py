"""Joins with tables as plan nodes: streams that look rows up, and tables that are kept joined."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from sqlglot import exp

from headrace.core.errors import PlanError
from headrace.plan.expressions import parse
from headrace.plan.join import Matched
from headrace.plan.node import Node
from headrace.plan.source import Source
from headrace.plan.windows import show_span

AsOf = Literal["event_time", "latest"]


@dataclass(frozen=True)
class Enrich(Matched):
    """Rows of a stream with the row of a table that has their key: the one that held at their time, or the latest.

    Each row of the stream comes out once. Changes of the table make no rows.

    Attributes:
        as_of: ``event_time`` for the version that held when the event happened, ``latest`` for the newest.
        grace: How long a row waits, after its time, for versions that come late.
    """

    as_of: AsOf = "event_time"
    grace: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        self._check_how("inner", "left")
        if self.as_of not in ("event_time", "latest"):
            raise PlanError(f"as_of must be 'event_time' or 'latest', not {self.as_of!r}")
        if self.as_of == "event_time" and not self.left.timed:
            raise PlanError(
                f"as_of='event_time' needs to know when events of {self.names[0]!r} happened; declare the stream with "
                "event_time='column', or use as_of='latest'"
            )
        if self.grace < timedelta(0):
            raise PlanError("grace must not be below 0")
        if self.grace and self.as_of == "latest":
            raise PlanError("grace= waits for versions of a time; as_of='latest' has none. Leave grace away")
        check_primary(self)
        _ = self.schema

    @property
    def history(self) -> timedelta:
        """Return how long versions are kept."""
        return max((node.history for node in self.right.walk() if isinstance(node, Source)), default=timedelta(0))

    @property
    def remembers(self) -> str:
        if self.as_of == "latest":
            return "the latest row per key of the table"
        waiting = f", and rows for {show_span(self.grace)}" if self.grace else ""
        return f"the table's rows, and those replaced for {show_span(self.history)}{waiting}"

    @property
    def timed(self) -> bool:
        return self.left.timed

    @property
    def paged(self) -> bool:
        return True

    @property
    def updates(self) -> bool:
        return False

    @property
    def label(self) -> str:
        held = "as of their time" if self.as_of == "event_time" else "as it is"
        waits = f", waiting {show_span(self.grace)}" if self.grace else ""
        return f"{self.told}, {held}{waits}"


@dataclass(frozen=True)
class TableJoin(Matched):
    """Two tables side by side: a table that is right after every change of either.

    Its key is the left table's, where each left row has one partner at most; otherwise both tables' keys. Where tables
    are joined by their keys, the left one's columns have the key even of rows that only the right one has.
    """

    def __post_init__(self) -> None:
        self._check_how("inner", "left", "right", "full")
        _ = self.schema
        if missing := [name for name in self.key if name not in self.schema]:
            raise PlanError(f"the joined table needs its key column {missing[0]!r}")

    @property
    def by_primary(self) -> bool:
        """Whether rows of both tables are joined by their keys."""
        return _is_key(self.left, [pair.left for pair in self.on]) and _is_key(
            self.right, [pair.right for pair in self.on]
        )

    @property
    def unique(self) -> bool:
        """Whether a left row has one partner at most, and no right row comes out alone."""
        return _is_key(self.right, [pair.right for pair in self.on]) and self.how in ("inner", "left")

    @property
    def key(self) -> tuple[str, ...]:
        if self.by_primary or self.unique:
            return self.left.key
        shared = {pair.shared for pair in self.on}
        right = (name if name in shared else self.right_columns[name] for name in self.right.key)
        return tuple(dict.fromkeys((*self.left.key, *right)))

    @property
    def remembers(self) -> str:
        return "the latest rows of both tables"

    @property
    def timed(self) -> bool:
        return False

    @property
    def paged(self) -> bool:
        return not self.by_primary

    @property
    def updates(self) -> bool:
        return True

    @property
    def label(self) -> str:
        return self.told


def check_primary(node: Matched) -> None:
    """Refuse to look rows up by anything but the table's key."""
    if not _is_key(node.right, [pair.right for pair in node.on]):
        raise PlanError(
            f"a stream looks rows of a table up by the table's key, {', '.join(node.right.key)}; "
            f"on= compares {', '.join(pair.right for pair in node.on)}. Make a table by that column first: "
            "app.stream(topic, …).to_table(column)"
        )


def _is_key(table: Node, expressions: list[str]) -> bool:
    """Whether some expressions are just the columns of a table's key."""
    trees = [parse(text, "on=") for text in expressions]
    names = [tree.name.lower() for tree in trees if isinstance(tree, exp.Column)]
    return len(names) == len(trees) and sorted(names) == sorted(name.lower() for name in table.key)
