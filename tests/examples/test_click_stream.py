"""The click stream, with profiles, searches and views given by hand."""

from datetime import UTC, datetime, timedelta

from examples.click_stream import ENRICHED, PROFILES, SEARCHES, VIEWS, app
from headrace.testing import TestDriver

NINE = datetime(2024, 5, 1, 9, tzinfo=UTC)


def at(second: float) -> datetime:
    return NINE + timedelta(seconds=second)


def profile(visitor: str, plan: str, second: float) -> dict[str, object]:
    return {"visitor": visitor, "country": "Peru", "plan": plan, "since": at(second)}


def search(visitor: str, query: str, second: float) -> dict[str, object]:
    return {"visitor": visitor, "query": query, "searched_at": at(second)}


def view(visitor: str, page: str, second: float) -> dict[str, object]:
    return {"visitor": visitor, "page": page, "at": at(second)}


def enriched(page: str, second: float, plan: str | None, query: str | None, before: int | None) -> dict[str, object]:
    visitor, country = ("cyd", None) if plan is None else ("ann", "Peru")
    known = {"visitor": visitor, "country": country, "plan": plan}
    return {**known, "page": page, "at": at(second), "query": query, "seconds": before}


def test_a_view_has_the_profile_of_its_time_and_the_searches_of_the_half_minute_before_it():
    with TestDriver(app) as t:
        t.send(PROFILES, [profile("ann", "free", -60), profile("ann", "paid", 100), profile("bob", "free", -60)])
        t.send(SEARCHES, [search("ann", "boots", 0), search("ann", "tents", 29), search("bob", "maps", 29)])
        t.send(VIEWS, [view("ann", "/a", 30), view("ann", "/b", 31), view("cyd", "/c", 31)])
        assert t.read(ENRICHED) == [
            enriched("/a", 30, "free", "boots", 30),
            enriched("/a", 30, "free", "tents", 1),
            enriched("/b", 31, "free", "tents", 2),  # 31 seconds are too long for the boots
        ]

        t.send(VIEWS, [view("ann", "/d", 99.999), view("ann", "/e", 100), view("robot", "/f", 100)])
        assert t.read(ENRICHED) == []  # searches may still come
        t.send(SEARCHES, [search("ann", "stoves", 100), search("cyd", "pans", 32)])
        assert t.read(ENRICHED) == [
            enriched("/e", 100, "paid", "stoves", 0),
            enriched("/c", 31, None, None, None),  # no search can come that was before it: the pans were not
        ]

        t.advance_to(at(200))
        assert t.read(ENRICHED) == [enriched("/d", 99.999, "free", None, None)]
        assert t.late() == t.dead_letters() == []
