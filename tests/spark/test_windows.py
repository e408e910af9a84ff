"""Windows: their bounds, when they close, and what may follow them."""

from typing import Any

import headrace as hr
from headrace.testing import TestDriver
from tests.spark.times import iso, utc

SCHEMA = "k string, n int, at timestamp"


def told(rows: list[Any], value: str = "n") -> list[tuple[Any, ...]]:
    """Rows as (start, end, value), in seconds after ten o'clock."""
    seconds = [(row["window_start"] - utc(0), row["window_end"] - utc(0), row[value]) for row in rows]
    return [(start.total_seconds(), end.total_seconds(), value) for start, end, value in seconds]


def event(at: float, n: int = 1, k: str = "a") -> dict[str, Any]:
    return {"k": k, "n": n, "at": iso(at)}


def test_bounds_are_half_open_and_aligned() -> None:
    app = hr.App("bounds")
    events = app.stream("events", schema=SCHEMA, event_time="at")
    events.group_by("k").window(hr.tumbling("1 minute")).agg(n="sum(n)").to("tumbling")
    events.group_by().window(hr.hopping("60 seconds", every="30 seconds")).agg(n="sum(n)").to("hopping")
    events.group_by().window(hr.hopping("10 seconds", every="4 seconds"), emit="final").agg(n="sum(n)").to("uneven")
    events.group_by("k").window(hr.session("10 seconds"), emit="final").agg(n="sum(n)").to("sessions")
    events.group_by().window(hr.session("10 seconds"), emit="final").agg(n="sum(n)").to("all-sessions")
    with TestDriver(app) as t:
        t.send("events", [event(0, 1), event(59.999, 10), event(60, 100), event(69.999, 1000, "b")])
        assert told(t.read("tumbling")) == [(0, 60, 11), (60, 120, 100), (60, 120, 1000)]
        assert told(t.read("hopping")) == [(-30, 30, 1), (0, 60, 11), (30, 90, 1110), (60, 120, 1100)]
        t.send("events", [event(70, 10_000), event(80.001, 5)])  # a row exactly a gap later still belongs to it
        t.advance_to(iso("9:00"))
        assert told(t.read("sessions")) == [
            (0, 10, 1),
            (69.999, 79.999, 1000),
            (59.999, 80, 10_110),
            (80.001, 90.001, 5),
        ]
        assert told(t.read("all-sessions")) == [(0, 10, 1), (59.999, 80, 11_110), (80.001, 90.001, 5)]
        starts = range(-8, 84, 4)  # aligned to the epoch, of which ten o'clock is a multiple
        sums = [
            (start, start + 10, sum(n for at, n in SENT if start <= at < start + 10))
            for start in starts
            if any(start <= at < start + 10 for at, _ in SENT)
        ]
        assert told(t.read("uneven")) == sums
        assert t.late() == []


SENT = [(0, 1), (59.999, 10), (60, 100), (69.999, 1000), (70, 10_000), (80.001, 5)]


def test_windows_close_when_lateness_and_grace_have_passed() -> None:
    app = hr.App("closing")
    events = app.stream("events", schema=SCHEMA, event_time="at", lateness="10 seconds")
    minute = hr.tumbling("1 minute")
    events.group_by().window(minute, emit="final").agg(n="sum(n)").to("final")
    events.group_by().window(minute, emit="final", grace="20 seconds").agg(n="sum(n)").to("graceful")
    events.group_by().window(minute, grace="20 seconds").agg(n="sum(n)").to("updates")
    with TestDriver(app) as t:
        t.send("events", event(5))
        t.send("events", event(69.999))  # a moment before the first window closes
        assert t.read("final") == []
        t.send("events", event(6, 10))  # out of order, in time
        assert told(t.read("updates")) == [(0, 60, 1), (60, 120, 1), (0, 60, 11)]
        t.send("events", event(70, 100))
        assert told(t.read("final")) == [(0, 60, 11)]
        assert t.read("graceful") == []
        t.send("events", event(7, 1000))  # late for one, within the grace of the others
        assert told(t.read("updates")) == [(60, 120, 101), (0, 60, 1011)]
        assert len(t.late()) == 1
        t.send("events", event(89.999))
        assert t.read("graceful") == []
        t.send("events", event(90))
        assert told(t.read("graceful")) == [(0, 60, 1011)]
        t.send("events", event(8, 10_000))  # late for all
        assert len(t.late()) == 4
        t.advance_to(iso("10:00"))
        assert told(t.read("final")) == told(t.read("graceful")) == [(60, 120, 103)]
        assert told(t.table("updates")) == [(0, 60, 1011), (60, 120, 103)]


