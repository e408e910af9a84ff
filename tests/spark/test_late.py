"""Events that come too late: told once for each step that could not count them."""

from typing import Any

import headrace as hr
from headrace.testing import TestDriver
from tests.spark.times import iso, utc


def event(id: int, at: float) -> dict[str, Any]:
    return {"id": id, "at": iso(at)}


def late(t: TestDriver) -> list[tuple[int, str]]:
    """Which events were late, and for which step."""
    return sorted((letter["offset"], letter["reason"].split("'")[1]) for letter in t.late())


def test_each_step_tells_its_own() -> None:
    app = hr.App("late")
    events = app.stream("events", schema="id int, at timestamp", event_time="at")
    counts: dict[str, Any] = {"ids": "collect_list(id)"}
    minute, hops = hr.tumbling("1 minute"), hr.hopping("1 minute", every="20 seconds")
    shared = events.group_by().window(minute, emit="final").agg(**counts, name="minutes")
    shared.to("minutes")
    shared.filter("size(ids) > 0").to("minutes-again")
    events.filter("id <> 99").group_by().window(hops, emit="final").agg(**counts, name="hops").to("hops")
    events.group_by().window(hr.session("10 seconds"), emit="final").agg(**counts, name="sessions").to("sessions")
    events.group_by().agg(**counts, name="ever").to("ever")
    with TestDriver(app) as t:
        t.send("events", [event(0, 50), event(1, 70)])
        assert t.late() == []
        t.send("events", [event(2, 30), event(3, 65), event(4, 55), event(99, 1)])
        # Time is 70: 30 s was in hops that end at 40, 60 (closed) and 80 (open); alone it was a session until 40.
        assert late(t) == [
            (2, "hops"),
            (2, "minutes"),
            (2, "sessions"),
            (4, "hops"),
            (4, "minutes"),
            (4, "sessions"),
            (5, "minutes"),
            (5, "sessions"),
        ]
        assert (
            t.late()[0]["reason"]
            == "late: happened at 2024-05-01T10:00:30.000Z, but time in 'minutes' was already 2024-05-01T10:01:10.000Z"
        )
        assert t.late()[0]["value"] == b'{"id":2,"at":"' + iso(30).encode() + b'"}'
        t.advance_to(iso("5:00"))
        found = {(row["window_start"] - utc(0)).total_seconds(): row["ids"] for row in t.read("minutes")}
        assert found == {0: [0], 60: [3, 1]}
        found = {(row["window_start"] - utc(0)).total_seconds(): row["ids"] for row in t.read("hops")}
        assert found == {0: [0], 20: [2, 0, 4, 3, 1], 40: [0, 4, 3, 1], 60: [3, 1]}
        found = {(row["window_start"] - utc(0)).total_seconds(): row["ids"] for row in t.read("sessions")}
        assert found == {50: [0], 65: [3, 1]}
        assert t.table("ever") == [{"ids": [99, 2, 0, 4, 3, 1]}]
        assert len(t.late()) == 8


def test_joins_and_topics_between() -> None:
    app = hr.App("late-joins")
    left = app.stream("left", schema="id int, at timestamp", event_time="at", lateness="10 seconds")
    right = app.stream("right", schema="id int, at timestamp", event_time="at", lateness="10 seconds")
    left.join(right, on="id", within="1 minute", name="joined").select("id").to("joined")
    passed = left.merge(right).through("passed")
    passed.group_by().window(hr.tumbling("10 seconds"), emit="final").agg(n="count(*)", name="counted").to("counted")
    with TestDriver(app) as t:
        t.send("left", event(1, 100))
        t.send("right", event(1, 30))  # the slower stream is what counts in a join; behind a topic there is one time
        assert late(t) == [(1, "counted")]
        t.send("right", event(2, 100))
        t.send("left", [event(2, 89), event(3, 91)])
        assert [row["id"] for row in t.read("joined")] == []
        assert late(t) == [(1, "counted"), (1, "joined"), (3, "counted")]
        t.send("right", [event(3, 92)])
        assert [row["id"] for row in t.read("joined")] == [3]
