"""Alerts declared: how rules come together in stages, and what is refused, with the remedy and the line."""

import pytest

import headrace as hr
from headrace.core.errors import HeadraceError
from headrace.plan.alert import Alerts
from headrace.plan.source import Through

STOCK = "shop string, product string, units int, at timestamp"


@pytest.fixture
def app():
    return hr.App("shop")


@pytest.fixture
def sales(app):
    return app.stream("sales", schema=STOCK, key="shop", event_time="at")


@pytest.fixture
def stock(app):
    return app.table("stock", schema=STOCK, key=("shop", "product"))


def refused(why, *given, **options):
    with pytest.raises(HeadraceError, match=why) as error:
        hr.Alert(*given, **options)
    assert "test_alerts.py, line" in "".join(error.value.__notes__)


def alerting(app):
    return [stage for stage in app.stages if isinstance(stage.node, Alerts)]


def test_rules_over_the_same_rows_share_a_stage(app, stock, sales):
    hr.Alert("low", stock, when="units < 10")
    hr.Alert("silent", sales, per="shop", absent="1 minute")
    hr.Alert("none", stock, when="units <= 0", severity="critical")
    first, second = alerting(app)
    assert [rule.name for rule in first.node.rules] == ["low", "none"]
    assert [rule.name for rule in second.node.rules] == ["silent"]
    assert (first.name, second.name) == ("alerts-stock", "alerts-sales")
    assert {stage.output.topic for stage in (first, second)} == {"alerts"}


def test_other_rows_of_the_same_topic_and_other_topics_have_stages_of_their_own(app, sales):
    hr.Alert("a", sales, when="units > 10")
    hr.Alert("b", sales.filter("units > 0"), when="units > 10")
    hr.Alert("c", sales, when="units > 10", to="mine")
    names = [stage.name for stage in alerting(app)]
    assert len(set(names)) == 3
    assert names[0] == "alerts-sales" and names[2] == "mine-sales"


def test_a_table_that_is_written_anyway_is_watched_in_its_topic(app, sales):
    units = sales.group_by("product").agg(units="sum(units)")
    hr.Alert("many", units, when="units > 100")
    assert [stage.name for stage in app.stages if not isinstance(stage.node, Alerts)] != ["units"]
    units.to("units", partitions=2)
    assert [stage.name for stage in app.stages] == ["units", "alerts-units"]
    (stage,) = alerting(app)
    assert isinstance(stage.node.parent, Through) and stage.node.parent.topic == "units"


def test_a_table_has_an_alert_for_each_key_and_a_stream_one_for_all(app, stock, sales):
    assert hr.Alert("a", stock, when="units < 1").rule.per == ("shop", "product")
    assert hr.Alert("b", sales, when="units < 1").rule.per == ()
    assert hr.Alert("c", sales, when="units < 1", per=["Shop"]).rule.per == ("shop",)
    for n, emit in enumerate(("updates", "final")):
        minutes = sales.group_by("shop").window(hr.tumbling("1 minute"), emit=emit).agg(n="count(*)")
        assert hr.Alert(f"d{n}", minutes, when="n < 1").rule.per == ("shop",)


def test_rules_may_come_and_go_while_the_state_is_kept(app, stock):
    hr.Alert("a", stock, when="units < 1")
    before = alerting(app)[0].fingerprint
    hr.Alert("b", stock, when="units < 2", lasting="1 minute")
    assert alerting(app)[0].fingerprint == before


def test_time_goes_on_by_itself_where_a_rule_waits_for_it(app, stock):
    hr.Alert("a", stock, when="units < 1")
    assert alerting(app)[0].idle is None
    hr.Alert("b", stock, when="units < 1", lasting="1 hour")
    assert alerting(app)[0].idle.total_seconds() == 5
    hr.Alert("c", stock, absent="10 seconds")
    assert alerting(app)[0].idle.total_seconds() == 2


def test_explain_tells_the_rules(app, stock):
    hr.Alert("low", stock, when="units < 10", until="units >= 30", lasting="30 seconds")
    hr.Alert("fall", stock, per="shop", change_of="units", over="5 minutes", below=-0.5, relative=True)
    told = app.explain()
    assert "low per shop, product: units < 10 for 30 s, until units >= 30" in told
    assert "fall per shop: change of units over 5 min below -0.5 of what it was" in told
    assert "keeps what holds and fires per rule and key" in told


def test_a_message_may_spell_columns_as_sql_does(stock):
    assert hr.Alert("a", stock, when="units < 1", message="{SHOP}: {Units:,}").rule.message == "{shop}: {units:,}"


def test_what_cannot_be_a_rule(app, stock, sales):
    refused("one of when=.*it has none", "a", stock)
    refused("it has when and absent", "a", stock, when="units < 1", absent="1 minute")
    refused("needs a stream or a table", "a", "stock", when="units < 1")
    refused("is no name of an alert", "a b", stock, when="units < 1")
    refused("is no name of an alert", "x" * 101, stock, when="units < 1")
    refused("is no name of an alert", None, stock, when="units < 1")
    refused("when 'unit < 1' names 'unit'.*did you mean 'units'", "a", stock, when="unit < 1")
    refused("is of type INT, not true or false", "a", stock, when="units + 1")
    refused("until 'units' is of type INT", "a", stock, when="units < 1", until="units")
    refused("aggregates with", "a", stock, when="sum(units) < 1")
    refused("leave until= and lasting= away", "a", stock, absent="1 minute", lasting="1 minute")
    refused("absent must be above 0", "a", stock, absent="0 seconds")
    refused("'soon' is not a time span", "a", stock, when="units < 1", lasting="soon")
    refused("severity must be info, warning, critical", "a", stock, when="units < 1", severity="bad")
    refused("per names 'city'", "a", stock, when="units < 1", per="city")
    refused("per names", "a", stock, when="units < 1", per=7)
    refused("is not a topic name", "a", stock, when="units < 1", to="a b")
    hr.Alert("a", stock, when="units < 1")
    refused("two alerts are called 'a'", "a", sales, when="units < 1")
    assert [rule.name for stage in alerting(app) for rule in stage.node.rules] == ["a"]


def test_what_cannot_be_a_change(stock):
    refused("say over='5 minutes'", "a", stock, change_of="units", below=-1)
    refused("say change_of='column' too", "a", stock, when="units < 1", over="1 minute")
    refused("say change_of='column' too", "a", stock, when="units < 1", relative=True)
    refused("needs above= or below=", "a", stock, change_of="units", over="1 minute")
    refused("is of type STRING, not a number", "a", stock, change_of="shop", over="1 minute", above=1)
    refused("above must be a number", "a", stock, change_of="units", over="1 minute", above="1")
    refused("below must be a number", "a", stock, change_of="units", over="1 minute", below=float("nan"))
    refused("over must be at least", "a", stock, change_of="units", over="1 ms", above=1)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("{city} is low", "message names 'city'"),
        ("{units", "a bracket is left over"),
        ("{units!r}", "message names 'units!r'"),
        ("{units.__class__}", "message names"),
        ("{units:>999999}", "unknown format '>999999'"),
        (7, "message must be text"),
    ],
)
def test_what_cannot_be_a_message(stock, message, why):
    refused(why, "a", stock, when="units < 1", message=message)


def test_streams_of_two_programs_have_their_own_rules(stock):
    other = hr.App("other")
    hr.Alert("a", stock, when="units < 1")
    hr.Alert("a", other.stream("s", schema="n int"), when="n > 1")
    assert [stage.name for stage in other.stages] == ["alerts-s"]
