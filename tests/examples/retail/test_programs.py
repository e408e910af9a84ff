"""The programs of the retail mesh, each alone: a few invoices in, a few rows out."""

import os
from datetime import date, timedelta

import pytest

import headrace as hr
from examples.retail import analytics, finance, fraud, gateway, inventory, loyalty, shipment, watch
from headrace.core.errors import PlanError
from headrace.testing import TestDriver
from tests.examples.retail.rows import TEN, at, invoice


def only(rows, *names):
    return [tuple(row[name] for name in names) for row in rows]


def test_the_gateway_passes_each_invoice_on_once_with_its_right_time():
    slow = {"at": at(-1800), "sent_at": at(-1795)}  # a clock that is half an hour behind; sent five seconds later
    with TestDriver(gateway.app, now=TEN) as t:
        t.send("till-invoices", [invoice(1), invoice(2), invoice(1), {**invoice(3), **slow}])
        expected = [("S01-1-1", TEN), ("S01-1-2", TEN), ("S01-1-3", at(-5))]
        assert sorted(only(t.read("invoices"), "invoice", "at")) == expected
        t.advance_to(at(150))
        cut_off = [invoice(n, 10 + n, sent_at=at(150)) for n in (4, 5)]  # sent two minutes later, twice
        t.send("till-invoices", [*cut_off, invoice(1), *cut_off])
        assert sorted(only(t.read("invoices"), "invoice", "at")) == [("S01-1-4", at(14)), ("S01-1-5", at(15))]
        t.advance_to(at(235))
        t.send("till-invoices", [invoice(2), invoice(3), invoice(4, 14, sent_at=at(150))])
        assert t.read("invoices") == []
        t.advance_to(at(7200))
        t.send("till-invoices", invoice(6, 20, sent_at=at(7200)))  # a shop that was cut off for two hours
        assert only(t.read("invoices"), "invoice", "at") == [("S01-1-6", at(20))]
        t.send("till-invoices", b'{"invoice": "S01-1-7", "cents": "many"}')
        assert "cents" in t.dead_letters()[0]["reason"]
        assert t.late() == []


def sign(shop="S01"):
    return {"shop": shop, "city": "Lisbon", "at": TEN}


def test_a_shop_that_gives_no_sign_is_told_until_it_does_and_one_that_closes_is_not():
    told = ("rule", "state", "key", "message")
    with TestDriver(watch.app, now=TEN) as t:
        t.send("shops-open", [sign("S01"), sign("S02"), sign("S03")])
        t.advance_to(at(50))
        t.send("shops-open", [sign("S02"), hr.Delete("S03")])
        assert t.read("alerts") == []
        t.advance_to(at(65))
        message = "S01 in Lisbon has given no sign for a minute"
        assert only(t.read("alerts"), *told) == [("shop-silent", "firing", {"shop": "S01"}, message)]
        t.send("shops-open", sign("S01"))
        assert only(t.read("alerts"), "state") == [("resolved",)]


def test_an_invoice_counts_for_all_for_its_shop_and_for_its_products():
    with TestDriver(analytics.app) as t:
        t.send(
            "invoices",
            [
                invoice(1, 5, units={"baguette": 2, "bananas-1-kg": 1}),
                invoice(2, 50, shop="S02", units={"baguette": 1}),
                invoice(3, 70, units={"baguette": -1}),  # given back in the next minute
            ],
        )
        rows = only(t.table("revenue"), "dimension", "name", "window_start", "cents", "sales")
        assert sorted(rows) == [
            ("product", "Baguette", TEN, 387, 3),
            ("product", "Baguette", at(60), -129, -1),
            ("product", "Bananas 1 kg", TEN, 189, 1),
            ("shop", "S01", TEN, 447, 1),
            ("shop", "S01", at(60), -129, 1),
            ("shop", "S02", TEN, 129, 1),
            ("total", "total", TEN, 576, 2),
            ("total", "total", at(60), -129, 1),
        ]


def test_a_minute_is_compared_with_the_same_minute_an_hour_and_a_day_ago():
    hour, day = 3600, 24 * 3600
    with TestDriver(analytics.app) as t:
        t.send("invoices", invoice(1, -day, cents=1))
        t.send("invoices", invoice(2, -hour, cents=20))
        t.read("revenue-compared")
        t.send("invoices", [invoice(3, 0, cents=300), invoice(4, 61, cents=4)])
        names = ("dimension", "name", "window_start", "cents", "hour_ago", "day_ago")
        assert sorted(only(t.read("revenue-compared"), *names), key=str) == [
            ("product", "Baguette", TEN, 129, 129, 129),
            ("product", "Baguette", at(60), 129, None, None),
            ("shop", "S01", TEN, 300, 20, 1),
            ("shop", "S01", at(60), 4, None, None),
            ("total", "total", TEN, 300, 20, 1),
            ("total", "total", at(60), 4, None, None),
        ]
        t.send("invoices", invoice(5, 30, cents=5))  # the same minute goes on
        assert sorted(only(t.read("revenue-compared"), *names)) == [
            ("product", "Baguette", TEN, 258, 129, 129),
            ("shop", "S01", TEN, 305, 20, 1),
            ("total", "total", TEN, 305, 20, 1),
        ]


