"""What programs must come to, counted from what was sent, in the plainest way."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Self

from examples.retail.simulator.sent import RESERVATIONS, SUPPLIES, TILLS, Sent, Value
from examples.retail.simulator.shops import WEB

LIMIT = 30_000  # cents of a refund that is looked at
WITHIN = timedelta(minutes=10)  # in which nobody travels to another city


class Truth:
    """Totals of all that was sent, every invoice once.

    Example:
        >>> from itertools import islice
        >>> Truth().add(islice(simulate(), 100)).invoices  # doctest: +SKIP
    """

    def __init__(self) -> None:
        self.invoices = self.copies = self.broken = 0
        self.cents: Counter[str] = Counter()  # by shop
        self.stock: Counter[tuple[str, str]] = Counter()  # by shop and product
        self.points: Counter[str] = Counter()  # by loyalty card
        self.deliveries: dict[str, datetime] = {}  # by invoice
        self.reservations: dict[str, datetime] = {}
        self.refunds: set[str] = set()
        self._uses: dict[str, list[tuple[datetime, str]]] = defaultdict(list)

    def add(self, events: Iterable[Sent]) -> Self:
        """Count events."""
        for event in events:
            if event.copy:
                self.copies += 1
            elif isinstance(event.value, bytes):
                self.broken += 1
            elif event.value is not None:
                self._add(event, event.value)
        return self

    def _add(self, event: Sent, value: Value) -> None:
        if event.topic == SUPPLIES:
            self.stock[value["shop"], value["product"]] += value["units"]
        elif event.topic == RESERVATIONS:
            self.reservations[value["invoice"]] = value["at"]
        elif event.topic == TILLS and event.happened is not None:
            self._invoice(value, event.happened)

    def _invoice(self, invoice: Value, at: datetime) -> None:
        self.invoices += 1
        self.cents[invoice["shop"]] += invoice["cents"]
        for line in invoice["lines"]:
            self.stock[invoice["shop"], line["product"]] -= line["units"]
        if invoice["loyalty"]:
            self.points[invoice["loyalty"]] += points(invoice["cents"])
        if invoice["delivery"]:
            self.deliveries[invoice["invoice"]] = at
        if invoice["cents"] <= -LIMIT:
            self.refunds.add(invoice["invoice"])
        if invoice["card"] and invoice["shop"] != WEB:
            self._uses[invoice["card"]].append((at, invoice["city"]))

    @property
    def stolen(self) -> set[str]:
        """Return the cards that were used in two cities within minutes."""
        return {card for card, uses in self._uses.items() if _far(uses)}


def points(cents: int) -> int:
    """Return the points of an invoice: one for each whole euro, and back for what is returned."""
    return cents // 100 if cents >= 0 else -(-cents // 100)


def _far(uses: list[tuple[datetime, str]]) -> bool:
    ordered = sorted(uses)
    return any(
        a[1] != b[1] and b[0] - a[0] <= WITHIN for number, a in enumerate(ordered) for b in ordered[number + 1 :]
    )
