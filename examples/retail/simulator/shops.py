"""The shops: three in each of 33 cities around the world, so that some are open at any hour, and the web shop."""

import random
from dataclasses import dataclass
from datetime import datetime

WEB = "WEB"
WEB_SHARE = 0.12  # of all invoices
# Name, hours east of Greenwich (in winter), and how much is bought there.
_CITIES = """
Lisbon 0 5, Dublin 0 4, London 0 9, Madrid 1 7, Paris 1 9, Amsterdam 1 6, Oslo 1 4, Berlin 1 8, Vienna 1 5, Rome 1 6,
Stockholm 1 5, Warsaw 1 5, Athens 2 4, Helsinki 2 3, Cairo 2 5, Cape Town 2 4, Istanbul 3 7, Nairobi 3 3, Dubai 4 5,
Mumbai 5 8, Bangkok 7 6, Jakarta 7 5, Singapore 8 7, Taipei 8 5, Seoul 9 7, Tokyo 9 9, Sydney 10 6, Auckland 12 4,
Honolulu -10 2, Vancouver -8 4, Mexico City -6 7, Toronto -5 7, Buenos Aires -3 6
"""
_PER_CITY = 3
_DAY = 24 * 60
_HOURS = ((7 * 60, 22 * 60), (8 * 60, 21 * 60), (9 * 60, 20 * 60))
# How busy a shop is in each hour of its day: noon, and the way home.
_BUSY = (0, 0, 0, 0, 0, 0, 0, 5, 6, 6, 7, 9, 11, 10, 8, 8, 10, 13, 14, 12, 8, 5, 0, 0)


@dataclass(frozen=True, slots=True)
class Shop:
    """A shop; ``opens`` and ``closes`` are minutes of its own day, ``east`` the hours that it is ahead of UTC."""

    id: str
    city: str
    east: int
    opens: int
    closes: int
    tills: int
    weight: float

    def is_open(self, at: datetime) -> bool:
        """Whether somebody can buy there."""
        return self.opens <= self._minute(at) < self.closes

    def busy(self, at: datetime) -> float:
        """Return how much is bought there at a time, in proportion to other shops."""
        if not self.is_open(at):
            return 0.0
        hour, minute = divmod(self._minute(at), 60)
        return self.weight * (_BUSY[hour] * (60 - minute) + max(1, _BUSY[(hour + 1) % 24]) * minute) / 60

    def _minute(self, at: datetime) -> int:
        return (at.hour * 60 + at.minute + 60 * self.east) % _DAY


def _shops() -> tuple[Shop, ...]:
    chance = random.Random(99)
    found: list[Shop] = []
    for city in _CITIES.replace("\n", " ").split(","):
        name, east, size = city.strip().rsplit(maxsplit=2)
        for hours in chance.sample(_HOURS, _PER_CITY):
            tills = chance.randint(4, 10)
            weight = int(size) * tills * chance.uniform(0.7, 1.3)
            found.append(Shop(f"S{len(found) + 1:02}", name, int(east), *hours, tills, weight))
    return (*found, Shop(WEB, "Web", 0, 0, _DAY, 4, 0.0))


SHOPS = _shops()
CITIES = tuple(dict.fromkeys(shop.city for shop in SHOPS if shop.id != WEB))
_TOTAL = sum(shop.weight for shop in SHOPS)


def share(shop: Shop) -> float:
    """Return which part of all invoices comes from a shop while it is open: about half of the others are then."""
    return WEB_SHARE if shop.id == WEB else min(1.0, 2 * shop.weight / _TOTAL)
