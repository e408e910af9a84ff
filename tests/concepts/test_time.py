"""Time goes on as the page says: its own examples, on its own program, and a test for each sentence."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

import headrace as hr
from headrace.testing import TestDriver
from tests.concepts.page import DAY, DOCS, Example, Read, examples, program, value

PAGE = "concepts/time.md"


class Passed(hr.Processor):
    """Gives every row back."""

    def on_rows(self, key: Any, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"id": key.value} for _ in rows]


def more(app: hr.App) -> None:
    """Declare what the page speaks of without an example; hops and sessions are in tests/spark/test_late.py."""
    schema = "id int, at timestamp"
    edges = app.stream("edges", schema=schema, event_time="at")
    partners = app.stream("partners", schema=schema, event_time="at")
    edges.dedupe("id", within="1 hour", name="dedupe").to("edges-once")
    edges.join(partners, on="id", within="1 hour", name="join").select("id").to("edges-joined")
    edges.group_by("id").process(Passed(), "id int", name="process").to("edges-passed")
    clocks = app.stream("clocks", schema="id int, at timestamp, sent timestamp")
    clocks.correct_clock(event="at", sent="sent", max_skew="1 day").to("clocks-right")


@pytest.fixture(scope="module")
def t() -> Iterator[TestDriver]:
    app = program(PAGE)
    more(app)
    with TestDriver(app, now=f"{DAY}T12:00:00Z") as t:
        yield t


@pytest.fixture(scope="module")
def shown() -> dict[str, Example]:
    return examples(PAGE)


@pytest.fixture(scope="module")
def called(t: TestDriver, shown: dict[str, Example]) -> Read:
    """The calls of the page; other tests of the same window come after them."""
    return shown["timeline"].run(t)


@pytest.fixture(scope="module")
def visited(t: TestDriver, shown: dict[str, Example]) -> Read:
    """The visits of the page; other tests of the same windows come after them."""
    return shown["windows"].run(t)


def at(clock: str, **fields: Any) -> dict[str, Any]:
    return {**fields, "at": f"{DAY}T{clock}Z"}


def letters(t: TestDriver, topic: str) -> list[str]:
    return [letter["reason"] for letter in t.late() if letter["topic"] == topic]


def dead(t: TestDriver, topic: str) -> list[str]:
    return [letter["reason"] for letter in t.dead_letters() if letter["topic"] == topic]


def test_every_example_of_the_page_has_a_test(shown: dict[str, Example]) -> None:
    assert set(shown) == {"clocks", "timeline", "skew", "windows"}


def test_an_event_has_three_times(t: TestDriver, shown: dict[str, Example]) -> None:
    shown["clocks"].run(t)


def test_an_event_without_event_time_is_a_dead_letter_for_that_clock_alone(t: TestDriver) -> None:
    t.read("by-event"), t.read("by-append")
    t.send("pings", {"ping": 9})
    assert t.read("by-event") == []
    assert len(t.read("by-append")) == 1
    assert dead(t, "pings") == ["the event has no time: at is missing or null"]


def test_a_window_closes_when_time_reaches_its_end(called: Read, shown: dict[str, Example]) -> None:
    example = shown["timeline"]
    newest = value("00:00")
    for rows, told_newest, told_time in zip(
        example.sent("calls"), example.note("newest"), example.note("time"), strict=True
    ):
        [(_, happened)] = rows
        newest = max(newest, happened)
        assert newest == value(told_newest)
        assert newest - timedelta(seconds=10) - timedelta(seconds=20) == value(told_time)


def test_the_ledger_says_why_an_event_is_late(t: TestDriver, called: Read) -> None:
    [reason] = letters(t, "calls")[:1]
    assert f"\n{reason}\n" in (DOCS / PAGE).read_text("utf-8")


def test_events_of_one_batch_do_not_make_each_other_late_and_filtered_ones_move_time(
    t: TestDriver, called: Read
) -> None:
    before = len(letters(t, "calls"))
    t.send("calls", [at("10:10:00", id=6), at("10:01:10", id=7)])
    [closed] = t.read("calls-per-minute")
    assert (closed["window_start"], closed["calls"]) == (value("10:01"), 3)  # calls 2, 4 and 7
    assert len(letters(t, "calls")) == before
    t.send("calls", at("10:30:00", id=0))
    [closed] = t.read("calls-per-minute")
    assert (closed["window_start"], closed["calls"]) == (value("10:10"), 1)


def test_a_wrong_clock_is_put_right(t: TestDriver, shown: dict[str, Example]) -> None:
    example = shown["skew"]
    rows = example.run(t)
    errors = [int((received - sent).total_seconds()) for [(_, _, sent, received)] in example.sent("readings")]
    assert [str(error) for error in errors] == example.note("error in seconds")
    assert all(row["sent"] is not None for row in rows["readings-right"])  # the event's time alone is changed
    assert letters(t, "readings") == [
        "late: the device's clock is wrong by 10829.000 s, which is more than 1 h",
    ]


def test_a_clock_cannot_be_put_right_without_its_times(t: TestDriver) -> None:
    t.read("readings-right")
    t.send("readings", {"reading": 9, "at": f"{DAY}T10:00:00Z", "received": f"{DAY}T10:00:01Z"})
    assert t.read("readings-right") == []
    assert dead(t, "readings") == ["the event has no time: at is missing or null"]


def test_the_logs_own_clock_is_right_where_no_other_is_told(t: TestDriver) -> None:
    t.send("clocks", at("09:00:00", id=1, sent=f"{DAY}T09:00:10Z"))
    assert [row["at"] for row in t.read("clocks-right")] == [value("11:59:50")]


def test_when_an_event_is_late_depends_on_the_step(t: TestDriver) -> None:
    t.send("partners", at("10:10:00", id=0))
    t.send("edges", at("10:10:00", id=0))
    expected = {"10:10:00": set[str](), "10:09:59.999": {"dedupe", "join"}}
    t.send("edges", [at(clock, id=number) for number, clock in enumerate(expected, start=1)])
    found = {clock: set[str]() for clock in expected}
    for letter in t.late():
        if letter["topic"] == "edges":
            found[list(expected)[letter["offset"] - 1]].add(letter["reason"].split("'")[1])
    assert found == expected
    assert sorted(row["id"] for row in t.read("edges-passed")) == [0, 1, 2]


def test_windows_have_the_bounds_that_the_page_says(visited: Read) -> None:
    for row in visited["tumbling"]:
        since = row["window_start"] - datetime.fromisoformat("1970-01-01T00:00:00Z")
        assert since % timedelta(seconds=10) == timedelta(0)


def test_sliding_windows_are_those_of_the_definition(visited: Read, shown: dict[str, Example]) -> None:
    size, tick = timedelta(seconds=10), timedelta(milliseconds=1)
    times = [happened for rows in shown["windows"].sent("visits") for _, happened in rows]
    starts = {happened - size for happened in times} | {happened + tick for happened in times}
    counts = {start: sum(start <= happened <= start + size for happened in times) for start in starts}
    latest = {row["window_start"]: row for row in visited["sliding"]}
    assert {start: row["visits"] for start, row in latest.items()} == {s: n for s, n in counts.items() if n}
    assert all(row["window_end"] - row["window_start"] == size for row in latest.values())


def test_an_event_is_late_for_a_sliding_window_when_time_has_reached_it(t: TestDriver, visited: Read) -> None:
    t.send("visits", at("10:05:00", visit=5))
    t.read("tumbling"), t.read("hopping"), t.read("sessions")
    t.send("visits", at("10:04:00", visit=6))  # time is 10:04, for there is a minute of lateness
    assert [reason.split("'")[1] for reason in letters(t, "visits")] == ["sliding"]
    assert len(t.read("tumbling")) == 1
    assert len(t.read("hopping")) == 2
    assert len(t.read("sessions")) == 1


def test_the_picture_of_sliding_windows_shows_those_of_the_example(shown: dict[str, Example]) -> None:
    picture = (DOCS / "images/sliding.svg").read_text("utf-8")
    [column] = [one for one in shown["windows"].columns if one.topic == "sliding"]
    for row in column.cells[0].split("<br>"):
        start, end, _ = row.split(", ")
        assert f"[{start}, {end}]" in picture
    assert picture.count("<!-- window -->") == len(column.rows(0))


def test_the_picture_of_the_timeline_shows_the_calls_of_the_example(shown: dict[str, Example]) -> None:
    picture = (DOCS / "images/timeline.svg").read_text("utf-8")
    for cell in shown["timeline"].columns[0].cells:
        assert cell.split(", ")[1] in picture
