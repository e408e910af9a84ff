"""Steps that look at one row at a time."""

import pytest

import headrace as hr
from headrace.core.errors import PlanError
from headrace.testing import TestDriver
from tests.spark.times import iso, utc

SCHEMA = "id int, amount double, tags array<string>, who struct<name: string, age: int>, more map<string, int>"
ROWS = [
    {"id": 1, "amount": 5.0, "tags": ["a", "b"], "who": {"name": "Ann", "age": 30}, "more": {"x": 1, "y": 2}},
    {"id": 2, "amount": None, "tags": [], "who": None, "more": None},
    {"id": 3, "amount": -1.0, "tags": None, "who": {"name": None, "age": None}, "more": {}},
    {"id": 4, "amount": 50.0, "tags": ["c", None]},
]


def ids(rows: list) -> list:
    return [row["id"] for row in rows]


def test_verbs_of_one_row() -> None:
    app = hr.App("rows")
    events = app.stream("events", schema=SCHEMA)
    events.to("all")
    events.filter("amount > 0").to("positive")
    events.select("id", name="who.name", x="more['x']", twice="amount * 2").to("selected")
    events.with_columns(amount="coalesce(amount, 0)", big="amount > 10").drop("tags", "who", "more").to("changed")
    events.select("id", "tags").explode("tags", as_="tag").to("exploded")
    large, positive, rest = events.branch("amount > 10", "amount > 0")
    large.to("large")
    rest.select("id").merge(positive.select("id"), large.select("id")).to("again")
    events.key_by("id").to("keyed")
    with TestDriver(app) as t:
        t.send("events", [*ROWS, b"junk"])
        assert t.read("all") == [{"tags": None, "who": None, "more": None} | row for row in ROWS]
        assert ids(t.read("positive")) == [1, 4]
        assert t.read("selected") == [
            {"id": 1, "name": "Ann", "x": 1, "twice": 10.0},
            {"id": 2, "name": None, "x": None, "twice": None},
            {"id": 3, "name": None, "x": None, "twice": -2.0},
            {"id": 4, "name": None, "x": None, "twice": 100.0},
        ]
        assert t.read("changed")[:2] == [
            {"id": 1, "amount": 5.0, "big": False},
            {"id": 2, "amount": 0.0, "big": None},
        ]
        assert t.read("exploded") == [
            {"id": 1, "tag": "a"},
            {"id": 1, "tag": "b"},
            {"id": 4, "tag": "c"},
            {"id": 4, "tag": None},
        ]
        assert ids(t.read("large")) == [4]
        assert sorted(ids(t.read("again"))) == [1, 2, 3, 4]  # a condition that is null is not met
        assert len(t.dead_letters()) == 1
        t.send("events", [{"id": 1, "amount": 6.0}])
        assert [(row["id"], row["amount"]) for row in t.table("keyed")] == [(2, None), (3, -1.0), (4, 50.0), (1, 6.0)]


def test_columns_of_any_name_and_type() -> None:
    kinds = (
        "`a.b` int, `key` string, value binary, topic date, `timestamp` timestamp, n decimal(10, 2), f float, `ü x` int"
    )
    app = hr.App("names")
    rows = app.stream("in", schema=kinds, event_time="timestamp")
    rows.filter("`a.b` > 0").with_columns(**{"c-d": "`ü x` + 1"}).to("out")
    rows.group_by("a.b").window(hr.tumbling("1 minute")).agg(**{"max.n": "max(n)"}).to("sums")
    sent = {
        "a.b": 1,
        "key": "k",
        "value": "aGk=",
        "topic": "2024-05-01",
        "timestamp": iso(1.000001),
        "n": 1.25,
        "f": 0.5,
    }
    with TestDriver(app) as t:
        t.send("in", [sent | {"ü x": 2}])
        (row,) = t.read("out")
        assert (row["a.b"], row["value"], row["timestamp"], float(row["n"]), row["c-d"]) == (
            1,
            b"hi",
            utc(1.000001),
            1.25,
            3,
        )
        assert [float(row["max.n"]) for row in t.read("sums")] == [1.25]


def test_text_and_raw_topics() -> None:
    app = hr.App("texts")
    app.stream("lines", format="text").select(word="split(value, ' ')").explode("word").to("words")
    app.stream("bytes", format="raw").select(size="length(value)").to("sizes")
    app.stream("lines", format="text").select(value="upper(value)").to("loud", format="text")
    with TestDriver(app) as t:
        t.send("lines", ["to be", "", "ä ö"])
        t.send("bytes", [b"\xff\x00", b""])
        assert [row["word"] for row in t.read("words")] == ["to", "be", "", "ä", "ö"]
        assert [row["size"] for row in t.read("sizes")] == [2, 0]
        assert [row["value"] for row in t.read("loud")] == ["TO BE", "", "Ä Ö"]
        assert t.dead_letters() == []


def test_what_only_spark_knows_to_be_wrong_is_told_at_the_start() -> None:
    app = hr.App("wrong")
    app.stream("events", schema=SCHEMA).select(x="no_such_function(id)").to("out")
    with pytest.raises(PlanError, match="no_such_function") as raised, TestDriver(app):
        pass
    assert "test_rows.py" in raised.value.__notes__[0]
