"""What is sent, and where to."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

TILLS = "till-invoices"  # what tills send: duplicates, late ones, wrong clocks
SUPPLIES = "supplies"
RESERVATIONS = "reservations"
SHOPS = "shops-open"  # a table: a shop is in it while it is open, and says so every now and then
Value = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
    """One event on its way.

    Attributes:
        due: When it is sent, by a clock that is right.
        topic: Where to.
        key: The shop, or the invoice that a reservation is for.
        value: None deletes the row of the key; bytes are what a broken till sends.
        copy: Whether the same was sent before.
        happened: When, by a clock that is right.
    """

    due: datetime
    topic: str
    key: str
    value: Value | bytes | None
    copy: bool = False
    happened: datetime | None = None

    def sent_at(self, now: datetime, patience: timedelta) -> "Sent":
        """Return the same event as it is when it is sent now, and not when it was due.

        A till that had to wait stamps what it sends when it sends it: so a past that is sent today stays in the past.
        """
        late = now - self.due
        if abs(late) <= patience or not isinstance(self.value, dict) or "sent_at" not in self.value:
            return self
        return replace(self, due=now, value=self.value | {"sent_at": self.value["sent_at"] + late})
