"""Supplies: ordered when something runs low, brought a little later, and now and then much later."""

import random
from datetime import datetime, timedelta

from examples.retail.simulator.agenda import Agenda
from examples.retail.simulator.catalogue import PRODUCTS
from examples.retail.simulator.sent import SUPPLIES, Sent
from examples.retail.simulator.shops import SHOPS
from examples.retail.simulator.stock import Stock

_SECOND = timedelta(seconds=1)
_UNDER_WAY = (20, 90)  # seconds from order to arrival
_LATE, _LATE_BY = 1 / 200, 240  # how often a lorry is late, and by how many seconds


class Lorries:
    """Bring what is ordered."""

    def __init__(self, chance: random.Random, agenda: Agenda, stock: Stock) -> None:
        self._chance, self._agenda, self._stock = chance, agenda, stock

    def make_ready(self, rate: float) -> None:
        """Bring at once what shops need for so many invoices per second."""
        for shop, product, units in self._stock.plan(rate):
            self._stock.put(shop, product, units)
            self._tell(shop, product, units, self._agenda.now)

    def look(self, shop: int, product: int, at: datetime) -> None:
        """Order more of a product if it has run low."""
        if self._stock.order(shop, product):
            wait = self._chance.uniform(*_UNDER_WAY) + (_LATE_BY if self._chance.random() < _LATE else 0)
            self._agenda.at(at + wait * _SECOND, lambda later: self._arrive(shop, product, later))

    def _arrive(self, shop: int, product: int, at: datetime) -> None:
        units = self._stock.amount(shop, product)
        self._stock.arrived(shop, product, units)
        self._tell(shop, product, units, at)

    def _tell(self, shop: int, product: int, units: int, at: datetime) -> None:
        value = {"shop": SHOPS[shop].id, "product": PRODUCTS[product].id, "units": units, "at": at}
        self._agenda.send(Sent(at, SUPPLIES, SHOPS[shop].id, value))