def test_what_is_sold_no_more_is_forgotten_after_a_day():
    kept = {"cucumber": 1}
    with TestDriver(analytics.app) as t:
        t.send("invoices", invoice(1, 0))
        for hours in (24, 26):  # the second moves time beyond the day, and rings
            t.send("invoices", invoice(2, hours * 3600, units=kept))
        t.read("revenue-compared")
        t.send("invoices", invoice(3, 24 * 3600 + 1))  # a day later, but told two hours after that
        rows = [row for row in t.read("revenue-compared") if row["name"] == "Baguette"]
        assert only(rows, "cents", "day_ago") == [(129, None)]


def test_stock_goes_down_with_sales_and_up_with_supplies_and_returns():
    with TestDriver(inventory.app) as t:
        t.send("supplies", {"shop": "S01", "product": "baguette", "units": 50, "at": TEN})
        t.send("invoices", [invoice(1, units={"baguette": 3, "cucumber": 1}), invoice(2, shop="S02")])
        t.send("invoices", invoice(3, units={"baguette": -2}))
        assert sorted(only(t.table("stock"), "shop", "product", "units")) == [
            ("S01", "baguette", 49),
            ("S01", "cucumber", -1),
            ("S02", "baguette", -1),
        ]


def test_what_runs_low_is_told_until_it_is_supplied():
    with TestDriver(inventory.app, now=TEN) as t:
        t.send("supplies", {"shop": "S01", "product": "baguette", "units": 50, "at": TEN})
        t.send("invoices", invoice(1, units={"baguette": 41}))
        t.advance_to(at(30))
        assert only(t.read("alerts"), "rule", "state", "message") == [
            ("low-stock", "firing", "baguette in S01: only 9 left")
        ]
        t.send("supplies", {"shop": "S01", "product": "baguette", "units": 15, "at": TEN})
        assert t.read("alerts") == []  # there are 24: better, but not enough
        t.send("supplies", {"shop": "S01", "product": "baguette", "units": 15, "at": TEN})
        assert only(t.read("alerts"), "state") == [("resolved",)]


def test_who_reaches_a_step_gets_a_reward_and_the_same_reward_only_once():
    with TestDriver(loyalty.app) as t:
        t.send("invoices", [invoice(1, 1, loyalty="L1", cents=19_950), invoice(2, 2, cents=100_000)])
        assert t.read("rewards") == []
        t.send("invoices", [invoice(3, 5, "S02", loyalty="L1", cents=20_100), invoice(4, 6, loyalty="L1", cents=150)])
        rewards = sorted(t.read("rewards"), key=lambda row: row["points"])
        assert only(rewards, "loyalty", "shop", "points", "sold_at") == [
            ("L1", "S02", 200, at(5)),
            ("L1", "S02", 400, at(5)),  # 199 points and 201 are two steps at once
        ]
        assert rewards[0]["message"] == "200 points! 2 € off your next purchase."
        t.send("invoices", [invoice(5, 7, loyalty="L1", cents=-20_100), invoice(6, 8, loyalty="L1", cents=20_100)])
        assert t.read("rewards") == []  # below 400 points, and there again
        assert only(t.table("points"), "loyalty", "points", "invoices") == [("L1", 401, 5)]


def test_a_delivery_comes_out_with_its_reservation_or_as_missing():
    home = {"address": "Mill Lane 7", "city": "Oslo"}
    with TestDriver(shipment.app) as t:
        t.send("invoices", [invoice(n, n, "WEB", delivery=home) for n in (1, 2, 3)] + [invoice(4, 4)])
        t.send("reservations", {"invoice": "WEB-1-1", "warehouse": "north", "at": at(60)})
        [row] = t.read("shipments")
        assert row == {
            "invoice": "WEB-1-1",
            "shop": "WEB",
            "at": at(1),
            "address": "Mill Lane 7",
            "city": "Oslo",
            "warehouse": "north",
            "reserved_at": at(60),
            "state": "reserved",
        }
        t.send("reservations", {"invoice": "WEB-1-2", "warehouse": "east", "at": at(303)})  # a second too late
        t.advance_to(at(900))
        missing = [("WEB-1-2", None, "missing"), ("WEB-1-3", None, "missing")]
        assert sorted(only(t.read("shipments"), "invoice", "warehouse", "state")) == missing


