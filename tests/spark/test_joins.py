"""Joins of two streams within a time."""

from typing import Any

import pytest

import headrace as hr
from headrace.core.errors import PlanError
from headrace.dsl.stream import Stream
from headrace.testing import TestDriver
from tests.spark.times import iso, utc

LEFT, RIGHT = "k int, a int, n int, at timestamp", "k int, b int, n int, at timestamp"


def streams(app: hr.App, lateness: str = "0 seconds") -> tuple[Stream, Stream]:
    left = app.stream("left", schema=LEFT, event_time="at", lateness=lateness)
    return left, app.stream("right", schema=RIGHT, event_time="at", lateness=lateness)


def l(k: int | None, a: int, at: float, n: int = 0) -> dict[str, Any]:  # noqa: E743 - beside r
    return {"k": k, "a": a, "n": n, "at": iso(at)}


def r(k: int | None, b: int, at: float, n: int = 0) -> dict[str, Any]:
    return {"k": k, "b": b, "n": n, "at": iso(at)}


def pairs(rows: list[Any]) -> list[tuple[Any, ...]]:
    return sorted(((row["k"], row["a"], row["b"]) for row in rows), key=str)


def test_kinds_of_joins() -> None:
    app = hr.App("kinds")
    left, right = streams(app)
    kinds = ("inner", "left", "right", "full")
    for how in kinds:
        left.join(right, on="k", within="10 seconds", how=how).select("k", "a", "b").to(f"{how}-join")
    left.join(right, on="k", within="10 seconds", how="semi").to("semi-join")
    matched = [(1, 10, 100), (1, 10, 101), (2, 20, 200), (2, 21, 200)]
    alone = {"left": [(3, 30, None), (None, 40, None)], "right": [(4, None, 400), (None, None, 500)]}
    with TestDriver(app) as t:
        t.send("left", [l(1, 10, 20), l(2, 20, 20), l(2, 21, 21), l(3, 30, 20), l(None, 40, 20)])
        t.send(
            "right", [r(1, 100, 30), r(1, 101, 10), r(2, 200, 20), r(4, 400, 20), r(None, 500, 20), r(3, 300, 30.001)]
        )
        assert pairs(t.read("inner-join")) == matched  # ten seconds apart is within ten seconds
        assert sorted((row["k"], row["a"], row["at"]) for row in t.read("semi-join")) == [
            (1, 10, utc(20)),
            (2, 20, utc(20)),
            (2, 21, utc(21)),
        ]
        t.advance_to(iso("9:00"))
        wanted = {"left": alone["left"], "right": [*alone["right"], (3, None, 300)]}
        assert pairs(t.read("left-join")) == sorted([*matched, *wanted["left"]], key=str)
        assert pairs(t.read("right-join")) == sorted([*matched, *wanted["right"]], key=str)
        assert pairs(t.read("full-join")) == sorted([*matched, *wanted["left"], *wanted["right"]], key=str)
        assert t.read("inner-join") == t.read("semi-join") == t.late() == t.dead_letters() == []


def test_before_and_after() -> None:
    app = hr.App("reach")
    left, right = streams(app, lateness="1 minute")
    left.join(right, on="k", after="10 seconds").select("k", "a", "b").to("after")
    left.join(right, on="k", before="5 seconds").select("k", "a", "b").to("before")
    left.join(right, on="k", before="5 seconds", after="10 seconds").select("k", "a", "b").to("both")
    with TestDriver(app) as t:
        t.send("right", [r(1, n, at) for n, at in enumerate((14.999, 15, 20, 30, 30.001))])
        t.send("left", l(1, 0, 20))
        assert [b for _, _, b in pairs(t.read("after"))] == [2, 3]
        assert [b for _, _, b in pairs(t.read("before"))] == [1, 2]
        assert [b for _, _, b in pairs(t.read("both"))] == [1, 2, 3]


