"""Streams and tables behave as the page says: its own examples, on its own program, and a test for each sentence."""

import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

import headrace as hr
from headrace.core.errors import PlanError
from headrace.log import Topics
from headrace.testing import TestDriver
from tests.concepts.page import DAY, Example, Read, examples, json_blocks, program
from tests.runtime.conftest import read, send

PAGE = "concepts/streams-and-tables.md"
NOON = f"{DAY}T12:00:00Z"


@pytest.fixture(scope="module")
def app() -> hr.App:
    app = program(PAGE)
    rents = app.table(
        "rents", schema="town string, year int, rent int, since timestamp", key=("town", "year"), event_time="since"
    )
    rents.changes().to("rent-changes")  # what the page speaks of without an example
    return app


@pytest.fixture(scope="module")
def t(app: hr.App) -> Iterator[TestDriver]:
    with TestDriver(app, now=NOON) as t:
        yield t


@pytest.fixture(scope="module")
def shown() -> dict[str, Example]:
    return examples(PAGE)


@pytest.fixture(scope="module")
def priced(t: TestDriver, shown: dict[str, Example]) -> Read:
    """The prices of the page, and some more, for other tests of the same joins."""
    rows = shown["as-of"].run(t)
    hat = [price("hat", 7, f"{DAY}T09:00:00Z"), price("hat", 8, f"{DAY}T10:05:00Z")]
    t.send("prices", [*hat, price("cap", 9, f"{DAY}T10:00:00Z"), hr.Delete("cap")])
    return rows


def sale(number: int, product: str, at: str) -> dict[str, Any]:
    return {"sale": number, "product": product, "at": at}


def price(product: str, price: int, since: str) -> dict[str, Any]:
    return {"product": product, "price": price, "since": since}


def told(t: TestDriver, topic: str) -> list[tuple[int, int | None]]:
    return [(row["sale"], row["price"]) for row in t.read(topic)]


def test_every_example_of_the_page_has_a_test(shown: dict[str, Example]) -> None:
    known = {"two-readings", "change-log", "retraction", "as-of", "global", "primary-key", "foreign-key"}
    assert set(shown) == known


def test_a_topic_can_be_read_as_a_stream_and_as_a_table(t: TestDriver, shown: dict[str, Example]) -> None:
    shown["two-readings"].run(t)


def test_an_event_without_the_key_is_in_the_stream_but_not_in_the_table(t: TestDriver) -> None:
    t.read("history")
    before = t.table("rooms")
    t.send("moves", {"room": "cellar"})
    assert t.read("history") == [{"who": None, "room": "cellar"}]
    assert t.table("rooms") == before
    [letter] = [one for one in t.dead_letters() if one["topic"] == "moves"]
    assert letter["reason"] == "the row has no key: who is missing or null"


def test_changes_are_rows_and_tombstones_outside_and_envelopes_inside(t: TestDriver, shown: dict[str, Example]) -> None:
    rows = shown["change-log"].run(t)
    [envelope] = json_blocks(PAGE)
    envelope["ts"] = datetime.fromisoformat(envelope["ts"])
    assert rows["people-changes"][1] == envelope
    assert list(rows["people-changes"][1]) == list(envelope)


def test_a_change_has_a_key_of_all_its_columns_and_the_time_of_the_table(t: TestDriver) -> None:
    t.send("rents", {"town": "Graz", "year": 2024, "rent": 9, "since": f"{DAY}T08:00:00Z"})
    [change] = t.read("rent-changes")
    assert change["key"] == {"town": "Graz", "year": 2024}
    assert change["ts"] == datetime.fromisoformat(f"{DAY}T08:00:00Z")


def test_a_changed_row_is_taken_back_from_its_group(t: TestDriver, app: hr.App, shown: dict[str, Example]) -> None:
    example = shown["retraction"]
    example.run(t)
    [changes] = [s.output.name for s in app.stages if s.inputs[0].topic == "staff" and s.output.name != "staff"]
    assert changes.endswith(".changelog")
    weighed = [[*_weighted("-1", one["before"]), *_weighted("+1", one["after"])] for one in t.read(changes)]
    assert ["<br>".join(rows) for rows in weighed] == example.note("weighted rows")


def _weighted(weight: str, row: dict[str, Any] | None) -> list[str]:
    return [] if row is None else [f"{weight} {row['name']}, {row['city']}, {row['age']}"]


def test_counts_and_sums_need_no_rows_but_extremes_do(app: hr.App) -> None:
    steps = {stage.name: stage.node for stage in app.stages if stage.name in ("cities", "eldest")}
    assert not steps["cities"].paged  # Spark adds weights; the host keeps rows
    assert steps["eldest"].paged


def test_each_event_gets_the_row_of_its_time_or_the_latest(priced: Read) -> None:
    assert len(priced["price-then"]) == 5  # each event once, none for the three changes of the table


