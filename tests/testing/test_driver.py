"""The TestDriver: a program fed by hand."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.core.errors import ConfigError, PlanError, QueryError, QueryFailedError, UnknownTopicError
from headrace.spark.session import session
from headrace.testing import TestDriver
from tests.spark.times import iso, utc

SCHEMA = "id int, k string, at timestamp"


def event(id: int, at: float = 0.0, k: str = "a") -> dict[str, Any]:
    return {"id": id, "k": k, "at": iso(at)}


def small() -> hr.App:
    app = hr.App("small")
    events = app.stream("events", schema=SCHEMA, key="id", event_time="at", lateness="10 seconds")
    events.to("same")
    counts = events.group_by("k").window(hr.tumbling("1 minute"), emit="final").agg(n="count(*)")
    counts.to("counts")
    events.group_by("k").agg(n="count(*)").to("ever")
    return app


def test_rows_come_once_and_in_order() -> None:
    with TestDriver(small()) as t:
        t.send("events", [event(number) for number in (3, 1, 2)])
        t.send("events", (event(number) for number in (9, 8)))
        t.send("events", [])
        rows = t.read("same")
        assert [row["id"] for row in rows] == [3, 1, 2, 9, 8]
        assert rows[0] == {"id": 3, "k": "a", "at": utc(0)}
        assert rows[0]["at"].utcoffset() == timedelta(0)
        assert t.read("same") == []
        t.send("events", [event(3, 5), event(4, 5, "b"), event(5, 61, "b")])
        assert [row["id"] for row in t.read("same")] == [3, 4, 5]
        assert [row["id"] for row in t.table("same")] == [1, 2, 9, 8, 3, 4, 5]  # the latest of each key, newest last
        assert t.read("ever") == [{"k": "a", "n": 3}, {"k": "a", "n": 5}, {"k": "a", "n": 6}, {"k": "b", "n": 2}]
        assert t.table("ever") == [{"k": "a", "n": 6}, {"k": "b", "n": 2}]
        assert t.read("counts") == []
        t.advance_to(iso("1:09.999"))
        assert t.read("counts") == []
        t.advance_to(utc("1:10"))
        bounds = {"window_start": utc("0:00"), "window_end": utc("1:00")}
        assert t.read("counts") == [bounds | {"k": "a", "n": 6}, bounds | {"k": "b", "n": 1}]
        t.send("events", event(6, 1))
        (late,) = t.late()
        assert (late["topic"], late["partition"], late["offset"], late["key"]) == ("events", 0, 8, b"6")
        assert "happened at 2024-05-01T10:00:01.000Z" in late["reason"]
        t.advance_to("2024-05-01T10:30:00")  # a time without zone is in UTC
        assert [row["n"] for row in t.read("counts")] == [1]
        assert t.dead_letters() == []


def test_rows_as_they_would_lie_in_the_topic() -> None:
    app = hr.App("forms")
    app.stream("events", schema=SCHEMA, key="id").select("id").to("ids")
    app.stream("pairs", schema=SCHEMA, key=("id", "k")).to("keyed")
    app.stream("lines", format="text").to("out", format="text")
    with TestDriver(app) as t:
        t.send("events", b'{"id": 1}')
        t.send("events", '{"id": 2}')
        t.send("events", [{"id": 3, "at": utc(0)}, b'{"id": 4}', '{"id": 5}', None, hr.Delete(6), hr.Delete("x"), 7])
        assert [row["id"] for row in t.read("ids")] == [1, 2, 3, 4, 5]
        letters = t.dead_letters()
        assert [(letter["key"], letter["value"]) for letter in letters] == [
            (None, None),
            (b"6", None),
            (b"x", None),
            (None, b"7"),
        ]
        t.send("pairs", [event(1), event(1), event(1, k="b"), hr.Delete({"id": 1, "k": "a"})])
        assert [(row["id"], row["k"]) for row in t.table("keyed")] == [(1, "a"), (1, "b")]
        t.send("lines", "one line")
        t.send("lines", ["two", "lines"])
        assert t.read("out") == [{"value": "one line"}, {"value": "two"}, {"value": "lines"}]


def test_programs_of_several_stages() -> None:
    app = hr.App("stages")
    events = app.stream("events", schema=SCHEMA, event_time="at", lateness="5 seconds")
    passed = events.filter("id > 0").through("passed")
    spread = passed.with_columns(k="upper(k)").repartition("k")
    spread.group_by("k").window(hr.tumbling("10 seconds"), emit="final").agg(n="count(*)").to("counts")
    app.stream("counts", schema="k string, n int").filter("n > 1").to("many")
    with TestDriver(app) as t:
        t.send("events", [event(0), event(1, 1), event(2, 2), event(3, 3, "b"), b"junk"])
        t.send("events", [event(4, 11), event(5, 9)])
        assert [row["id"] for row in t.read("passed")] == [1, 2, 3, 4, 5]
        t.send("events", event(6, 15))
        assert [(row["k"], row["n"]) for row in t.read("counts")] == [("A", 3), ("B", 1)]
        assert t.read("many") == [{"k": "A", "n": 3}]  # topics that the program itself fills are read too
        t.send("events", event(7, 1))
        assert [letter["reason"].split(",")[0] for letter in t.late()] == ["late: happened at 2024-05-01T10:00:01.000Z"]
        t.advance_to(iso("1:00"))
        assert [(row["k"], row["n"]) for row in t.read("counts")] == [("A", 2)]
        assert len(t.dead_letters()) == 1
        with pytest.raises(UnknownTopicError, match="reads no topic 'passed'; it reads counts, events"):
            t.send("passed", event(1))


def test_the_clock_of_streams_without_event_time() -> None:
    app = hr.App("clock")
    minute = hr.tumbling("1 minute")
    for clock in ("append", "processing"):
        stream = app.stream("events", schema="id int", time=clock)
        stream.group_by().window(minute, emit="final").agg(n="count(*)").to(clock)
    with TestDriver(app, now=utc(0)) as t:
        t.send("events", [{"id": 1}, {"id": 2}])
        t.advance_to(iso(59))
        t.send("events", {"id": 3})
        assert t.read("append") == t.read("processing") == []
        t.advance_to(iso(60))
        t.send("events", {"id": 4})
        first = {"window_start": utc("0:00"), "window_end": utc("1:00"), "n": 3}
        assert t.read("append") == t.read("processing") == [first]
        t.advance_to(iso(120))
        assert [row["n"] for row in t.read("append")] == [row["n"] for row in t.read("processing")] == [1]


def test_one_driver_after_another_begins_anew() -> None:
    app = small()
    for _ in range(2):
        with TestDriver(app) as t:
            t.send("events", [event(1), b"junk"])
            assert t.read("ever") == [{"k": "a", "n": 1}]
            assert len(t.dead_letters()) == 1
    assert t.read("same") == [{"id": 1, "k": "a", "at": utc(0)}]  # what came out can be read afterwards
    with pytest.raises(QueryError, match="does not run"):
        t.send("events", event(1))
    with pytest.raises(QueryError, match="does not run"):
        t.advance_to(iso(0))


def test_what_is_wrong_with_a_test_is_told() -> None:
    app = small()
    t = TestDriver(app)
    for call in (lambda: t.read("same"), lambda: t.send("events", event(1)), lambda: t.advance_to(iso(0))):
        with pytest.raises(QueryError, match="use it as 'with TestDriver"):
            call()
    with pytest.raises(UnknownTopicError, match="writes no topic 'no'; it writes counts, ever, same"):
        t.read("no")
    with pytest.raises(UnknownTopicError, match="reads no topic 'no'; it reads events"):
        t.send("no", event(1))
    with pytest.raises(ConfigError, match="'noon' is no time"):
        t.advance_to("noon")
    with pytest.raises(ConfigError, match="'noon' is no time"):
        TestDriver(app, now="noon")
    with pytest.raises(PlanError, match="has no output"):
        TestDriver(hr.App("empty"))
    files = hr.App("files")
    files.stream("events", schema="id int").sink("parquet", "/tmp/nowhere")
    with pytest.raises(PlanError, match="topics only"):
        TestDriver(files)
    with t:
        t.advance_to(iso(5))
        with pytest.raises(ConfigError, match="time does not go back"):
            t.advance_to(iso(4))


def test_functions_that_raise_and_much_input() -> None:
    def reciprocal(row: dict[str, Any]) -> dict[str, Any]:
        return {"x": 1 / row["id"]}

    app = hr.App("much")
    events = app.stream("events", schema="id int, s string")
    events.map(reciprocal, "x double").to("mapped")
    events.group_by().agg(n="count(*)", total="sum(id)").to("all")
    many = 100_000
    with TestDriver(app) as t:
        t.send("events", [{"id": number, "s": "x" * 20} for number in range(many)])
        rows = t.read("mapped")
        assert [rows[0], rows[-1], len(rows)] == [{"x": 1.0}, {"x": 1 / (many - 1)}, many - 1]
        assert t.read("all") == [{"n": many, "total": many * (many - 1) // 2}]
        (letter,) = t.dead_letters()
        assert letter["reason"] == "map reciprocal raised ZeroDivisionError: division by zero"


def test_a_stage_that_fails_says_which() -> None:
    app = hr.App("failing")
    app.stream("events", schema="id int").select(x="raise_error(concat('no ', id))").to("never")
    with TestDriver(app) as t, pytest.raises(QueryFailedError, match=r"'never' failed.*no 1"):
        t.send("events", {"id": 1})


def test_a_stage_whose_worker_got_no_time_to_start_goes_on_where_it_was() -> None:
    app = hr.App("starving")
    starved = "if(reflect('java.lang.System', 'clearProperty', 'starve') = 'null', id, raise_error('{}'))"
    events = app.stream("events", schema="id int").select(id=starved.format("Python worker failed to connect back"))
    events.group_by().agg(n="count(*)", total="sum(id)").to("all")
    with TestDriver(app) as t:
        t.send("events", [{"id": 1}, {"id": 2}])
        session()._jvm.java.lang.System.setProperty("starve", "once")
        t.send("events", {"id": 3})
        t.send("events", {"id": 4})
        assert [(row["n"], row["total"]) for row in t.read("all")] == [(2, 3), (3, 6), (4, 10)]
        assert session()._jvm.java.lang.System.getProperty("starve") is None


def test_leaves_nothing_behind_although_spark_may_still_write() -> None:
    with TestDriver(small()) as t:
        t.send("events", event(1))
        folder = Path(t._folder.name)
        late = threading.Thread(target=keep_writing, args=(folder / "checkpoints" / "ever" / "state",))
        late.start()
    late.join()
    assert not folder.exists()


def keep_writing(folder: Path) -> None:
    """Write for a moment, as Spark's state store does in the background; until the folder is taken away."""
    for number in range(2000):
        try:
            (folder / str(number)).touch()
        except FileNotFoundError:
            return
