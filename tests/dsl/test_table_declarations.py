"""Tables declared wrongly: refused at once, with the remedy and the line."""

import pytest

import headrace as hr
from headrace.core.errors import HeadraceError, PlanError

ORDERS = "order string, who string, n int, at timestamp"


@pytest.fixture
def app():
    return hr.App("wrong")


@pytest.fixture
def orders(app):
    return app.stream("orders", schema=ORDERS, key="order", event_time="at")


@pytest.fixture
def people(app):
    return app.table("people", schema="id string, city string", key="id")


def refused(declare, message):
    with pytest.raises(HeadraceError, match=message) as error:
        declare()
    assert "test_table_declarations.py, line" in "".join(error.value.__notes__)


def test_tables(app):
    refused(lambda: app.table("t", schema="a int", key=()), "a table needs key=")
    refused(lambda: app.table("t", schema="a int", key="b"), "key names .*b")
    refused(lambda: app.table("t", schema="a int", key="a", envelope="avro"), "envelope must be 'debezium'")
    refused(lambda: app.table("t", schema="a int", key="a", event_time="a"), "is of type INT, not timestamp")
    refused(lambda: app.table("t", schema="a int", key="a", history="often"), "often")
    refused(lambda: app.table("a b", schema="a int", key="a"), "a b")


def test_verbs_of_tables(app, people, orders):
    refused(lambda: people.select("city"), "a table keeps its key")
    refused(lambda: people.with_columns(id="upper(id)"), "a table keeps its key")
    refused(lambda: people.group_by("city").window(hr.tumbling("1 minute")), "window.. cuts the time of a stream")
    refused(lambda: people.sink("parquet", "x"), "files only grow")
    refused(lambda: people.group_by("city").process(hr.Processor(), "n int"), r"take its changes\(\)")
    refused(lambda: orders.to_table("nothing"), "to_table names")
    refused(lambda: app.stream("s", schema="a int").to_table(), "to_table.. needs the columns")
    final = orders.group_by("who").window(hr.tumbling("1 minute"), emit="final").agg(n="count(*)")
    refused(final.changes, "these results are final")
    refused(lambda: final.join(people, on="who = id"), "these results are final")


def test_joins_with_tables(app, people, orders):
    refused(lambda: orders.join(people, on="who = id"), "needs as_of=")
    refused(lambda: orders.join(people, on="who = id", within="1 minute"), "say as_of=")
    refused(lambda: orders.join(people, on="who = id", as_of="now"), "as_of must be")
    refused(lambda: orders.join(people, on="who = city", as_of="latest"), "by the table's key, id")
    refused(lambda: orders.join(people, on="who = id", as_of="latest", how="full"), "how must be one of inner, left")
    refused(lambda: orders.join(people, on="who = id", as_of="latest", grace="1 s"), "Leave grace away")
    refused(lambda: orders.join(orders, on="order", as_of="latest"), "as_of= and grace= are for joins with a table")
    untimed = app.stream("untimed", schema="order string, who string")
    refused(lambda: untimed.join(people, on="who = id", as_of="event_time"), "declare the stream with event_time=")
    refused(lambda: people.join(orders, on="who = id"), "needs another table")
    refused(lambda: people.join(people, on="city", how="semi"), "how must be one of inner, left, right, full")
    other = hr.App("other").table("people", schema="id string", key="id")
    refused(lambda: people.join(other, on="id"), "two programs")


def test_windows_clocks_and_operators(app, orders):
    refused(lambda: hr.sliding("0 seconds"), "at least 1 ms")
    refused(lambda: orders.group_by().process(hr.Processor(), "n int"), "name its columns in group_by")
    refused(lambda: orders.group_by("who").process(len, "n int"), "needs an hr.Processor")
    refused(lambda: orders.group_by("who").process(hr.Processor(), "n int", clock="mine"), "clock must be")
    refused(lambda: orders.group_by("who").process(hr.Processor(), "n int", patience="0 s"), "patience must be above 0")
    refused(lambda: orders.group_by("who").process(hr.Processor(), "n what"), "what")
    untimed = app.stream("untimed", schema="who string")
    refused(lambda: untimed.group_by("who").process(hr.Processor(), "n int"), "use clock='processing'")
    wrong = {"event": "at", "sent": "at", "max_skew": "1 hour"}
    refused(lambda: orders.correct_clock(**{**wrong, "sent": "n"}), "is of type INT, not timestamp")
    refused(lambda: orders.correct_clock(**{**wrong, "event": "then"}), "correct_clock names")
    refused(lambda: orders.filter("n > 0").correct_clock(**wrong), "comes right after app.stream")


def test_the_same_step_twice_is_one_and_another_of_its_name_is_refused(app, people):
    by_city = people.group_by("city")
    by_city.agg(n="count(*)").to("one")
    by_city.agg(most="max(id)").to("two")
    names = [stage.name for stage in app.stages]
    assert sum(name.endswith(".changelog") for name in names) == 1
    people.changes(before=True, name="same").to("a")
    with pytest.raises(PlanError, match="two steps are called 'same'"):
        people.filter("city = 'X'").changes(before=True, name="same").to("b")


def test_a_table_of_changing_rows_can_be_read_by_several_steps(app, orders, people):
    counts = orders.group_by("who").agg(n="count(*)")
    counts.to("counts")
    counts.join(people, on="who = id", how="left").to("named")
    counts.filter("n > 1").group_by().agg(many="count(*)").to("many")
    names = [stage.name for stage in app.stages]
    assert sum(name.startswith("wrong.aggregate-") for name in names) == 2
