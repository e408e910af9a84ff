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


def test_dead_and_late_ones_in_the_same_batch() -> None:
    app = hr.App("both")
    events = app.stream("events", schema="id int, at timestamp", event_time="at")
    passed = events.filter("id <> 99")
    counts = {"n": "count(*)"}
    hops = hr.hopping("1 minute", every="20 seconds")
    passed.group_by().window(hops, emit="final").agg(**counts, name="hops").to("hops")
    passed.group_by().window(hr.session("10 seconds"), emit="final").agg(**counts, name="final").to("final")
    passed.group_by().window(hr.session("10 seconds")).agg(**counts, name="changing").to("changing")
    passed.dedupe("id", within="1 minute", name="once").to("once")
    passed.group_by().agg(**counts, name="ever").to("ever")
    with TestDriver(app) as t:
        t.send("events", [b"junk", {"id": 99}])  # before time has begun
        assert [letter["offset"] for letter in t.dead_letters()] == [0, 1]
        assert t.late() == []
        t.send("events", event(1, 100))
        t.send("events", [event(2, 30), b"junk", event(99, 30), event(3, 100)])
        assert [letter["offset"] for letter in t.dead_letters()] == [0, 1, 4]
        assert late(t) == [(3, "changing"), (3, "final"), (3, "hops"), (3, "once")]
        assert t.table("ever") == [{"n": 3}]
        assert [row["id"] for row in t.read("once")] == [1, 3]
        assert [row["n"] for row in t.table("changing")] == [2]


def test_time_begins_in_1970() -> None:
    app = hr.App("old")
    events = app.stream("events", schema="id int, at timestamp", event_time="at")
    events.group_by().window(hr.tumbling("1 minute")).agg(n="count(*)", name="counted").to("counted")
    with TestDriver(app) as t:
        t.send("events", [{"id": 1, "at": "1969-12-31T23:00:00Z"}, event(2, 0)])
        assert [row["n"] for row in t.read("counted")] == [1]
        (letter,) = t.late()
        assert letter["offset"] == 0
        assert letter["reason"] == "late: happened at 1969-12-31T23:00:00.000Z, but time begins in 1970"


def test_changes_are_told_of_what_was_deduplicated() -> None:
    app = hr.App("unique")
    events = app.stream("events", schema="id int, at timestamp", event_time="at")
    unique = events.dedupe("id", within="1 hour")
    unique.group_by().window(hr.tumbling("1 minute")).agg(ids="sort_array(collect_list(id))").to("ids")
    with TestDriver(app) as t:
        t.send("events", [event(1, 0), event(1, 1), event(2, 2)])
        t.send("events", [event(2, 3), event(3, 4)])
        assert [row["ids"] for row in t.read("ids")] == [[1, 2], [1, 2, 3]]


def test_a_stream_by_append_time_has_its_clocks_corrected_and_goes_by_the_log() -> None:
    app = hr.App("arrived")
    told = app.stream("told", schema="id int, at timestamp, sent timestamp", time="append")
    right = told.correct_clock(event="at", sent="sent", max_skew="1 hour")
    right.dedupe("id", within="1 minute").to("right")
    right.group_by().window(hr.tumbling("1 minute"), emit="final").agg(ids="collect_list(id)").to("minutes")

    def sent(id: int, at: float, sent: float) -> dict[str, Any]:
        return {"id": id, "at": iso(at), "sent": iso(sent)}

    def read(t: TestDriver) -> list[tuple[int, Any]]:
        return sorted((row["id"], row["at"]) for row in t.read("right"))

    with TestDriver(app, now=iso(0)) as t:
        t.send("told", [sent(1, -20, -10), sent(1, -20, -10), sent(2, 600, 605)])
        assert read(t) == [(1, utc(-10)), (2, utc(-5))]
        t.advance_to(iso("2:00"))
        t.send("told", [sent(3, -1000, 120), sent(1, -20, 120)])  # long ago, but it comes now; 1 is forgotten
        assert read(t) == [(1, utc(-20)), (3, utc(-1000))]
        assert t.late() == []
        t.send("told", [sent(4, 0, 120 + 3601), {"id": 5, "at": iso(0)}, {"id": 6, "sent": iso(120)}])
        assert t.read("right") == []
        assert [letter["reason"] for letter in t.dead_letters()] == ["the event has no time: at is missing or null"] * 2
        [letter] = t.late()
        assert letter["reason"] == "late: the device's clock is wrong by -3601.000 s, which is more than 1 h"
        t.advance_to(iso("5:00"))
        assert [(row["window_start"], sorted(row["ids"])) for row in t.read("minutes")] == [
            (utc(0), [1, 1, 2]),
            (utc("2:00"), [1, 3]),
        ]
