"""Joins with tables: rows looked up as of a time, and tables kept joined."""

import random
from typing import Any

import headrace as hr
from headrace.testing import TestDriver
from tests.spark.times import iso, utc

PEOPLE = "id string, city string, since timestamp"
ORDERS = "order int, who string, at timestamp"


def person(id: str, city: str, since: float) -> dict[str, Any]:
    return {"id": id, "city": city, "since": iso(since)}


def order(number: int, who: str | None, at: float) -> dict[str, Any]:
    return {"order": number, "who": who, "at": iso(at)}


def cities(rows: list[Any]) -> list[tuple[int, str | None]]:
    return sorted((row["order"], row["city"]) for row in rows)


def test_rows_are_looked_up_as_of_their_time_or_as_they_are() -> None:
    app = hr.App("lookups")
    people = app.table("people", schema=PEOPLE, key="id", event_time="since", history="1 hour")
    orders = app.stream("orders", schema=ORDERS, event_time="at", lateness="1 minute")
    orders.join(people, on="who = id", as_of="event_time", how="left").to("held")
    orders.join(people.filter("city <> 'Z'"), on="who = id", as_of="event_time").to("inner")
    orders.join(people, on="lower(who) = people.id", as_of="latest", how="left").to("latest")
    waiting = orders.join(people, on="who = id", as_of="event_time", how="left", grace="10 seconds")
    waiting.group_by("city").window(hr.tumbling("1 minute"), emit="final").agg(n="count(*)").to("counted")
    with TestDriver(app) as t:
        t.send("people", [person("a", "X", 0), person("a", "Y", 100), person("b", "Z", 0)])
        t.send("orders", [order(1, "a", 99.999), order(2, "a", 100), order(3, "b", 5), order(4, None, 5), b"{]"])
        rows = t.read("held")
        assert cities(rows) == [(1, "X"), (2, "Y"), (3, "Z"), (4, None)]
        one = next(row for row in rows if row["order"] == 1)
        assert one == {"order": 1, "who": "a", "at": utc(99.999), "id": "a", "city": "X", "since": utc(0)}
        assert cities(t.read("inner")) == [(1, "X"), (2, "Y")]
        assert cities(t.read("latest")) == [(1, "Y"), (2, "Y"), (3, "Z"), (4, None)]

        t.send("people", [person("a", "W", 50), hr.Delete("b")])  # a version that came late, and one that is no more
        t.send("orders", [order(5, "a", 60), order(6, "A", 60), order(7, "b", 60)])
        assert cities(t.read("held")) == [(5, "W"), (6, None), (7, "Z")]  # it was deleted later than that
        assert cities(t.read("latest")) == [(5, "W"), (6, "W"), (7, None)]  # the last that was written
        assert t.read("counted") == []

        t.advance_to(iso("9:00"))
        t.advance_to(iso("19:00"))
        counted = [((row["window_start"] - utc(0)).total_seconds(), row["city"], row["n"]) for row in t.read("counted")]
        assert sorted(counted, key=str) == sorted(
            [(0, "Z", 1), (0, None, 1), (60, "W", 2), (60, "Y", 1), (60, None, 1), (60, "Z", 1)], key=str
        )
        assert len(t.dead_letters()) == 1
        assert t.late() == []


class Pair:
    """Two tables that change at random, and their join."""

    def __init__(self, seed: int) -> None:
        self.chosen, self.left, self.right = random.Random(seed), {}, {}

    def changes(self, name: str) -> list[Any]:
        table = getattr(self, name)
        sent: list[Any] = []
        for _ in range(self.chosen.randrange(1, 8)):
            id = self.chosen.choice("pqrs")
            table.pop(id, None)
            if self.chosen.random() < 0.3:
                sent.append(hr.Delete(id))
                continue
            table[id] = {"id": id, name[0]: self.chosen.randrange(3)}
            if name == "left":
                table[id]["other"] = self.chosen.choice([*"pqrs", None])
            sent.append(table[id])
        return sent

    def by_key(self) -> list[dict[str, Any]]:
        ids = sorted({*self.left, *self.right})
        nothing = {"id": None, "l": None, "other": None}
        return [{**self.left.get(id, nothing), "id": id, "r": self.right.get(id, {"r": None})["r"]} for id in ids]

    def by_other(self, left: bool) -> list[dict[str, Any]]:
        found = []
        for _, one in sorted(self.left.items()):
            partner = self.right.get(one["other"])
            if partner or left:
                found.append({**one, "right_id": (partner or {}).get("id"), "r": (partner or {}).get("r")})
        return found

    def by_value(self) -> list[tuple[Any, ...]]:
        return sorted(
            (a["id"], b["id"], a["l"]) for a in self.left.values() for b in self.right.values() if a["l"] == b["r"]
        )


def by_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["id"])


def test_joined_tables_are_right_after_every_change_of_either() -> None:
    app = hr.App("joined")
    left = app.table("left", schema="id string, l int, other string", key="id")
    right = app.table("right", schema="id string, r int", key="id")
    left.join(right, on="id", how="full").to("by-key")
    left.join(right, on="other = right.id", how="left").to("by-other")
    left.join(right, on="left.other = right.id").to("by-other-inner")
    left.join(right, on="l = r").select("id", "right_id", "l").to("by-value")
    pair = Pair(3)
    with TestDriver(app) as t:
        for _ in range(5):
            t.send("left", pair.changes("left"))
            t.send("right", pair.changes("right"))
            assert by_id(t.table("by-key")) == pair.by_key()
            assert by_id(t.table("by-other")) == pair.by_other(left=True)
            assert by_id(t.table("by-other-inner")) == pair.by_other(left=False)
            assert sorted((one["id"], one["right_id"], one["l"]) for one in t.table("by-value")) == pair.by_value()
