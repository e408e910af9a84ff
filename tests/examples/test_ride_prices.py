"""Ride prices, with requests and free drivers given by hand."""

from datetime import UTC, datetime, timedelta

from examples.ride_prices import DRIVERS, PRICES, REQUESTS, app
from headrace.testing import TestDriver

NINE = datetime(2024, 5, 1, 9, tzinfo=UTC)
TICK = timedelta(milliseconds=1)
SIZE = timedelta(minutes=5)


def at(minute: float) -> datetime:
    return NINE + timedelta(minutes=minute)


def request(minute: float, area: str = "port") -> dict[str, object]:
    return {"area": area, "rider": "r", "at": at(minute)}


def driver(minute: float, area: str = "port") -> dict[str, object]:
    return {"area": area, "driver": "d", "at": at(minute)}


def until(minute: float, demand: int, supply: int, factor: float, area: str = "port") -> dict[str, object]:
    """Return the row of the window that ends with an event."""
    counts = {"demand": demand, "supply": supply, "factor": factor}
    return {"window_start": at(minute) - SIZE, "window_end": at(minute), "area": area, **counts}


def after(minute: float, demand: int, supply: int, factor: float) -> dict[str, object]:
    """Return the row of the window that begins right after an event."""
    row = until(minute, demand, supply, factor)
    return {**row, "window_start": at(minute) + TICK, "window_end": at(minute) + TICK + SIZE}


def test_the_factor_follows_what_happened_in_the_last_five_minutes():
    with TestDriver(app) as t:
        t.send(REQUESTS, [request(0), request(1)])
        assert t.read(PRICES) == [until(0, 1, 0, 1.0), until(1, 2, 0, 2.0), after(0, 1, 0, 1.0)]
        t.send(DRIVERS, [driver(2)])
        assert t.read(PRICES) == [until(2, 2, 1, 2.0), after(0, 1, 1, 1.0), after(1, 0, 1, 1.0)]

        t.send(REQUESTS, [request(6)])  # the first request is more than five minutes ago, the second just five
        assert t.read(PRICES) == [until(6, 2, 1, 2.0), after(1, 1, 1, 1.0), after(2, 1, 0, 1.0)]
        t.send(REQUESTS, [request(1.5)])  # late, but not too late: every window that it is in is told again
        assert t.read(PRICES) == [
            until(1.5, 3, 0, 3.0),
            until(2, 3, 1, 3.0),
            after(0, 2, 1, 2.0),
            until(6, 3, 1, 3.0),
            after(1, 2, 1, 2.0),
            after(1.5, 1, 1, 1.0),
        ]

        t.send(REQUESTS, [request(6, "mill")] * 7)
        assert t.read(PRICES) == [until(6, 7, 0, 3.0, "mill")]  # never more than three times the price
        t.send(DRIVERS, [driver(6, "mill")] * 4)
        assert t.read(PRICES) == [until(6, 7, 4, 1.75, "mill")]

        t.advance_to(at(60))
        t.send(REQUESTS, [request(5)])
        assert t.read(PRICES) == []
        assert [row["offset"] for row in t.late()] == [11]
        assert t.table(PRICES)[-1] == until(6, 7, 4, 1.75, "mill")