def test_no_event_is_late_for_a_table(t: TestDriver, priced: Read) -> None:
    t.read("price-patient")
    t.send("sales", sale(10, "hat", f"{DAY}T09:30:00Z"))  # the stream's time is far beyond it
    assert (10, 7) in told(t, "price-patient")
    assert [letter for letter in t.late() if letter["topic"] == "sales"] == []


def test_with_all_prices_there_an_event_still_gets_that_of_its_time(t: TestDriver, priced: Read) -> None:
    t.read("price-then"), t.read("price-now")
    t.send("sales", sale(20, "hat", f"{DAY}T10:01:00Z"))
    assert told(t, "price-then") == [(20, 7)]
    assert told(t, "price-now") == [(20, 8)]


def test_a_version_can_be_asked_for_a_day_after_it_was_replaced(t: TestDriver, priced: Read) -> None:
    t.read("price-then")
    t.send("sales", sale(30, "hat", "2024-05-02T10:04:00Z"))
    t.send("sales", sale(31, "hat", f"{DAY}T10:04:00Z"))
    assert told(t, "price-then") == [(30, 8), (31, 7)]


def test_a_deletion_holds_from_when_it_was_written(t: TestDriver, priced: Read) -> None:
    t.read("price-then"), t.read("price-now")
    t.send("sales", [sale(40, "cap", f"{DAY}T11:59:59Z"), sale(41, "cap", NOON)])  # the log's clock says noon
    assert sorted(told(t, "price-then")) == [(40, 9), (41, None)]
    assert told(t, "price-now") == []


def test_any_expression_of_the_stream_is_compared_with_the_key(t: TestDriver, shown: dict[str, Example]) -> None:
    shown["global"].run(t)


def test_a_table_is_asked_by_its_key_only() -> None:
    app = hr.App("other-column")
    countries = app.table("countries", schema="code string, country string", key="code")
    calls = app.stream("calls", schema="number string, land string")
    with pytest.raises(PlanError, match="looks rows of a table up by the table's key, code"):
        calls.join(countries, on="land = country", as_of="latest")
    pairs = app.table("pairs", schema="a string, b string", key=("a", "b"))
    with pytest.raises(PlanError, match="by the table's key, a, b"):
        calls.join(pairs, on="number = a", as_of="latest")


def test_tables_are_joined_by_their_keys(t: TestDriver, shown: dict[str, Example]) -> None:
    shown["primary-key"].run(t)


def test_tables_are_joined_by_a_foreign_key(t: TestDriver, shown: dict[str, Example]) -> None:
    shown["foreign-key"].run(t)


def test_joined_tables_have_the_key_of_the_left_and_can_be_used_again(app: hr.App) -> None:
    [joined] = [stage.node for stage in app.stages if stage.name == "addresses"]
    assert joined.key == ("invoice",)
    again = hr.App("again")
    invoices = again.table("invoices", schema="invoice int, buyer string", key="invoice")
    buyers = again.table("buyers", schema="name string, city string, land string", key="name")
    lands = again.table("lands", schema="land string, tax int", key="land")
    addresses = invoices.join(buyers, on="buyer = name")
    addresses.join(lands, on="land").to("taxed")
    addresses.group_by("city").agg(n="count(*)").to("per-city")
    assert {"taxed", "per-city"} <= {stage.name for stage in again.stages}


@pytest.mark.usefixtures("cluster")
def test_a_table_is_read_whole_before_the_first_event_and_written_as_rows_and_tombstones() -> None:
    name = f"concepts-{uuid.uuid4().hex[:8]}"
    asked, many = 15, 40
    app = hr.App(name, max_batch=10)  # of the stream: a table is read whole, however large
    countries = app.table(f"{name}-countries", schema="code string, country string", key="code")
    calls = app.stream(f"{name}-calls", schema="code string")
    calls.join(countries, on="code", as_of="latest", how="left").to(f"{name}-origins")
    countries.filter("code <> '7'").to(f"{name}-copy")
    with Topics() as topics:
        topics.create(f"{name}-calls", partitions=3)
        topics.create(f"{name}-countries", partitions=2)
    send(f"{name}-calls", [{"code": str(number)} for number in range(asked)])  # before the table is there
    send(f"{name}-countries", [{"code": str(number), "country": f"c{number}"} for number in range(many)], key="code")
    app.run(drain=True)
    found = [event.value for event in read(f"{name}-origins")]
    assert len(found) == asked
    assert all(row["country"] == f"c{row['code']}" for row in found)
    copy = {event.key: event.value for event in read(f"{name}-copy")}
    assert copy.pop("7") is None
    assert copy == {str(n): {"code": str(n), "country": f"c{n}"} for n in range(many) if n != 7}
    with Topics() as topics:
        assert topics.describe(f"{name}-copy").config["cleanup.policy"] == "compact"
