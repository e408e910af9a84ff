"""Events that cannot be processed: each is put aside once, with a reason, and the others go on."""

from typing import Any

import pytest

import headrace as hr
from headrace.testing import TestDriver
from tests.spark.times import iso

SCHEMA = (
    "id int, big bigint, x double, ok boolean, s string, at timestamp, day date, n decimal(6, 2), "
    "list array<int>, map map<string, int>, who struct<name: string, age: int>"
)
GOOD = b'{"id": 1, "at": "2024-05-01T10:00:00Z"}'
FINE: list[Any] = [
    {"id": 1, "at": iso(0)},
    {"id": 2, "at": iso(0), "extra": {"deep": [1, 2]}, "x": 5, "s": 7, "n": 1},
    {"id": None, "at": iso(0), "list": [1, None], "map": {"a": None}, "who": {"name": None}},
    {"id": 3, "at": "2024-05-01 10:00:00", "s": "ä" * 5_000_000},
    b'  {"id": 4, "at": "2024-05-01T12:00:00+02:00", "s": "\\u00e4\\n", "x": "NaN"} \r\n\t',
    {"id": 5, "at": iso(0), "extra": "x" * 5_000_000},
]
BAD: list[tuple[Any, str]] = [
    (b"junk", "not JSON"),
    (b'{"id": 1', "not JSON"),
    (b"\xff\xfe\x00", "not JSON"),
    (b"", "empty"),
    (b"   ", "empty"),
    (None, "no value"),
    (hr.Delete("k"), "no value"),
    (b"null", "is null, not a JSON object"),
    (b"5", "is a number, not a JSON object"),
    (b'"text"', "is text, not a JSON object"),
    (b"true", "is true or false, not a JSON object"),
    (b"[" + GOOD + b"]", "is an array, not a JSON object"),
    (b"[" + GOOD + b"," + GOOD + b"]", "is an array, not a JSON object"),
    (b"[]", "is an array, not a JSON object"),
    (b"[" * 10_000, "not JSON"),
    (b'{"extra":' * 10_000 + b"1" + b"}" * 10_000, "not JSON"),
    (b"{}", "has no time"),
    ({"id": 1}, "has no time"),
    ({"id": 1, "at": None}, "has no time"),
    ({"id": "1", "at": iso(0)}, "'id' is \"1\", not int"),
    ({"id": 1.5, "at": iso(0)}, "'id' is 1.5, not int"),
    ({"id": 2**31, "at": iso(0)}, "'id' is 2147483648, not int"),
    ({"id": True, "at": iso(0)}, "'id' is true, not int"),
    ({"big": 2**63, "at": iso(0)}, "'big' is 9223372036854775808, not bigint"),
    ({"x": "five", "at": iso(0)}, "'x' is \"five\", not double"),
    ({"ok": "true", "at": iso(0)}, "'ok' is \"true\", not boolean"),
    ({"at": "tomorrow"}, "'at' is \"tomorrow\", not timestamp"),
    ({"at": "2024-13-45T99:00:00Z"}, "'at' is \"2024-13-45T99:00:00Z\", not timestamp"),
    ({"day": "x", "at": iso(0)}, "'day' is \"x\", not date"),
    ({"n": 123456.5, "at": iso(0)}, "'n' is 123456.5, not decimal"),
    ({"list": 5, "at": iso(0)}, "'list' is 5, not array"),
    ({"list": [1, "two"], "at": iso(0)}, "'list' is [1,\"two\"], not array"),
    ({"map": {"a": "b"}, "at": iso(0)}, '\'map\' is {"a":"b"}, not map'),
    ({"who": {"age": "old"}, "at": iso(0)}, '\'who\' is {"age":"old"}, not struct'),
    ({"who": [], "at": iso(0)}, "'who' is [], not struct"),
    (GOOD + b" and more", "not JSON"),
]


def test_each_is_told_once_with_its_reason() -> None:
    app = hr.App("dead")
    events = app.stream("events", schema=SCHEMA, event_time="at")
    again = app.stream("events", schema=SCHEMA, event_time="at")
    minute = hr.tumbling("1 minute")
    events.group_by().window(minute).agg(n="count(*)", ids="collect_list(id)").to("counted")
    events.filter("id > 0").to("stateless")
    events.group_by().window(minute, emit="final").agg(n="count(*)").to("final")
    events.filter("id > 0").merge(again.filter("id is null")).select("id").to("merged")
    again.dedupe("id", within="1 hour").select("id").to("once")
    again.join(events, on="id", within="1 second").select("id").to("joined")
    with TestDriver(app) as t:
        t.send("events", [item for item, _ in BAD[:20]] + FINE + [item for item, _ in BAD[20:]])
        check(t)
        assert [row["n"] for row in t.read("counted")] == [len(FINE)]
        rows = t.read("stateless")
        assert [row["id"] for row in rows] == [1, 2, 3, 4, 5]
        assert len(rows[2]["s"]) == 5_000_000 and rows[3]["s"] == "ä\n" and rows[1]["s"] == "7"
        for topic, ids in (
            ("merged", {1, 2, 3, 4, 5, None}),
            ("once", {1, 2, 3, 4, 5, None}),
            ("joined", {1, 2, 3, 4, 5}),
        ):
            found = [row["id"] for row in t.read(topic)]  # several tasks write them: in no order
            assert (len(found), set(found)) == (len(ids), ids)


def check(t: TestDriver) -> None:
    letters = t.dead_letters()
    offsets = [*range(20), *range(20 + len(FINE), len(BAD) + len(FINE))]
    assert [letter["offset"] for letter in letters] == offsets
    wrong = [
        (reason, letter["reason"])
        for letter, (_, reason) in zip(letters, BAD, strict=True)
        if reason not in letter["reason"]
    ]
    assert wrong == []
    assert {letter["topic"] for letter in letters} == {"events"}
    assert letters[0]["value"] == b"junk" and letters[6]["key"] == b"k" and letters[6]["value"] is None


@pytest.mark.parametrize("stateful", [False, True])
def test_letters_alone_are_no_rows(stateful: bool) -> None:
    app = hr.App("alone")
    events = app.stream("events", schema="id int", key="id")
    (events.group_by("id").agg(n="count(*)") if stateful else events.with_columns(n="1")).to("out")
    with TestDriver(app) as t:
        t.send("events", [b"junk", None])
        t.send("events", {"id": "text"})
        assert t.read("out") == []
        assert [(letter["offset"], letter["key"]) for letter in t.dead_letters()] == [
            (0, None),
            (1, None),
            (2, b"text"),
        ]
