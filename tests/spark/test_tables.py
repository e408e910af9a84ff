"""Tables: what is written of them, what changes, and what aggregations take back."""

import random
from collections import defaultdict
from typing import Any

import headrace as hr
from headrace.testing import TestDriver

SCHEMA = "id string, city string, n int"


def row(id: str, city: str | None, n: int | None) -> dict[str, Any]:
    return {"id": id, "city": city, "n": n}


def images(changes: list[Any]) -> list[tuple[Any, ...]]:
    return [(one["key"], one["op"], one["before"], one["after"]) for one in changes]


def test_rows_are_kept_changed_and_deleted() -> None:
    app = hr.App("tables")
    people = app.table("people", schema=SCHEMA, key="id")
    people.filter("n > 0").select("id", "city").to("some")
    people.changes().to("changes")
    people.changes(before=True).to("images")
    moved = people.changes(before=True, name="moves").filter("before.city <> after.city")
    moved.select(who="key", whence="before.city").to("moved")
    events = app.stream("events", schema="at timestamp, k string, v array<int>", key="k")
    latest = events.to_table()
    latest.to("latest")
    with TestDriver(app) as t:
        t.send("people", [row("a", "X", 1), row("b", "X", 5), row("a", "Y", 2)])
        assert t.read("some") == [{"id": "a", "city": "X"}, {"id": "b", "city": "X"}, {"id": "a", "city": "Y"}]
        assert images(t.read("images")) == [
            ("a", "c", None, row("a", "X", 1)),
            ("b", "c", None, row("b", "X", 5)),
            ("a", "u", row("a", "X", 1), row("a", "Y", 2)),
        ]
        assert t.read("moved") == [{"who": "a", "whence": "X"}]
        first = t.read("changes")
        assert images(first)[:2] == [("a", "u", None, row("a", "X", 1)), ("b", "u", None, row("b", "X", 5))]
        assert first[2]["source"] == {"topic": "people", "partition": 0, "offset": 2}

        t.send(
            "people", [row("a", "Y", 0), hr.Delete("b"), hr.Delete("nobody"), b"{]", {"city": "Q"}, row("a", "Y", 7)]
        )
        assert t.read("some") == [hr.Delete("a"), hr.Delete("b"), hr.Delete("nobody"), {"id": "a", "city": "Y"}]
        assert t.table("some") == [{"id": "a", "city": "Y"}]
        assert images(t.read("images")) == [
            ("a", "u", row("a", "Y", 2), row("a", "Y", 0)),
            ("b", "d", row("b", "X", 5), None),
            ("a", "u", row("a", "Y", 0), row("a", "Y", 7)),
        ]
        assert images(t.read("changes"))[1:3] == [("b", "d", None, None), ("nobody", "d", None, None)]
        dead = t.dead_letters()
        assert [letter["offset"] for letter in dead] == [6, 7]
        assert dead[1]["reason"] == "the row has no key: id is missing or null"

        t.send("events", [{"k": "x", "v": [1]}, {"k": "x", "v": [2]}, {"v": [3]}])
        assert t.read("latest") == [{"at": None, "k": "x", "v": [1]}, {"at": None, "k": "x", "v": [2]}]
        assert [letter["reason"] for letter in t.dead_letters()[2:]] == ["the row has no key: k is missing or null"]


def test_changes_of_others_are_read_as_tables() -> None:
    app = hr.App("envelopes")
    people = app.table("people", schema="id int, city string", key="id", envelope="debezium")
    people.to("plain")
    with TestDriver(app) as t:
        t.send("people", b'{"before": null, "after": {"id": 1, "city": "X"}, "op": "c", "ts_ms": 1}')
        t.send("people", b'{"schema": {}, "payload": {"before": null, "after": {"id": 2, "city": "Y"}, "op": "r"}}')
        t.send("people", b'{"before": {"id": 1, "city": "X"}, "after": null, "op": "d"}')
        t.send("people", [b'{"id": 3}', hr.Delete('{"id": 2}'), hr.Delete("4")])
        assert t.read("plain") == [
            {"id": 1, "city": "X"},
            {"id": 2, "city": "Y"},
            hr.Delete("1"),
            hr.Delete("2"),
            hr.Delete("4"),
        ]
        assert [letter["reason"] for letter in t.dead_letters()] == ["the value is no change: it has no op"]


def expected(table: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What aggregations over the current rows give, by city."""
    groups = defaultdict(list)
    for one in table.values():
        groups[one["city"]].append(one)
    found = {}
    for city, rows in groups.items():
        values = [one["n"] for one in rows if one["n"] is not None]
        best = sorted(rows, key=lambda one: (one["n"] is not None, one["n"] or 0, one["id"]), reverse=True)
        found[city] = {
            "rows": len(rows),
            "some": len(values),
            "total": sum(values) if values else None,
            "mean": sum(values) / len(values) if values else None,
            "low": min(values, default=None),
            "high": max(values, default=None),
            "kinds": len(set(values)),
            "best": [one["id"] for one in best if one["n"] is not None][:2] or None,
        }
    return found


def test_aggregates_take_back_what_a_row_no_longer_contributes() -> None:
    app = hr.App("retraction")
    people = app.table("people", schema=SCHEMA, key="id").filter("n is null or n >= 0")
    by_city = people.group_by("city")
    by_city.agg(rows="count(*)", some="count(n)", total="sum(n)", mean="avg(n)").to("sums")
    kept = by_city.agg(
        low="min(n)", high="max(n)", kinds="count(distinct n)", best="top_n(id, n, 2) filter (where n >= 0)"
    )
    kept.to("kept")
    kept.group_by().agg(highest="max(high)", cities="count(*)").to("over-all")
    chosen, table = random.Random(7), {}
    with TestDriver(app) as t:
        for _ in range(4):
            sent: list[Any] = []
            for _ in range(chosen.randrange(1, 12)):
                id = chosen.choice("abcdef")
                if chosen.random() < 0.3:
                    sent.append(hr.Delete(id))
                    table.pop(id, None)
                    continue
                one = row(id, chosen.choice(["X", "Y", "Z"]), chosen.choice([-1, None, 0, 1, 2, 3]))
                sent.append(one)
                table.pop(id, None)
                if one["n"] is None or one["n"] >= 0:
                    table[id] = one
            t.send("people", sent)
            sums = {one["city"]: one for one in t.table("sums")}
            extremes = {one["city"]: one for one in t.table("kept")}
            wanted = expected(table)
            assert sums.keys() == extremes.keys() == wanted.keys()
            assert {city: {**sums[city], **extremes[city]} for city in wanted} == {
                city: {"city": city, **one} for city, one in wanted.items()
            }
            best = [one["high"] for one in wanted.values() if one["high"] is not None]
            assert t.table("over-all") == [{"highest": max(best, default=None), "cities": len(wanted)}]
