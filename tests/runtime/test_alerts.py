"""Alerts of running programs: written once, told to people, and tried over the history."""

import json
from datetime import UTC, datetime, timedelta

import pytest

import headrace as hr
from headrace.alerts import AlertLog
from headrace.core.errors import ConfigError, UnknownAlertError
from headrace.core.settings import AlertSettings, Settings
from headrace.log import Topics
from headrace.testing.backtest import backtest
from tests.alerts.receiver import Hook, listening
from tests.runtime.conftest import read, send, until

SCHEMA = "shop string, units int, at timestamp"


@pytest.fixture
def alerts(name):
    return f"{name}-alerts"


def just_after(topic):
    """Return a time after all that was written to a topic, once the clock is past it."""
    time = max(event.timestamp for event in read(topic)) + timedelta(milliseconds=1)
    until(lambda: datetime.now(UTC) > time)
    return time


def settings_with(monkeypatch, **alerts):
    real = Settings.load
    monkeypatch.setattr(Settings, "load", lambda *a, **k: real(*a, **{"alerts": AlertSettings(**alerts), **k}))


def test_an_alert_of_a_running_program_fires_is_told_and_resolves(app, source, alerts, monkeypatch):
    with listening(Hook()) as hook:
        settings_with(
            monkeypatch,
            notify=(hook.url,),
            secret="a secret of enough letters",
            allow_private=True,
            gather="100 ms",
            every="0 seconds",
        )
        sales = app.stream(source, schema=SCHEMA, event_time="at")
        hr.Alert("low", sales, per="shop", when="units < 10", message="{shop}: {units}", to=alerts)
        with app.start() as run, AlertLog(topic=alerts) as log:
            send(source, [{"shop": "a", "units": 3, "at": "2024-05-01T10:00:00Z"}], "shop")
            until(log.current)
            assert log.current()[0]["message"] == "a: 3"
            assert json.loads(hook.wait(1)[0].body)["alerts"][0]["message"] == "a: 3"
            send(source, [{"shop": "a", "units": 30, "at": "2024-05-01T10:00:01Z"}], "shop")
            until(lambda: not log.current())
            hook.wait(2)
            assert [one["state"] for one in log.history()] == ["resolved", "firing"]
            run.drain(60)
    with Topics() as topics:
        assert topics.describe(alerts).config["cleanup.policy"] == "compact"


@pytest.mark.timeout(120)
def test_a_program_ends_when_all_is_processed_although_alerts_wait_for_time(name, source, alerts):
    app = hr.App(name, every="1 second")
    sales = app.stream(source, schema=SCHEMA, time="append")
    hr.Alert("silent", sales, per="shop", absent="1 hour", to=alerts)
    sales.select("shop").to(f"{name}-out")
    send(source, [{"shop": "a", "units": 3}], "shop")
    app.run(drain=True)
    assert [row.value["shop"] for row in read(f"{name}-out")] == ["a"]


def test_a_shop_that_is_silent_is_told_although_nothing_comes_any_more(app, source, alerts):
    sales = app.stream(source, schema=SCHEMA, time="append")
    hr.Alert("silent", sales, per="shop", absent="2 seconds", to=alerts)
    with app.start(), AlertLog(topic=alerts) as log:
        send(source, [{"shop": "a", "units": 3}], "shop")
        until(log.current)
        assert log.current()[0]["key"] == {"shop": "a"}


def test_a_table_that_stays_as_it_is_fires_after_a_while(app, name, source, alerts):
    sales = app.stream(source, schema=SCHEMA, event_time="at")
    units = sales.group_by("shop").agg(units="sum(units)")
    units.to(f"{name}-units")
    hr.Alert("few", units, when="units < 10", lasting="2 seconds", to=alerts)
    with app.start(), AlertLog(topic=alerts) as log:
        send(source, [{"shop": "a", "units": 3, "at": "2024-05-01T10:00:00Z"}], "shop")
        until(log.current)
        send(source, [{"shop": "a", "units": 30, "at": "2024-05-01T10:00:00Z"}], "shop")
        until(lambda: not log.current())


def test_targets_that_are_wrong_are_told_before_anything_starts(app, source, alerts, monkeypatch):
    settings_with(monkeypatch, notify=("nonsense://x",))
    hr.Alert("low", app.stream(source, schema=SCHEMA), when="units < 10", to=alerts)
    with pytest.raises(ConfigError, match="apprise does not understand the target 'nonsense'"):
        app.start()


