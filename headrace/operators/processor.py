"""What users subclass for operators of their own."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

Row = dict[str, Any]


@dataclass(slots=True)
class Key:
    """A key under process.

    Attributes:
        value: The value of the column that rows were grouped by; a tuple where they were several.
        state: What `Processor` keeps of it: None at first, and to forget it; made of numbers, texts, bytes, booleans,
            datetimes, lists and dicts.
        now: The time: no event before it is expected, or what the clock says.
    """

    value: Any
    state: Any
    now: datetime
    due: datetime | None = None

    def wake(self, at: datetime | timedelta | None) -> None:
        """Have `on_timer` called at a time, or after a while, instead of when it was asked before; None for never."""
        self.due = self.now + at if isinstance(at, timedelta) else at


class Processor:
    """Logic with a state for each key; subclass it, and give an instance to `Grouped.process`.

    It is sent to Spark's workers, so it should not hold connections or locks, and must keep nothing in itself: what is
    to be remembered belongs into `Key.state`, which is kept exactly once with the query.
    """

    def on_rows(self, key: Key, rows: list[Row]) -> Iterable[Row] | None:
        """Take the rows of a batch, in the order of their time, and return rows, or none."""
        raise NotImplementedError

    def on_timer(self, key: Key) -> Iterable[Row] | None:
        """Do what was to be done at the time that `Key.wake` asked for."""
        return None
