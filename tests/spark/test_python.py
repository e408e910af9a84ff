"""Python functions among the steps."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import headrace as hr
from headrace.core.errors import PlanError
from headrace.testing import TestDriver
from tests.spark.times import iso, utc

SCHEMA = "id int, amount double, more map<string, int>, at timestamp"


def half(row: dict) -> dict | None:
    if row["id"] == 3:
        return None
    return {"id": row["id"], "half": row["amount"] / 2, "kinds": sorted(row["more"] or {}), "hour": row["at"].hour}


def odd(row: dict) -> object:
    wrong = {1: "text", 2: {"id": "two"}, 3: {"id": 2**70}, 4: [5], 5: {"id": 5, "other": 1}, 6: {}, 7: {"id": None}}
    return wrong[row["id"]]


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    if pc.any(pc.is_null(batch.column("amount"))).as_py():
        raise ValueError("no amount")
    return pa.record_batch({"id": batch.column("id"), "twice": pc.multiply(batch.column("amount"), 2)})


def twice(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    return [batch.select(["id"]), batch.select(["id"])]


def row(id: int, amount: float | None = 1.0, at: float = 0.0, **more: int) -> dict:
    return {"id": id, "amount": amount, "more": more or None, "at": iso(at)}


def test_functions_of_rows_and_batches() -> None:
    app = hr.App("functions")
    events = app.stream("events", schema=SCHEMA, event_time="at")
    halves = events.map(half, "id int, half double, kinds array<string>, hour int", key="id")
    halves.to("halves")
    halves.filter("half > 1").to("large")
    halves.group_by().window(hr.tumbling("1 minute")).agg(total="sum(half)").to("totals")
    app.stream("others", schema=SCHEMA).map(odd, "id int").to("odd")
    events.map_batches(doubled, "id int, twice double").to("doubled")
    app.stream("others", schema=SCHEMA).map_batches(twice, "id bigint").to("copies")
    with TestDriver(app) as t:
        t.send("events", [row(1, 4.0, b=2, a=1), row(2, None), row(3), b"junk", row(4, 1.0, at=61)])
        assert t.read("halves") == [
            {"id": 1, "half": 2.0, "kinds": ["a", "b"], "hour": 10},
            {"id": 4, "half": 0.5, "kinds": [], "hour": 10},
        ]
        assert [r["id"] for r in t.read("large")] == [1]
        assert [(r["window_start"], r["total"]) for r in t.read("totals")] == [(utc("0:00"), 2.0), (utc("1:00"), 0.5)]
        assert t.read("doubled") == [{"id": 1, "twice": 8.0}, {"id": 3, "twice": 2.0}, {"id": 4, "twice": 2.0}]
        letters = [(letter["offset"], letter["reason"]) for letter in t.dead_letters()]
        assert [offset for offset, _ in letters] == [1, 3, 1]
        assert letters[0][1].startswith("map half raised TypeError: unsupported operand")
        assert letters[1][1].startswith("the value is not JSON")
        assert letters[2][1] == "map_batches doubled raised ValueError: no amount"
        before = len(letters)

        t.send("others", [row(number) for number in range(1, 9)])
        assert t.read("odd") == [{"id": 5}, {"id": None}, {"id": None}]
        reasons = [letter["reason"] for letter in t.dead_letters()[before:]]
        assert all("map odd: what it returned does not fit its schema" in reason for reason in reasons[:4])
        assert reasons[4:] == ["map odd raised KeyError: 8"]
        assert sorted(r["id"] for r in t.read("copies")) == sorted([*range(1, 9)] * 2)


def test_a_function_is_called_once_for_each_row_and_never_for_dead_ones(tmp_path) -> None:
    calls = tmp_path / "calls"

    def counted(row: dict) -> dict:
        with calls.open("a") as file:
            file.write(f"{row['id']}\n")
        return {"id": row["id"]}

    app = hr.App("calls")
    app.stream("events", schema="id int").map(counted, "id int").filter("id > 0").to("out")
    with TestDriver(app) as t:
        t.send("events", [{"id": 1}, b"junk", {"id": 2}, None])
        assert t.read("out") == [{"id": 1}, {"id": 2}]
    assert calls.read_text().split() == ["1", "2"]


def test_a_filter_does_not_hide_at_which_row_a_function_raised() -> None:
    def inverse(row: dict) -> dict:
        return {"id": row["id"], "x": 1 / row["id"]}

    app = hr.App("hidden")
    events = app.stream("events", schema="id int, at timestamp", event_time="at")
    events.map(inverse, "id int, x double").filter("x > 0.4").to("passed")
    others = app.stream("others", schema="id int, at timestamp", event_time="at")
    counted = others.map(inverse, "id int, x double").filter("x > 0.4").group_by().window(hr.tumbling("1 minute"))
    counted.agg(n="count(*)").to("counted")
    with TestDriver(app) as t:
        for topic in ("events", "others"):
            t.send(topic, [{"id": number, "at": iso(0)} for number in range(4)])
        assert [row["id"] for row in t.read("passed")] == [1, 2]
        assert [row["n"] for row in t.read("counted")] == [2]
        told = [(letter["topic"], letter["offset"], letter["reason"]) for letter in t.dead_letters()]
        reason = "map inverse raised ZeroDivisionError: division by zero"
        assert sorted(told) == [("events", 0, reason), ("others", 0, reason)]


def test_functions_after_a_join() -> None:
    def picky(row: dict) -> dict:
        return {"k": row["k"], "sum": row["a"] + row["b"]}

    app = hr.App("after")
    left = app.stream("left", schema="k int, a int, at timestamp", event_time="at")
    right = app.stream("right", schema="k int, b int, at timestamp", event_time="at")
    joined = left.join(right, on="k", within="1 minute")
    joined.map(picky, "k int, sum int").to("sums")
    with TestDriver(app) as t:
        t.send("left", [{"k": 1, "a": 1, "at": iso(0)}, {"k": 2, "a": None, "at": iso(0)}])
        t.send("right", [{"k": 1, "b": 2, "at": iso(1)}, {"k": 2, "b": 2, "at": iso(1)}])
        assert t.read("sums") == [{"k": 1, "sum": 3}]
        (letter,) = t.dead_letters()
        assert letter["reason"].startswith("map picky raised TypeError") and b'"k":2' in letter["value"]

    lost = hr.App("lost")
    left = lost.stream("left", schema="k int, a int, at timestamp", event_time="at")
    right = lost.stream("right", schema="k int, b int, at timestamp", event_time="at")
    mapped = left.join(right, on="k", within="1 minute").map(picky, "k int, sum int")
    mapped.group_by("k").window(hr.tumbling("1 minute"), emit="final").agg(n="count(*)").to("counts")
    with pytest.raises(PlanError, match=r"map picky.* stands between a join"), TestDriver(lost):
        pass
