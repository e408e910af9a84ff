"""Alerts on Spark: conditions of streams and tables, time, deletions, keys."""

from typing import Any

import headrace as hr
from headrace.testing import TestDriver
from tests.spark.times import iso, utc

SALES = "shop string, product string, units int, at timestamp"


def row(shop: str, units: int | None, at: float | str, product: str = "p") -> dict[str, Any]:
    return {"shop": shop, "product": product, "units": units, "at": iso(at)}


def told(rows: list[Any]) -> list[tuple[Any, ...]]:
    return [(one["rule"], *one["key"].values(), one["state"], one["since"], one["at"]) for one in rows]


def test_rules_over_one_stream_each_by_their_own_key() -> None:
    app = hr.App("alerting")
    sales = app.stream("sales", schema=SALES, event_time="at", lateness="1 second")
    hr.Alert("many", sales, per="shop", when="units > 10", until="units < 5", message="{shop}: {units}")
    hr.Alert("silent", sales, per="shop", absent="30 seconds", severity="critical")
    hr.Alert("any", sales, when="units > 50", lasting="5 seconds")
    with TestDriver(app) as t:
        t.send("sales", [row("a", 20, 1), row("b", 3, 2), b"{]"])
        (first,) = t.read("alerts")
        assert first == {
            "id": first["id"],
            "alert": "alerting/many/a",
            "rule": "many",
            "program": "alerting",
            "key": {"shop": "a"},
            "state": "firing",
            "severity": "warning",
            "message": "a: 20",
            "row": {"shop": "a", "product": "p", "units": 20, "at": utc(1)},
            "since": utc(1),
            "at": utc(1),
        }
        t.send("sales", [row("a", 7, 3), row("a", None, 4)])
        assert t.read("alerts") == []
        t.send("sales", [row("a", 4, 5), row("b", 60, 10)])
        assert told(t.read("alerts")) == [
            ("many", "a", "resolved", utc(1), utc(5)),
            ("many", "b", "firing", utc(10), utc(10)),
        ]
        t.advance_to(iso("1:00"))
        assert told(t.read("alerts")) == [
            ("any", "firing", utc(10), utc(15)),
            ("silent", "a", "firing", utc(5), utc(35)),
            ("silent", "b", "firing", utc(10), utc(40)),
        ]
        t.send("sales", [row("a", 1, 70)])
        assert sorted(told(t.read("alerts"))) == [
            ("any", "resolved", utc(10), utc(70)),
            ("silent", "a", "resolved", utc(5), utc(70)),
        ]
        assert len(t.dead_letters()) == 1


def test_a_table_has_alerts_by_its_key_and_a_deleted_row_resolves_its_own() -> None:
    app = hr.App("stocked")
    stock = app.table("stock", schema="shop string, product string, units int", key=("shop", "product"))
    hr.Alert("low", stock, when="units < 10", message="{product} in {shop}: only {units} left")
    hr.Alert("low-long", stock, when="units < 10", lasting="1 minute")
    with TestDriver(app, now=iso(0)) as t:
        rows = [{"shop": "S1", "product": p, "units": 5} for p in "ab"]
        t.send("stock", rows)
        found = t.read("alerts")
        assert {one["alert"] for one in found} == {
            'stocked/low/{"shop":"S1","product":"a"}',
            'stocked/low/{"shop":"S1","product":"b"}',
        }
        assert {one["message"] for one in found} == {"a in S1: only 5 left", "b in S1: only 5 left"}
        t.send("stock", hr.Delete({"shop": "S1", "product": "a"}))
        (gone,) = t.read("alerts")
        assert (gone["state"], gone["key"]["product"], gone["message"]) == ("resolved", "a", "a in S1: only 5 left")
        t.advance_to(iso("1:01"))  # the time at which rows were written counts
        assert [(one["rule"], one["key"]["product"]) for one in t.read("alerts")] == [("low-long", "b")]


def test_a_table_that_the_program_computes_is_watched_as_it_changes() -> None:
    app = hr.App("computed")
    sales = app.stream("sales", schema=SALES, event_time="at")
    units = sales.group_by("product").agg(units="sum(units)")
    hr.Alert("many", units, when="units >= 10", severity="info")
    units.to("units")
    with TestDriver(app) as t:
        t.send("sales", [row("a", 6, 1), row("b", 3, 2)])
        assert t.read("alerts") == []
        t.send("sales", [row("a", 1, 3)])
        (fired,) = t.read("alerts")
        assert (fired["key"], fired["row"]) == ({"product": "p"}, {"product": "p", "units": 10})
        t.send("sales", [row("a", -5, 4)])
        assert [one["state"] for one in t.read("alerts")] == ["resolved"]


def test_a_change_is_compared_with_what_was_before() -> None:
    app = hr.App("changing")
    readings = app.stream("readings", schema="sensor string, value double, at timestamp", event_time="at")
    hr.Alert("half", readings, per="sensor", change_of="value", over="1 minute", below=-0.5, relative=True)
    with TestDriver(app) as t:
        values = [(0, 100.0), (30, 90.0), (60, 80.0), (90, 30.0), (120, 60.0)]
        t.send("readings", [{"sensor": "s", "value": v, "at": iso(at)} for at, v in values])
        assert told(t.read("alerts")) == [
            ("half", "s", "firing", utc(90), utc(90)),
            ("half", "s", "resolved", utc(90), utc(120)),
        ]


def test_streams_without_a_time_go_by_that_of_the_log() -> None:
    app = hr.App("untimed")
    pings = app.stream("pings", schema="host string")
    hr.Alert("down", pings, per="host", absent="1 minute")
    with TestDriver(app, now=iso(0)) as t:
        t.send("pings", [{"host": "h"}])
        t.advance_to(iso(59))
        assert t.read("alerts") == []
        t.advance_to(iso(61))
        assert told(t.read("alerts")) == [("down", "h", "firing", utc(0), utc(60))]


def test_steps_before_an_alert() -> None:
    app = hr.App("steps")
    sales = app.stream("sales", schema=SALES, event_time="at")
    rich = (
        sales.filter("units is not null")
        .with_columns(double="units * 2")
        .map(lambda row: {"shop": row["shop"], "double": row["double"]}, "shop string, double int")
    )
    hr.Alert("double", rich, per="shop", when="double > 10", to="told")
    latest = sales.to_table("shop")
    hr.Alert("latest", latest, when="units > 10", to="told")
    final = sales.group_by("shop").window(hr.tumbling("10 seconds"), emit="final").agg(units="sum(units)")
    hr.Alert("window", final, per="shop", when="units > 10", to="told")
    with TestDriver(app) as t:
        t.send("sales", [row("a", 6, 1), row("b", 20, 2), row("b", None, 3)])
        assert sorted(told(t.read("told"))) == [
            ("double", "a", "firing", utc(1), utc(1)),
            ("double", "b", "firing", utc(2), utc(2)),
            ("latest", "b", "firing", utc(2), utc(2)),
            ("latest", "b", "resolved", utc(2), utc(3)),
        ]
        t.advance_to(iso(30))
        assert [(one["rule"], one["key"], one["row"]["units"]) for one in t.read("told")] == [
            ("window", {"shop": "b"}, 20)
        ]
