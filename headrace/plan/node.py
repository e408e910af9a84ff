"""The base of all plan nodes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Literal

from headrace.core.errors import PlanError
from headrace.core.schema import Schema
from headrace.plan.expressions import unknown

Emit = Literal["updates", "final"]


@dataclass(frozen=True, kw_only=True)
class Node:
    """A step of a program: rows come from its parents and leave with a schema.

    Attributes:
        where: File and line of the user's program that declared the step.
    """

    where: str = field(default="", compare=False, repr=False)

    @property
    def parents(self) -> tuple["Node", ...]:
        """Return the nodes whose rows this one sees."""
        return tuple(value for f in fields(self) if isinstance(value := getattr(self, f.name), Node))

    @cached_property
    def schema(self) -> Schema:
        """Return the columns that rows have after this step."""
        return self.parents[0].schema

    @property
    def key(self) -> tuple[str, ...]:
        """Return the columns under whose values rows lie in a topic."""
        return self.parents[0].key

    @property
    def timed(self) -> bool:
        """Whether rows have a time that windows can use."""
        return all(parent.timed for parent in self.parents)

    @property
    def stateful(self) -> bool:
        """Whether the step remembers earlier rows."""
        return False

    @property
    def remembers(self) -> str:
        """Return what a stateful step keeps, in words."""
        return ""

    @property
    def kept_as(self) -> str:
        """Return what must stay the same while the state is kept, in words."""
        return self.label

    @property
    def paged(self) -> bool:
        """Whether what it remembers is kept by the paged host: such a step has a stage to itself."""
        return False

    @property
    def updates(self) -> bool:
        """Whether a row may be sent again with other values: the rows are changes of a table."""
        return any(parent.updates for parent in self.parents)

    @property
    def label(self) -> str:
        """Return the step in the words of the program."""
        raise NotImplementedError

    def walk(self, past: Callable[["Node"], bool] = lambda node: True) -> Iterator["Node"]:
        """Yield all nodes above this one and then itself, each once, parents first.

        Args:
            past: Whether to go on to the parents of a node.
        """
        seen: set[int] = set()

        def visit(node: Node) -> Iterator[Node]:
            if id(node) not in seen:
                seen.add(id(node))
                for parent in node.parents if past(node) else ():
                    yield from visit(parent)
                yield node

        return visit(self)


def known_columns(schema: Schema, given: tuple[str, ...], noun: str) -> tuple[str, ...]:
    """Return the columns of these names as they were declared, or say which are not there."""
    for name in given:
        if not isinstance(name, str) or schema.find(name) is None:
            raise PlanError(f"{noun} names {unknown(name, schema)}")
    found = tuple(str(schema.find(name)) for name in given)
    if len(set(found)) < len(found):
        raise PlanError(f"{noun} names a column twice: {', '.join(given)}")
    return found
