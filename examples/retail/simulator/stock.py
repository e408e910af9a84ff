"""What lies in the shops, and when more of it comes."""

import random

from examples.retail.simulator.catalogue import PRODUCTS
from examples.retail.simulator.shops import SHOPS, share

UNITS = 4.3  # of an average invoice
_LASTS, _SOON = 600.0, 120.0  # seconds for which a supply lasts, and that are left when the next is ordered
_LEAST, _FEW = 80.0, 30.0  # units, where so little is bought that seconds say nothing
_MORE = 1.5  # times the rate that was planned for: then lorries come to all shops at once


class Stock:
    """Units of each product in each shop; nothing is sold that is not there."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._planned = 0.0
        self._level = [[0] * len(PRODUCTS) for _ in SHOPS]
        self._low = [[0.0] * len(PRODUCTS) for _ in SHOPS]
        self._ordered: set[tuple[int, int]] = set()

    def plan(self, rate: float) -> list[tuple[int, int, int]]:
        """Make ready for so many invoices per second; return what has to come at once: shop, product, units."""
        if rate <= self._planned * _MORE and self._planned:
            return []
        self._planned = max(rate, 1e-9)
        come = []
        for s, levels in enumerate(self._level):
            for p, level in enumerate(levels):
                self._low[s][p] = max(_FEW, self._speed(s, p) * _SOON)
                if level < self._low[s][p]:
                    come.append((s, p, self.amount(s, p) - level))
        return come

    def amount(self, shop: int, product: int) -> int:
        """Return how many units a supply has."""
        return int(max(_LEAST, self._speed(shop, product) * _LASTS) * self._chance.uniform(0.7, 1.3))

    def take(self, shop: int, product: int, units: int) -> bool:
        """Sell units; False if there are not so many."""
        if self._level[shop][product] < units:
            return False
        self._level[shop][product] -= units
        return True

    def put(self, shop: int, product: int, units: int) -> None:
        """Add units that were supplied or given back."""
        self._level[shop][product] += units

    def order(self, shop: int, product: int) -> bool:
        """Whether it is time to order more, and nobody has; then it counts as ordered, until `arrived`."""
        place = (shop, product)
        if self._level[shop][product] >= self._low[shop][product] or place in self._ordered:
            return False
        self._ordered.add(place)
        return True

    def arrived(self, shop: int, product: int, units: int) -> None:
        """Put what was ordered on the shelf."""
        self._ordered.discard((shop, product))
        self.put(shop, product, units)

    def _speed(self, shop: int, product: int) -> float:
        """Return how many units are sold in a second."""
        return self._planned * UNITS * share(SHOPS[shop]) * PRODUCTS[product].share
