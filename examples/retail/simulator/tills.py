"""How invoices leave a shop: numbered, stamped by the till's own clock, sometimes late, sometimes twice."""

import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

from examples.retail.simulator.sent import TILLS, Sent, Value
from examples.retail.simulator.shops import SHOPS, WEB

_WRONG_CLOCKS, _SLOW = 0.03, 0.02  # of all tills
_WORST_CLOCK = 45 * 60  # seconds
_TWICE = 0.01  # of all invoices
_BROKEN = 1 / 50_000
_BURST = 100  # times as fast as they were made, invoices are sent after an outage
_SECOND = timedelta(seconds=1)


class Tills:
    """All tills of all shops."""

    def __init__(self, chance: random.Random, begin: datetime) -> None:
        self._chance = chance
        self._run = f"{begin:%y%m%d%H%M%S}"  # so that no two runs of the simulator use a number twice
        self._numbers: Counter[tuple[str, int]] = Counter()
        tills = [(shop.id, till) for shop in SHOPS for till in range(1, shop.tills + 1) if shop.id != WEB]
        wrong = chance.sample(tills, round(_WRONG_CLOCKS * len(tills)))
        self.ahead = {till: round(chance.uniform(-_WORST_CLOCK, _WORST_CLOCK)) * _SECOND for till in wrong}
        self._slow = set(chance.sample(tills, round(_SLOW * len(tills))))
        self._outages: dict[str, tuple[datetime, datetime]] = {}

    def number(self, shop: str, till: int) -> str:
        """Return the number of a till's next invoice."""
        self._numbers[shop, till] += 1
        return f"{shop}-{till}-{self._run}-{self._numbers[shop, till]:05}"

    def cut_off(self, shop: str, begin: datetime, end: datetime) -> None:
        """Let a shop send nothing for a while."""
        self._outages[shop] = (begin, end)

    def is_cut_off(self, shop: str, at: datetime) -> bool:
        """Whether a shop can send nothing now."""
        begin, end = self._outages.get(shop, (at, at))
        return begin <= at < end

    def leave(self, invoice: Value, at: datetime) -> Iterator[Sent]:
        """Yield an invoice as it is sent, and once more where the till has not heard that it has arrived."""
        shop, till = invoice["shop"], invoice["till"]
        due = self._due(shop, till, at)
        ahead = self.ahead.get((shop, till), 0 * _SECOND)
        value = invoice | {"at": at + ahead, "sent_at": due + ahead}
        if self._chance.random() < _BROKEN:
            yield Sent(due, TILLS, shop, f'{{"invoice": "{invoice["invoice"]}?", "cents": "many"}}'.encode())
        yield Sent(due, TILLS, shop, value, happened=at)
        if self._chance.random() < _TWICE:
            again = due + self._chance.uniform(1, 40) * _SECOND
            yield Sent(again, TILLS, shop, value, copy=True, happened=at)

    def _due(self, shop: str, till: int, at: datetime) -> datetime:
        if self.is_cut_off(shop, at):
            begin, end = self._outages[shop]
            return end + (at - begin) / _BURST  # in their order, all at once
        if (shop, till) in self._slow:
            return at + self._chance.uniform(2, 30) * _SECOND
        return at