def test_what_must_be_equal_and_how_columns_are_called() -> None:
    app = hr.App("on")
    left, right = streams(app)
    left.join(right, on="k", within="1 minute").to("shared")
    left.join(right, on="left.k = right.n", within="1 minute").to("qualified")
    left.join(right, on="a = b + 1", within="1 minute", how="right").to("computed")
    left.join(right, on=["k", "n"], within="1 minute").to("several")
    left.join(right, on="k and left.n = right.n", within="1 minute").to("joined")
    left.join(left, on="k", within="1 minute").to("itself")
    with TestDriver(app) as t:
        t.send("left", [l(1, 5, 0, n=2)])
        t.send("right", [r(1, 4, 1, n=2), r(1, 9, 2, n=1)])
        shared = {"k": 1, "a": 5, "n": 2, "at": utc(0), "b": 4, "right_n": 2, "right_at": utc(1)}
        assert t.read("shared") == [shared, shared | {"b": 9, "right_n": 1, "right_at": utc(2)}]
        assert [(row["k"], row["right_k"], row["b"]) for row in t.read("qualified")] == [(1, 1, 9)]
        assert [(row["a"], row["b"], row["right_k"]) for row in t.read("computed")] == [(5, 4, 1)]
        assert t.read("several") == [{"k": 1, "a": 5, "n": 2, "at": utc(0), "b": 4, "right_at": utc(1)}]
        assert [row["b"] for row in t.read("joined")] == [4]
        both = {"k": 1, "a": 5, "n": 2, "at": utc(0), "left_a": 5, "left_n": 2, "left_at": utc(0)}
        assert t.read("itself") == [both]
        t.advance_to(iso("9:00"))
        assert [(row["a"], row["b"], row["k"], row["right_k"]) for row in t.read("computed")] == [(None, 9, None, 1)]
    with pytest.raises(PlanError, match="both sides have 'n'"):
        left.join(right, on="n = b", within="1 minute")


def test_a_window_after_a_join() -> None:
    app = hr.App("then")
    left, right = streams(app)
    minute = hr.tumbling("1 minute")
    inner = left.join(right, on="k", within="30 seconds")
    inner.group_by("k").window(minute, emit="final").agg(n="count(*)", b="sum(b)").to("inner")
    outer = left.join(right, on="k", within="30 seconds", how="left", name="outer")
    outer.group_by("k").window(minute, emit="final", grace="0 seconds").agg(n="count(*)", b="sum(b)").to("outer")
    outer.through("rows").group_by("k").window(minute, emit="final").agg(n="count(*)", b="sum(b)").to("apart")
    with TestDriver(app) as t:
        t.send("left", [l(1, 1, 10), l(1, 2, 59), l(2, 3, 10)])
        t.send("right", [r(1, 1, 31), r(1, 2, 65)])
        t.send("left", [l(1, 4, 70)])
        t.send("right", [r(1, 4, 71)])
        t.advance_to(iso("9:00"))
        found = {
            topic: sorted((utc(0) == row["window_start"], row["k"], row["n"], row["b"]) for row in t.read(topic))
            for topic in ("inner", "outer", "apart")
        }
        assert found["inner"] == [(False, 1, 2, 6), (True, 1, 4, 8)]
        assert found["outer"] == found["apart"] == [(False, 1, 2, 6), (True, 1, 4, 8), (True, 2, 1, None)]
        assert t.late() == []


def test_a_window_in_another_stage_waits_as_long_as_the_join_looks_back() -> None:
    app = hr.App("back")
    left, right = streams(app)
    rows = left.join(right, on="k", before="30 seconds", how="left")
    for given, topic in ((rows, "here"), (rows.through("rows"), "apart")):
        windows = given.group_by().window(hr.tumbling("10 seconds"), emit="final")
        windows.agg(pairs="count(b)", rows="count(*)").to(topic)
    with TestDriver(app) as t:  # both streams are in the order of time
        t.send("right", [r(1, 1, 100)])
        t.send("left", [l(2, 1, 104), l(1, 1, 105), l(1, 2, 130)])
        t.send("right", [r(1, 2, 103), r(1, 3, 112)])
        t.send("left", [l(1, 3, 131)])
        t.advance_to(iso("9:00"))
        found = {topic: [(row["pairs"], row["rows"]) for row in t.read(topic)] for topic in ("here", "apart")}
        assert found["here"] == found["apart"] == [(2, 3), (5, 5)]
        assert t.late() == []
