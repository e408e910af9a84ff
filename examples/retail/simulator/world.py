"""The world as one generator: the same seed, the same beginning and the same rates give the same events.

Shops are cut off for 150 seconds at most, which is less than the five minutes for which shipment waits: what comes
later lies in its ledger, and tests could not compare shipments with what was sold.
"""

import random
from bisect import bisect
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate

from examples.retail.simulator.agenda import Agenda
from examples.retail.simulator.customers import Customers
from examples.retail.simulator.history import History
from examples.retail.simulator.lorries import Lorries
from examples.retail.simulator.sent import SHOPS as OPEN
from examples.retail.simulator.sent import Sent
from examples.retail.simulator.shops import SHOPS, WEB, WEB_SHARE
from examples.retail.simulator.stock import Stock
from examples.retail.simulator.tills import Tills

BEGIN = datetime(2024, 5, 1, 10, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_OUTAGE_EVERY = 240.0  # seconds, on average
_OUTAGE = (100, 150)  # seconds, from and to; with what is sent late besides, less than the lateness of shipment
_SIGN = 20 * _SECOND  # between two signs of life of an open shop


class World:
    """99 shops and a web shop, from a moment on.

    Args:
        seed: Of all chance in it.
        begin: When it begins.

    Example:
        >>> world = World(1, BEGIN)
        >>> sent = world.advance(BEGIN + timedelta(seconds=10), rate=50)
    """

    def __init__(self, seed: int = 1, begin: datetime = BEGIN) -> None:
        self._chance = chance = random.Random(seed)
        self._begin = begin
        self._agenda = Agenda(begin)
        self.tills = Tills(chance, begin)
        stock = Stock(chance)
        self._lorries = Lorries(chance, self._agenda, stock)
        self._customers = Customers(
            chance, self._agenda, stock=stock, lorries=self._lorries, tills=self.tills, choose=self._choose
        )
        self._rate, self._arrival = 0.0, begin
        self._open: set[str] = set()
        self._look(begin)
        self._plan_outage(begin)
        for number in range(len(SHOPS)):
            self._agenda.at(begin + number * _SIGN / len(SHOPS), partial(self._sign, number))

    def history(self, span: timedelta, rate: float) -> list[Sent]:
        """Return what the shops sold before the beginning, thinly, with the supplies that it was sold from."""
        return History(self._chance, self.tills, self._begin).events(span, rate)

    @property
    def now(self) -> datetime:
        """Return how far it has advanced."""
        return self._agenda.now

    def advance(self, until: datetime, rate: float) -> list[Sent]:
        """Let time go on, with ``rate`` invoices per second; return what is sent meanwhile, in its order.

        It makes no difference in how many steps a time is passed.
        """
        agenda = self._agenda
        self._lorries.make_ready(rate)
        self._turn(rate)
        while True:
            if rate and self._arrival <= until and self._arrival < agenda.next:
                agenda.now = self._arrival
                self._customers.come(self._arrival)
                self._arrival += self._chance.expovariate(rate) * _SECOND
            elif agenda.next <= until:
                agenda.act()
            else:
                break
        agenda.now = until
        return agenda.sent(until)

    def close(self) -> list[Sent]:
        """Return what shops send when all close: nobody shall wait for their signs."""
        return [Sent(self.now, OPEN, shop, None) for shop in sorted(self._open)]

    def _turn(self, rate: float) -> None:
        """Have customers come more often, or less: who is under way comes sooner, or later."""
        if rate == self._rate:
            return
        if rate:
            wait = (self._arrival - self.now) * (self._rate / rate) if self._rate else self._wait(rate)
            self._arrival = self.now + wait
        self._rate = rate

    def _wait(self, rate: float) -> timedelta:
        return self._chance.expovariate(rate) * _SECOND

    def _look(self, at: datetime) -> None:
        """See which shops are open, and how busy they are: at first, and on every full minute, when they close."""
        self._busy = list(accumulate(shop.busy(at) for shop in SHOPS if shop.id != WEB))
        self._agenda.at(at.replace(second=0, microsecond=0) + 60 * _SECOND, self._look)

    def _choose(self) -> int:
        """Return the number of a shop that is open, the busiest ones most often."""
        if self._chance.random() < WEB_SHARE:
            return len(SHOPS) - 1
        return bisect(self._busy, self._chance.random() * self._busy[-1])

    def _sign(self, number: int, at: datetime) -> None:
        """Let a shop tell that it is open, or that it has closed."""
        shop = SHOPS[number]
        if shop.is_open(at):
            self._open.add(shop.id)
            if not self.tills.is_cut_off(shop.id, at):
                self._agenda.send(Sent(at, OPEN, shop.id, {"shop": shop.id, "city": shop.city, "at": at}))
        elif shop.id in self._open:
            self._open.remove(shop.id)
            self._agenda.send(Sent(at, OPEN, shop.id, None))
        self._agenda.at(at + _SIGN, partial(self._sign, number))

    def _plan_outage(self, at: datetime) -> None:
        self._agenda.at(at + self._chance.expovariate(1 / _OUTAGE_EVERY) * _SECOND, self._cut_off)

    def _cut_off(self, at: datetime) -> None:
        shop = SHOPS[self._choose()]
        if shop.id != WEB and not self.tills.is_cut_off(shop.id, at):
            self.tills.cut_off(shop.id, at, at + self._chance.uniform(*_OUTAGE) * _SECOND)
        self._plan_outage(at)


def simulate(
    seed: int = 1, *, rate: float = 50.0, begin: datetime = BEGIN, history: timedelta = timedelta(0)
) -> Iterator[Sent]:
    """Yield what is sent, without end: first the history, then what happens from ``begin`` on.

    Example:
        >>> first = next(simulate(seed=1))
    """
    world = World(seed, begin)
    if history:
        yield from world.history(history, rate)
    while True:
        yield from world.advance(world.now + _SECOND, rate)
