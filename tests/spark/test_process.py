"""Operators of one's own: state, timers, and what they do wrong."""

import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

import headrace as hr
from headrace.core.errors import QueryFailedError
from headrace.operators.processor import Key
from headrace.testing import TestDriver
from tests.spark.times import iso, utc

SCHEMA = "k string, n int, at timestamp"


class Silent(hr.Processor):
    """Counts, and tells when a key has been silent for ten seconds."""

    def on_rows(self, key: Key, rows: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        seen = key.state or {"n": 0, "times": []}
        key.state = {"n": seen["n"] + sum(row["n"] for row in rows), "times": [row["at"] for row in rows]}
        key.wake(rows[-1]["at"] + timedelta(seconds=10))
        yield {"k": key.value, "n": key.state["n"], "at": seen["times"][-1] if seen["times"] else None}

    def on_timer(self, key: Key) -> Iterable[dict[str, Any]]:
        yield {"k": key.value, "n": -key.state["n"], "at": key.now}
        key.state = None


class Bad(hr.Processor):
    """Does what it is told by the rows' numbers."""

    def on_rows(self, key: Key, rows: list[dict[str, Any]]) -> Any:
        match rows[0]["n"]:
            case 1:
                raise ValueError("no luck")
            case 2:
                return [{"other": 1}]
            case 3:
                return [{"n": "much"}]
            case 4:
                time.sleep(30)
            case 5:
                key.state = object()
            case 6:
                return 7
        return None


class Reminds(hr.Processor):
    """Tells what came, and once more a moment later."""

    def on_rows(self, key: Key, rows: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        key.wake(timedelta(milliseconds=50))
        return [{"k": key.value, "told": "came"}]

    def on_timer(self, key: Key) -> Iterable[dict[str, Any]]:
        return [{"k": key.value, "told": "rang"}]


def row(k: str, n: int, at: float) -> dict[str, Any]:
    return {"k": k, "n": n, "at": iso(at)}


def test_each_key_has_a_state_and_a_timer() -> None:
    app = hr.App("silent")
    events = app.stream("events", schema=SCHEMA, event_time="at", lateness="1 second")
    events.group_by("k").process(Silent(), "k string, n int, at timestamp").to("told")
    with TestDriver(app) as t:
        t.send("events", [row("a", 1, 2), row("b", 10, 3), row("a", 2, 1), b"{]"])
        assert t.read("told") == [{"k": "a", "n": 3, "at": None}, {"k": "b", "n": 10, "at": None}]
        t.send("events", [row("a", 3, 6)])
        assert t.read("told") == [{"k": "a", "n": 6, "at": utc(2)}]  # rows come in the order of their time
        t.advance_to(iso(14))
        assert t.read("told") == [{"k": "b", "n": -10, "at": utc(13)}]
        t.advance_to(iso(60))
        assert t.read("told") == [{"k": "a", "n": -6, "at": utc(59)}]
        t.send("events", [row("a", 1, 61)])
        assert t.read("told") == [{"k": "a", "n": 1, "at": None}]
        assert len(t.dead_letters()) == 1


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (1, "'bad' failed at the key 'a', with events-0-0: ValueError: no luck"),
        (
            2,
            "'bad' failed at the key 'a', with events-0-0: ValueError: it returned the columns other; its schema has n",
        ),
        (3, "'bad' returned a value for 'n' that is no int32"),
        (4, "'bad' failed at the key 'a', with events-0-0: TimeoutError: it took longer than 0.5 s"),
        (5, "'bad' failed at the key 'a', with events-0-0: .*object"),
        (6, "'bad' failed at the key 'a', with events-0-0: TypeError"),
    ],
)
def test_what_an_operator_does_wrong_is_told_with_its_step_key_and_offset(number: int, message: str) -> None:
    app = hr.App("bad")
    events = app.stream("events", schema=SCHEMA, event_time="at")
    events.group_by("k").process(Bad(), "n int", patience="500 ms", name="bad").to("out")
    with TestDriver(app) as t, pytest.raises(QueryFailedError, match=message):
        t.send("events", [row("a", number, 0)])


def test_a_stage_whose_timers_go_by_the_clock_comes_to_rest_under_test() -> None:
    app = hr.App("clock")
    events = app.stream("events", schema="k string")
    events.group_by("k").process(Reminds(), "k string, told string", clock="processing").to("told")
    with TestDriver(app) as t:
        t.send("events", [{"k": "a"}])
        assert t.read("told") == [{"k": "a", "told": "came"}]
        time.sleep(0.1)
        t.send("events", [{"k": "b"}])  # with this batch, what is due by the clock of the machine
        assert t.read("told") == [{"k": "a", "told": "rang"}, {"k": "b", "told": "came"}]
