"""Steps that look at one row, or one batch of rows, at a time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from headrace.core.errors import PlanError
from headrace.core.schema import UNKNOWN, Schema
from headrace.plan.expressions import Expression, columns
from headrace.plan.node import Node, known_columns


@dataclass(frozen=True)
class Filter(Node):
    """Keep the rows for which ``condition`` is true; those for which it is null go too."""

    parent: Node
    condition: Expression

    def __post_init__(self) -> None:
        if self.condition.type not in ("BOOLEAN", UNKNOWN):
            raise PlanError(f"filter {self.condition.sql!r} is of type {self.condition.type}, not true or false")

    @property
    def label(self) -> str:
        return f"filter {self.condition.sql}"


@dataclass(frozen=True)
class Project(Node):
    """Replace the columns by ``columns``; the rows' time stays with them."""

    parent: Node
    columns: tuple[tuple[str, Expression], ...]
    keys: tuple[str, ...] = ()
    verb: str = "select"

    def __post_init__(self) -> None:
        _ = self.schema

    @cached_property
    def schema(self) -> Schema:
        return Schema((name, expression.type) for name, expression in self.columns)

    @property
    def key(self) -> tuple[str, ...]:
        return self.keys

    @property
    def label(self) -> str:
        told = ", ".join(name if name == e.sql else f"{e.sql} as {name}" for name, e in self.columns)
        return f"select {told}" if self.verb == "select" else f"{self.verb}: {told}"


@dataclass(frozen=True)
class Explode(Node):
    """One row for each element of an array column, in the column's place under the name ``alias``.

    Rows whose array is empty or null vanish.
    """

    parent: Node
    column: str
    alias: str

    def __post_init__(self) -> None:
        known_columns(self.parent.schema, (self.column,), "explode")
        kind = self.parent.schema[self.column]
        if kind != UNKNOWN and not kind.startswith("ARRAY"):
            raise PlanError(f"explode({self.column!r}): the column is of type {kind}, not an array")
        _ = self.schema

    @cached_property
    def schema(self) -> Schema:
        kind = self.parent.schema[self.column]
        element = kind.removeprefix("ARRAY<").removesuffix(">") if kind.startswith("ARRAY<") else UNKNOWN
        return Schema(
            (self.alias, element) if name == self.column else (name, kind) for name, kind in self.parent.schema.items()
        )

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(self.alias if name == self.column else name for name in self.parent.key)

    @property
    def label(self) -> str:
        return f"explode {self.column} as {self.alias}"


@dataclass(frozen=True)
class MapPython(Node):
    """Rows through a Python function: single dicts, or whole Arrow batches where ``batches`` says so.

    What a function gives back for a batch need not match it row by row, so the rows have no time any more.
    """

    parent: Node
    function: Callable[..., Any] = field(compare=False)
    result: Schema
    batches: bool = False
    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise PlanError(f"{self.verb} needs a function, not {self.function!r}")
        if self.parent.updates:
            raise PlanError(f"{self.verb} works on streams; this is a table whose rows change. Use emit='final'")
        known_columns(self.result, self.keys, "key")

    @property
    def verb(self) -> str:
        """Return the method by which it was declared."""
        return "map_batches" if self.batches else "map"

    @property
    def name(self) -> str:
        """Return the function's name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    @cached_property
    def schema(self) -> Schema:
        return self.result

    @property
    def key(self) -> tuple[str, ...]:
        return self.keys

    @property
    def timed(self) -> bool:
        return self.parent.timed and not self.batches

    @property
    def label(self) -> str:
        return f"{self.verb} {self.name}(…)"


@dataclass(frozen=True)
class KeyBy(Node):
    """Say under which columns' values rows are written from here on."""

    parent: Node
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        known_columns(self.parent.schema, self.columns, "key_by")

    @property
    def key(self) -> tuple[str, ...]:
        return self.columns

    @property
    def label(self) -> str:
        return f"key by {', '.join(self.columns)}"


@dataclass(frozen=True)
class Merge(Node):
    """The rows of several streams with the same columns, as they come."""

    inputs: tuple[Node, ...]

    def __post_init__(self) -> None:
        first = self.inputs[0]
        for other in self.inputs[1:]:
            if set(map(str.lower, other.schema)) != set(map(str.lower, first.schema)):
                raise PlanError(
                    f"merge needs the same columns on all sides; one has {columns(first.schema)}, "
                    f"another {columns(other.schema)}. Bring them in line with select(…)"
                )
            for name, kind in first.schema.items():
                another = other.schema[str(other.schema.find(name))]
                if UNKNOWN not in (kind, another) and kind != another:
                    raise PlanError(
                        f"merge needs the same types on all sides; {name!r} is {kind} on one and {another} on another. "
                        f"Bring them in line: with_columns({name}='cast({name} as …)')"
                    )
            if other.timed != first.timed:
                raise PlanError("merge needs an event time on all sides or on none")
        if any(node.updates for node in self.inputs):
            raise PlanError("merge works on streams, not on tables whose rows change")

    @property
    def parents(self) -> tuple[Node, ...]:
        return self.inputs

    @property
    def key(self) -> tuple[str, ...]:
        return self.inputs[0].key

    @property
    def label(self) -> str:
        return f"merge {len(self.inputs)} streams"
