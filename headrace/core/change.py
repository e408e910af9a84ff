"""Changes of tables."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Delete:
    """The row of this key is gone; in a topic a tombstone says so.

    Attributes:
        key: The value of the key column, or a dict where the key has several.
    """

    key: Any
