"""De-duplication within a time."""

from typing import Any

import headrace as hr
from headrace.testing import TestDriver
from tests.spark.times import iso

SCHEMA = "id int, k string, at timestamp"


def event(id: int | None, at: float, k: str = "a") -> dict[str, Any]:
    return {"id": id, "k": k, "at": iso(at)}


def seen(rows: list[Any]) -> list[tuple[Any, ...]]:
    return sorted((row["id"], row["k"]) for row in rows)


def test_duplicates_vanish_for_as_long_as_was_said() -> None:
    app = hr.App("once")
    events = app.stream("events", schema=SCHEMA, event_time="at", lateness="5 seconds")
    events.dedupe("id", within="1 minute").to("minute")  # far longer than the lateness
    events.dedupe("id", within="1 second").to("second")  # shorter
    events.dedupe("id", "k", within="1 minute").to("pairs")
    with TestDriver(app) as t:
        t.send("events", [event(1, 0), event(1, 1, "b"), event(2, 0)])
        assert seen(t.read("minute")) == seen(t.read("second")) == [(1, "a"), (2, "a")]
        assert seen(t.read("pairs")) == [(1, "a"), (1, "b"), (2, "a")]
        t.send("events", [event(3, 55)])
        t.send("events", [event(1, 58), event(2, 53)])  # not too late, though five seconds behind
        assert seen(t.read("minute")) == [(3, "a")]
        assert seen(t.read("second")) == [(1, "a"), (2, "a"), (3, "a")]
        t.send("events", event(4, 70))
        t.send("events", event(1, 71))  # more than a minute after the first, which is forgotten
        assert seen(t.read("minute")) == seen(t.read("second")) == [(1, "a"), (4, "a")]
        assert seen(t.read("pairs")) == [(1, "a"), (3, "a"), (4, "a")]
        assert t.late() == []
        t.send("events", event(5, 10))
        assert t.read("minute") == t.read("second") == t.read("pairs") == []
        assert len(t.late()) == 3


def test_a_short_within_takes_nothing_from_lateness() -> None:
    app = hr.App("patient")
    events = app.stream("events", schema=SCHEMA, event_time="at", lateness="1 minute")
    events.dedupe("id", within="1 second").to("once")
    with TestDriver(app) as t:
        t.send("events", event(1, 60))
        t.send("events", event(2, 0.5))
        assert seen(t.read("once")) == [(1, "a"), (2, "a")]
        assert t.late() == []


def test_a_window_over_what_is_left() -> None:
    app = hr.App("counted")
    events = app.stream("events", schema=SCHEMA, event_time="at", lateness="10 seconds")
    once = events.dedupe("id", within="1 hour")
    once.group_by("k").window(hr.tumbling("1 minute"), emit="final").agg(n="count(*)").to("final")
    with TestDriver(app) as t:
        t.send("events", [event(1, 1), event(2, 2), event(1, 30), event(None, 3), b"junk"])
        t.send("events", [event(2, 31), event(None, 24), event(3, 61)])
        t.advance_to(iso("3:00"))
        assert [(row["window_start"].minute, row["n"]) for row in t.read("final")] == [(0, 3), (1, 1)]
        assert len(t.dead_letters()) == 1
