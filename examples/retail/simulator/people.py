"""Who buys: everybody lives in a city and has one payment card; many have a loyalty card."""

import random
from dataclasses import dataclass

from examples.retail.simulator.shops import CITIES

PER_CITY = 1500
_LOYAL = 0.6
_STREETS = """
Mill Lane, Harbour Street, Station Road, Church Hill, Market Square, Garden Row, Canal Side, Park Avenue, Oak Drive,
Castle Street, River Walk, School Lane, Orchard Close, North Gate, Bridge Street, Linden Way
"""
_NAMES = [name.strip() for name in _STREETS.split(",")]


@dataclass(frozen=True, slots=True)
class Person:
    """A customer; ``loyalty`` is None where there is no such card."""

    city: str
    card: str
    loyalty: str | None


def someone(chance: random.Random, city: str) -> Person:
    """Return a customer of a city; some come far more often than others."""
    number = int(PER_CITY * chance.random() ** 2)
    town = CITIES.index(city)
    loyal = (number * 7919 + town) % 100 < 100 * _LOYAL
    return Person(city, f"C{town:02}-{number:04}", f"L{town:02}-{number:04}" if loyal else None)


def anyone(chance: random.Random) -> Person:
    """Return a customer of any city."""
    return someone(chance, chance.choice(CITIES))


def address(chance: random.Random) -> str:
    """Return where somebody lives."""
    return f"{chance.choice(_NAMES)} {chance.randint(1, 180)}"
