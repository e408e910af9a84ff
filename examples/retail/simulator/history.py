"""The past, thinly: one invoice of a shop for all that it sold in a minute.

It is there to compare the present with, so it has every minute of the last hour, which will be an hour ago, every
minute of the hour that will be a day ago, and each quarter of the rest.
"""

import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

from examples.retail.simulator.catalogue import PRODUCTS
from examples.retail.simulator.sent import SUPPLIES, TILLS, Sent, Value
from examples.retail.simulator.shops import SHOPS, WEB, WEB_SHARE, Shop
from examples.retail.simulator.tills import Tills

SLICE = timedelta(minutes=2)  # of the past that may be sent in any order
_MINUTE, _DAY = timedelta(minutes=1), timedelta(days=1)
_DENSE, _BEFORE = timedelta(minutes=65), timedelta(minutes=5)  # of the hours that are there whole
_THIN = 15  # minutes
_ON_THE_WAY = timedelta(seconds=5)  # clocks are corrected by as much; nothing may slip into the next minute
_LINES = 8
AVERAGE = 1500  # cents of an invoice
_PLAIN = [product for product in PRODUCTS if product.cents < 2_000]


class History:
    """What was sold before ``end``."""

    def __init__(self, chance: random.Random, tills: Tills, end: datetime) -> None:
        self._chance, self._tills = chance, tills
        self._end = end
        self._units: Counter[tuple[str, str]] = Counter()

    def events(self, span: timedelta, rate: float) -> list[Sent]:
        """Return supplies of all that was sold, and then the invoices by time; all is sent at the end of the past."""
        sold = sorted(self._sold(self._end - span, rate), key=lambda event: event.happened or event.due)
        begin = self._end - span
        supplies = [
            Sent(self._end, SUPPLIES, shop, {"shop": shop, "product": product, "units": units, "at": begin})
            for (shop, product), units in self._units.items()
        ]
        return supplies + sold

    def _sold(self, begin: datetime, rate: float) -> Iterator[Sent]:
        minute = begin.replace(second=0, microsecond=0) + _MINUTE
        while minute < self._end:
            if self._wanted(minute):
                passed = min(_MINUTE, self._end - minute)  # less in the minute in which the present begins
                for shop, part in _parts(minute):
                    at = minute + self._chance.random() * min(passed, _MINUTE - _ON_THE_WAY)
                    invoices = part * rate * passed.total_seconds()
                    yield Sent(self._end, TILLS, shop.id, self._invoice(shop, invoices, at), happened=at)
            minute += _MINUTE

    def _wanted(self, minute: datetime) -> bool:
        ago = self._end - minute
        return ago <= _DENSE or -_BEFORE <= _DAY - ago <= _DENSE or minute.minute % _THIN == 0

    def _invoice(self, shop: Shop, invoices: float, at: datetime) -> Value:
        some = self._chance.choices(_PLAIN, weights=[product.share for product in _PLAIN], k=_LINES)
        things = dict.fromkeys(some)
        worth = invoices * AVERAGE * self._chance.uniform(0.9, 1.1) / len(things)
        units = {product: max(1, round(worth / product.cents)) for product in things}
        self._units.update({(shop.id, product.id): number for product, number in units.items()})
        lines = [{"product": p.id, "name": p.name, "units": n, "cents": n * p.cents} for p, n in units.items()]
        cents = sum(n * p.cents for p, n in units.items())
        head = {"invoice": self._tills.number(shop.id, 0), "shop": shop.id, "city": shop.city, "till": 0}
        nobody = {"loyalty": None, "card": None, "delivery": None, "refund_of": None}
        return {**head, "kind": "sale", "lines": lines, "cents": cents, **nobody, "at": at, "sent_at": self._end}


def _parts(at: datetime) -> list[tuple[Shop, float]]:
    """Return the part of all invoices that each open shop has."""
    busy = [(shop, shop.busy(at)) for shop in SHOPS if shop.id != WEB]
    total = sum(part for _, part in busy)
    open_ = [(shop, (1 - WEB_SHARE) * part / total) for shop, part in busy if part]
    return [*open_, (next(shop for shop in SHOPS if shop.id == WEB), WEB_SHARE)]