def test_what_fired_goes_on_firing_after_a_restart_and_is_told_once(name, source, alerts):
    def program():
        app = hr.App(name)
        hr.Alert("low", app.stream(source, schema=SCHEMA, event_time="at"), per="shop", when="units < 10", to=alerts)
        return app

    send(source, [{"shop": "a", "units": 3, "at": "2024-05-01T10:00:00Z"}], "shop")
    with program().start() as run:
        run.drain(60)
    send(source, [{"shop": "a", "units": 2, "at": "2024-05-01T10:00:01Z"}], "shop")
    again = program()
    hr.Alert("none", again.stream("unused-" + name, schema=SCHEMA), when="units < 1", to=alerts)
    with again.start() as run, AlertLog(topic=alerts) as log:
        run.drain(60)
        assert [one["state"] for one in log.history()] == ["firing"]


def test_a_rule_is_tried_over_the_history_and_nothing_is_written(app, name, source, alerts):
    sales = app.stream(source, schema=SCHEMA, event_time="at")
    hr.Alert("low", sales, per="shop", when="units < 10", message="{shop}: {units}", to=alerts)
    hr.Alert("other", sales, when="units < 100", to=alerts)
    send(source, [{"shop": "early", "units": 1, "at": "2024-05-01T09:00:00Z"}], "shop")
    between = just_after(source)
    rows = [("a", 3), ("b", 30), ("a", 40), ("b", 5)]
    for n, (shop, units) in enumerate(rows):
        send(source, [{"shop": shop, "units": units, "at": f"2024-05-01T10:00:0{n}Z"}], "shop")
    found = backtest(app, "low", between)
    assert found.rows == 4, found
    assert [(one["key"]["shop"], one["message"]) for one in found.alerts] == [("a", "a: 3"), ("b", "b: 5")], found
    assert found.alerts[0]["resolved"] - found.alerts[0]["fired"] == timedelta(seconds=2)
    assert (found.fired, found.resolved, found.rows, found.resolution) == (2, 1, 4, None)
    with Topics() as topics:
        assert not [one.name for one in topics.list() if one.name.startswith(name) and one.name != source]
    whole = backtest(app, "low", between - timedelta(hours=1), between)
    assert [one["key"]["shop"] for one in whole.alerts] == ["early"]
    with pytest.raises(UnknownAlertError, match="declares no alert 'high'; it declares low, other"):
        backtest(app, "high", between)
    with pytest.raises(ConfigError, match="before it begins"):
        backtest(app, "low", between, between - timedelta(hours=1))


def test_the_history_ends_within_a_millisecond_and_what_was_written_in_it_counts(app, source, alerts):
    hr.Alert("low", app.stream(source, schema=SCHEMA, event_time="at"), per="shop", when="units < 10", to=alerts)
    send(source, [{"shop": "a", "units": 3, "at": "2024-05-01T10:00:00Z"}], "shop")
    [event] = read(source)
    before = event.timestamp - timedelta(hours=1)
    assert backtest(app, "low", before, event.timestamp + timedelta(microseconds=1)).fired == 1
    assert backtest(app, "low", event.timestamp + timedelta(microseconds=999)).fired == 1
    assert backtest(app, "low", before, event.timestamp).fired == 0


def test_a_rule_over_what_the_program_computes_is_tried_with_all_that_was_before(app, name, source, alerts):
    sales = app.stream(source, schema=SCHEMA, event_time="at")
    units = sales.group_by("shop").agg(units="sum(units)")
    units.to(f"{name}-units")
    hr.Alert("many", units, when="units > 10", to=alerts)
    send(source, [{"shop": "a", "units": 8, "at": "2024-05-01T09:00:00Z"}], "shop")
    between = just_after(source)
    send(source, [{"shop": "a", "units": 8, "at": "2024-05-01T10:00:00Z"}], "shop")
    found = backtest(app, "many", between)
    assert [one["key"] for one in found.alerts] == [{"shop": "a"}]
    assert found.rows == 2 and found.resolution is not None
    with Topics() as topics:
        assert f"{name}-units" not in [one.name for one in topics.list()]
