"""Joins as plan nodes: what they have in common, and those of two streams within a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Literal, get_args

from sqlglot import exp

from headrace.core.errors import PlanError
from headrace.core.schema import Schema
from headrace.plan.expressions import check_columns, parse
from headrace.plan.node import Node
from headrace.plan.windows import show_span

How = Literal["inner", "left", "right", "full", "semi"]


@dataclass(frozen=True)
class Equality:
    """One pair of expressions that must be equal; ``shared`` where both are the same column name."""

    left: str
    right: str
    shared: str | None = None


@dataclass(frozen=True)
class Matched(Node):
    """Rows of two inputs with equal values side by side.

    Attributes:
        left: The rows whose columns come first.
        right: Columns of it that the left has too are called ``<right's name>_<column>``, except shared keys.
        on: What must be equal.
        how: Which rows without a partner come out.
        names: How the sides are called.
        step: The name under which the state is kept.
    """

    left: Node
    right: Node
    on: tuple[Equality, ...]
    how: How = "inner"
    names: tuple[str, str] = ("left", "right")
    step: str = ""

    @cached_property
    def right_columns(self) -> dict[str, str]:
        """Return the right side's columns that come out, with their names there."""
        shared = {pair.shared for pair in self.on}
        taken = {name.lower() for name in self.left.schema}
        kept = [name for name in self.right.schema if name not in shared]
        return {name: f"{self.names[1]}_{name}" if name.lower() in taken else name for name in kept}

    @cached_property
    def schema(self) -> Schema:
        right = ((alias, self.right.schema[name]) for name, alias in self.right_columns.items())
        return self.left.schema if self.how == "semi" else Schema([*self.left.schema.items(), *right])

    @property
    def key(self) -> tuple[str, ...]:
        return self.left.key

    @property
    def stateful(self) -> bool:
        return True

    @property
    def told(self) -> str:
        """Return what is joined, in words."""
        pairs = " and ".join(pair.shared or f"{pair.left} = {pair.right}" for pair in self.on)
        return f"{self.how} join {self.names[0]} with {self.names[1]} on {pairs}"

    def _check_how(self, *possible: str) -> None:
        if self.how not in possible:
            raise PlanError(f"how must be one of {', '.join(possible)}, not {self.how!r}")


@dataclass(frozen=True)
class Join(Matched):
    """Pairs of rows with equal keys whose times are close: ``left - before <= right <= left + after``.

    Every pair comes out once. With an outer join a row without a partner comes out once too, with nulls, when time has
    passed so far that none can come. Rows whose key is null have no partner.

    Attributes:
        before: How far the right row may lie before the left one.
        after: How far it may lie after it.
    """

    before: timedelta = timedelta(0)
    after: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        self._check_how(*get_args(How))
        for side, name in zip((self.left, self.right), self.names, strict=True):
            if not side.timed:
                raise PlanError(
                    f"join needs to know when events of {name!r} happened; declare event_time= or time= on the stream"
                )
            if side.updates:
                raise PlanError(f"{name!r} is a table whose rows change; a join within a time needs streams")
        if self.before + self.after < timedelta(0):
            raise PlanError("before and after leave no time in which a partner could come")
        _ = self.schema

    @property
    def remembers(self) -> str:
        return "both sides until no partner can come"

    @property
    def timed(self) -> bool:
        return self.how != "full"

    @property
    def label(self) -> str:
        return f"{self.told}, from {show_span(self.before)} before to {show_span(self.after)} after"


def equalities(given: str | Sequence[str], left: Node, right: Node, names: tuple[str, str]) -> tuple[Equality, ...]:
    """Read ``on=``: names of columns of both sides, or equalities between the sides."""
    parts = [given] if isinstance(given, str) else list(given if isinstance(given, list | tuple) else ())
    if not parts:
        raise PlanError("join needs on=: a column of both sides, or an equality like on='clicks.ad = ads.id'")
    return tuple(pair for part in parts for pair in _read(part, left, right, names))


def _read(part: str, left: Node, right: Node, names: tuple[str, str]) -> Iterator[Equality]:
    tree = parse(part, "on=")
    for term in tree.flatten() if isinstance(tree, exp.And) else [tree]:
        if isinstance(term, exp.Column) and len(term.parts) == 1:
            yield _shared(term.name, left, right, names)
        elif isinstance(term, exp.EQ):
            yield _pair(term, part, left, right, names)
        else:
            raise PlanError(
                f"on={part!r}: {term.sql('spark')!r} is neither a column of both sides nor an equality; "
                "put other conditions into filter(…)"
            )


def _shared(name: str, left: Node, right: Node, names: tuple[str, str]) -> Equality:
    for node, side in zip((left, right), names, strict=True):
        if node.schema.find(name) is None:
            raise PlanError(f"on={name!r}: {side!r} has no column {name!r}; write on='a = b' where the names differ")
    found = left.schema.find(name)
    return Equality(name, name, found if right.schema.find(name) == found else None)


def _pair(term: exp.EQ, part: str, left: Node, right: Node, names: tuple[str, str]) -> Equality:
    first, second = (_side(side, part, left, right, names) for side in (term.this, term.expression))
    if first[0] == second[0]:
        raise PlanError(
            f"on={part!r}: both sides of '{term.sql('spark')}' are columns of {names[first[0]]!r}; "
            "an equality needs one of each stream"
        )
    sides = dict((first, second))
    return Equality(sides[0], sides[1])


def _side(tree: exp.Expr, part: str, left: Node, right: Node, names: tuple[str, str]) -> tuple[int, str]:
    """Return to which side an expression belongs, and its text in terms of that side alone."""
    others = ((name, kind) for name, kind in right.schema.items() if left.schema.find(name) is None)
    both = Schema([*left.schema.items(), *others])
    check_columns(tree, both, "on=", part, dict(zip(names, (left.schema, right.schema), strict=True)))
    sides = set()
    for column in tree.find_all(exp.Column):
        sides.add(_owner(column, part, left, right, names))
    if len(sides) != 1:
        raise PlanError(f"on={part!r}: {tree.sql('spark')!r} must use columns of one side")
    lowered = [name.lower() for name in names]
    bare = tree.transform(
        lambda node: (
            exp.column(node.name, quoted=True)
            if isinstance(node, exp.Column) and node.table.lower() in lowered
            else node
        )
    )
    return sides.pop(), bare.sql("spark")


def _owner(column: exp.Column, part: str, left: Node, right: Node, names: tuple[str, str]) -> int:
    lowered = [name.lower() for name in names]
    if column.table and column.table.lower() in lowered:
        if lowered[0] == lowered[1]:
            raise PlanError(f"on={part!r}: both sides are called {names[0]!r}; rename the columns of one first")
        return lowered.index(column.table.lower())
    name = column.parts[0].name
    owners = [number for number, node in enumerate((left, right)) if node.schema.find(name)]
    if len(owners) > 1:
        raise PlanError(f"on={part!r}: both sides have {name!r}; write {names[0]}.{name} or {names[1]}.{name}")
    return owners[0]
