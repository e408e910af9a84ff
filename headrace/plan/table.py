"""Tables as plan nodes: from rows to the latest of each key, and from tables to their changes."""

from dataclasses import dataclass
from functools import cached_property

from headrace.core.errors import PlanError
from headrace.core.schema import UNKNOWN, Schema, quote
from headrace.plan.node import Node, known_columns

KEY, OP, BEFORE, AFTER, TS, SOURCE = "key", "op", "before", "after", "ts", "source"
SOURCE_TYPE = "STRUCT<topic: STRING, partition: INT, offset: BIGINT>"


@dataclass(frozen=True)
class AsTable(Node):
    """The latest row of each key; rows without a key cannot be in a table and are dead letters."""

    parent: Node
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        known_columns(self.parent.schema, self.keys, "to_table")
        if not self.keys:
            raise PlanError("to_table() needs the columns that are the table's key, such as to_table('customer')")
        if self.parent.updates:
            raise PlanError("to_table() makes a table of a stream; this is a table already")

    @property
    def key(self) -> tuple[str, ...]:
        return self.keys

    @property
    def timed(self) -> bool:
        return False

    @property
    def updates(self) -> bool:
        return True

    @property
    def label(self) -> str:
        return f"table by {', '.join(self.keys)}"


@dataclass(frozen=True)
class Changes(Node):
    """The changes of a table as a stream: key, op, before, after, ts, source.

    Attributes:
        parent: The table.
        before: Whether to remember each row, to tell what it was before. Otherwise it is null, and every change that is
            no deletion an update.
        step: The name under which the rows are remembered.
    """

    parent: Node
    before: bool
    step: str = ""

    def __post_init__(self) -> None:
        if not self.parent.updates:
            raise PlanError("changes() tells the changes of a table; the rows of a stream do not change")

    @cached_property
    def schema(self) -> Schema:
        image = row_type(self.parent.schema)
        key = [self.parent.schema[name] for name in self.parent.key]
        kind = key[0] if len(key) == 1 else row_type({name: self.parent.schema[name] for name in self.parent.key})
        columns = [(KEY, kind), (OP, "STRING"), (BEFORE, image), (AFTER, image)]
        return Schema([*columns, (TS, "TIMESTAMP"), (SOURCE, SOURCE_TYPE)])

    @property
    def key(self) -> tuple[str, ...]:
        return (KEY,)

    @property
    def timed(self) -> bool:
        return False

    @property
    def stateful(self) -> bool:
        return self.before

    @property
    def remembers(self) -> str:
        return "the latest row per key"

    @property
    def paged(self) -> bool:
        return self.before

    @property
    def updates(self) -> bool:
        return False

    @property
    def label(self) -> str:
        return f"changes of each row{' with what it was before' if self.before else ''}"


@dataclass(frozen=True)
class Weighed(Node):
    """The rows of a table's changes, each with a weight: what a row was counts -1, what it is counts 1."""

    parent: Node
    columns: Schema
    keys: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        return self.columns

    @property
    def key(self) -> tuple[str, ...]:
        return self.keys

    @property
    def label(self) -> str:
        return "rows that came, less those that went"


def row_type(columns: dict[str, str] | Schema) -> str:
    """Return the type of a column that holds a row."""
    if UNKNOWN in columns.values():
        return UNKNOWN
    return f"STRUCT<{', '.join(f'{quote(name)}: {kind}' for name, kind in columns.items())}>"
