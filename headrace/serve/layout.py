"""How rows lie in a store: what a store needs to know of them."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from headrace.core.schema import shown

ROWS = '"headrace rows"'  # no topic has a space in its name, so no view of a topic is called like a table of ours
KEY = '"headrace key"'
UNFIT = (ValueError, TypeError, ArithmeticError, RecursionError)
"""What is raised by a value that is no row."""


class Layout(Protocol):
    """What a store needs to know of its rows."""

    @property
    def facts(self) -> dict[str, str]:
        """Return what makes it this layout, for a store to remember."""
        ...

    @property
    def definitions(self) -> Mapping[str, str]:
        """Return the columns beside the key, quoted, with their types in SQLite."""
        ...

    @property
    def indexed(self) -> Sequence[str]:
        """Return the columns that rows are looked up by, if that is not the event's key itself."""
        ...

    @property
    def listed(self) -> str:
        """Return what a ``select *`` of the user's shows."""
        ...

    @property
    def whole(self) -> str:
        """Return what to select for `unpack`."""
        ...

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        ...

    def fit(self, value: bytes) -> tuple[Any, ...]:
        """Return what is kept of a row, or raise one of the errors in `UNFIT`."""
        ...

    def unpack(self, row: Sequence[Any]) -> dict[str, Any]:
        """Return a row as the user knows it."""
        ...

    def key(self, key: Any) -> tuple[str, Sequence[Any]]:
        """Return the condition that finds the row of a key, and its parameters."""
        ...

    def order(self, *bounds: Any) -> tuple[str, Sequence[Any]]:
        """Return what rows are ordered by, and bounds in the same terms."""
        ...


def as_object(value: Any) -> dict[str, Any]:
    """Return ``value`` if it is a JSON object, which a row is."""
    if not isinstance(value, dict):
        raise ValueError(f"the value is {shown(value)}, not an object")
    return value


def key_text(data: bytes) -> str | bytes:
    """Return an event's key as text, or as it is if it is none."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def quoted(name: str) -> str:
    """Return a name as SQLite takes any."""
    return '"' + name.replace('"', '""') + '"'