def test_the_books_have_every_invoice_of_a_day_however_late_it_comes():
    with TestDriver(finance.app) as t:
        t.send("invoices", [invoice(1, cents=1050), invoice(2, shop="S02", cents=3), invoice(3, cents=-50)])
        t.send("invoices", invoice(4, 30 * 24 * 3600, cents=7))
        t.send("invoices", invoice(5, 1, cents=99))  # a month late
        assert sorted(only(t.table("daily"), "day", "shop", "cents", "invoices", "returns", "refunded")) == [
            (date(2024, 5, 1), "S01", 1099, 3, 1, 50),
            (date(2024, 5, 1), "S02", 3, 1, 0, 0),
            (date(2024, 5, 31), "S01", 7, 1, 0, 0),
        ]


def test_a_card_in_two_cities_within_minutes_is_told_once_and_a_large_refund_always():
    def use(number, seconds, city, **more):
        return invoice(number, seconds, **{"city": city, "card": "C1", **more})

    with TestDriver(fraud.app) as t:
        t.send("invoices", [use(1, 0, "Oslo"), use(2, 5, "Oslo"), use(3, 5, "Rome", card="C2"), use(4, 9, "Rome")])
        assert only(t.read("fraud"), "kind", "card", "invoice", "message") == [
            ("two-cities", "C1", "S01-1-4", "used in Oslo and Rome")
        ]
        t.send("invoices", [use(5, 300, "Oslo"), use(6, 301, "Web", shop="WEB")])
        t.send("invoices", [use(7, 606, "Rome", card="C2"), use(8, 606, "Oslo", card="C2", cents=-29_999)])
        assert only(t.read("fraud"), "invoice") == [("S01-1-8",)]  # C1 is known; C2 was in Rome just now
        t.send("invoices", [use(9, 610, "Web", shop="WEB", card="C3", cents=-30_000)])
        assert only(t.read("fraud"), "kind", "card", "message") == [("refund", "C3", "300.00 € given back in Web")]
        t.send("invoices", [use(10, 910, "Rome", card="C4"), use(11, 1511, "Oslo", card="C4")])  # ten minutes and more
        assert t.read("fraud") == []
        t.send("invoices", use(12, 1300, "Rome", card="C4"))  # comes late, and is compared with those around it
        assert only(t.read("fraud"), "message") == [("used in Oslo and Rome",)]


def test_a_card_that_goes_on_being_used_in_two_cities_is_told_again_when_ten_minutes_have_passed():
    uses = [invoice(n, 300 * n, city=("Oslo", "Rome")[n % 2], card="C1") for n in range(25)]  # two hours
    with TestDriver(fraud.app) as t:
        t.send("invoices", uses[:9])
        t.send("invoices", uses[9:])
        told = [row["at"] for row in t.read("fraud")]
    assert told == [at(300 + 900 * n) for n in range(8)]


def test_a_large_refund_in_cash_is_told_and_counts_as_no_use_of_a_card():
    with TestDriver(fraud.app, now=TEN) as t:
        cash = [invoice(n, n, city=("Oslo", "Rome")[n % 2], cents=-30_000) for n in range(6)]
        t.send("invoices", [*cash, invoice(6, 6, cents=-29_999), invoice(7, 7, card="C1", cents=-30_000)])
        told = only(t.read("fraud"), "kind", "card", "invoice")
        assert sorted(told, key=str) == [
            ("refund", "C1", "S01-1-7"),
            *(("refund", None, f"S01-1-{n}") for n in range(6)),
        ]
        assert only(t.table("fraud-minutes"), "uses", "suspicions") == [(1, 1)]
        assert t.read("alerts") == []


def test_a_wave_of_copied_cards_is_told():
    def pair(card, number):
        return [invoice(number + n, n, city=city, card=card) for n, city in enumerate(("Oslo", "Rome"))]

    with TestDriver(fraud.app, now=TEN) as t:
        t.send("invoices", [row for n in range(4) for row in pair(f"C{n}", 10 * n)])
        assert t.read("alerts") == []
        t.send("invoices", pair("C9", 90))
        [alert] = t.read("alerts")
        assert (alert["rule"], alert["state"], alert["severity"]) == ("fraud-wave", "firing", "critical")
        assert alert["message"] == "5 suspicions among 10 uses of cards within a minute"
        t.advance_to(at(60))
        t.send("invoices", invoice(100, 61, card="C10"))
        assert only(t.read("alerts"), "state") == [("resolved",)]


def test_the_lake_is_a_program_that_writes_files(monkeypatch, tmp_path):
    monkeypatch.setitem(os.environ, "RETAIL_LAKE", str(tmp_path))
    from examples.retail import lake  # noqa: PLC0415 - where to is read when it is declared

    with pytest.raises(PlanError, match="writes files"):
        TestDriver(lake.app)
    assert lake.app.options.pause == timedelta(seconds=20)
    assert isinstance(lake.app, hr.App)
    assert [*lake.invoices.columns, "sent_at"] == gateway.right.columns  # all but the till's clock