def test_windows_of_windows() -> None:
    app = hr.App("chained")
    events = app.stream("events", schema=SCHEMA, event_time="at")
    sums = events.group_by("k").window(hr.tumbling("10 seconds"), emit="final").agg(n="sum(n)")
    sums.to("sums")
    best = sums.group_by("window_start", "window_end").agg(best="max_by(k, n)", total="sum(n)")
    best.to("best")
    sums.filter("n > 0").group_by("k").window(hr.tumbling("1 minute"), emit="final").agg(n="max(n)").to("peaks")
    best.group_by().window(hr.tumbling("30 seconds"), emit="final").agg(n="count(*)").to("thirds")
    hops = events.group_by("k").window(hr.hopping("20 seconds", every="10 seconds"), emit="final").agg(n="sum(n)")
    hops.group_by("window_start", "window_end").agg(n="sum(n)").to("hops")
    with TestDriver(app) as t:
        t.send("events", [event(1, 1), event(2, 5, "b"), event(15, 7), event(16, -100, "b"), event(3, 1)])
        t.send("events", event(75, 3))
        t.advance_to(iso("5:00"))
        assert [(row["k"], row["n"]) for row in t.read("sums")] == [("a", 2), ("b", 5), ("a", 7), ("b", -100), ("a", 3)]
        assert told(t.read("best"), "best") == [(0, 10, "b"), (10, 20, "a"), (70, 80, "a")]
        assert sorted((row["k"], row["n"]) for row in t.read("peaks")) == [("a", 3), ("a", 7), ("b", 5)]
        assert told(t.read("thirds")) == [(0, 30, 2), (60, 90, 1)]
        assert told(t.read("hops")) == [(-10, 10, 7), (0, 20, -86), (10, 30, -93), (60, 80, 3), (70, 90, 3)]
        assert t.late() == []


def test_sessions_merge() -> None:
    app = hr.App("sessions")
    events = app.stream("events", schema=SCHEMA, event_time="at", lateness="30 seconds")
    sessions = events.group_by("k").window(hr.session("10 seconds"), emit="final")
    sessions.agg(n="sum(n)", list="collect_list(n)").to("sessions")
    with TestDriver(app) as t:
        t.send("events", [event(0, 1), event(18, 2), event(0, 50, "b")])
        t.send("events", event(9, 3))  # joins the two
        assert t.read("sessions") == []
        t.send("events", event(60, 5))
        rows = t.read("sessions")
        assert told(rows) == [(0, 10, 50), (0, 28, 6)]
        t.send("events", event(40, 4))
        assert [row["list"] for row in rows] == [[50], [1, 3, 2]]
        t.advance_to(iso("3:00"))
        assert told(t.read("sessions")) == [(40, 50, 4), (60, 70, 5)]


def test_time_begins_in_1970() -> None:
    app = hr.App("old")
    events = app.stream("events", schema=SCHEMA, event_time="at")
    events.group_by().window(hr.tumbling("1 minute"), emit="final").agg(n="sum(n)").to("final")
    events.group_by().agg(n="sum(n)").to("ever")
    with TestDriver(app) as t:
        t.send("events", [{"n": 1, "at": "1969-12-31T23:59:30Z"}, {"n": 2, "at": "1970-01-01T00:00:00Z"}])
        assert t.read("ever") == [{"n": 3}]
        t.advance_to("1970-01-01T00:01:00Z")
        assert [row["n"] for row in t.read("final")] == [2]
        assert [letter["reason"] for letter in t.late()] == [
            "late: happened at 1969-12-31T23:59:30.000Z, but time begins in 1970"
        ]
