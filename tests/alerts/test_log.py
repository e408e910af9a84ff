"""What fires now, what did before, and what people say to it."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from headrace.alerts import AlertLog
from headrace.alerts.topics import control_topic, create
from headrace.core.errors import ConfigError, UnknownAlertError
from headrace.log import Producer, Topics
from tests.alerts.samples import alert, write


def test_before_anything_has_happened_there_is_nothing(cluster):
    with AlertLog(topic=f"none-{uuid.uuid4().hex[:8]}") as log:
        assert (log.current(), log.history(), log.silences()) == ([], [], [])
        with Topics() as topics:
            create(topics, log.topic)
        write(log.topic, alert())
        assert len(log.current()) == 1


def test_what_fires_is_current_the_worst_first(alerts, log):
    write(alerts, alert("a", severity="info"), alert("b", severity="critical"), alert("c"))
    write(alerts, alert("d", state="resolved"))
    assert [one["rule"] for one in log.current()] == ["b", "c", "a"]
    write(alerts, alert("b", state="resolved", severity="critical"))
    assert [one["rule"] for one in log.current()] == ["c", "a"]
    first = log.current()[0]
    assert first["key"] == {"shop": "S01"} and first["row"] == {"shop": "S01", "units": 0}
    assert (first["acked_by"], first["silenced_until"]) == (None, None)


def test_history_tells_all_the_newest_first_and_a_repeat_once(alerts, log):
    write(alerts, alert("a"), alert("a", state="resolved"), alert("a"), alert("a", since=7))
    assert [(one["state"], one["since"][14:16]) for one in log.history()] == [
        ("firing", "07"),
        ("resolved", "00"),
        ("firing", "00"),
    ]
    assert len(log.history(limit=1)) == 1
    for wrong in (0, -1, True, "2"):
        with pytest.raises(ConfigError, match="limit must be a whole number"):
            log.history(limit=wrong)


def test_an_alert_is_acknowledged_by_its_id_or_the_beginning_of_it(alerts, log):
    write(alerts, alert("a"), alert("b"))
    first, second = log.current()
    log.ack(first["id"], "ann", "looking")
    log.ack(second["id"][:5], "bob")
    found = {one["rule"]: (one["acked_by"], one["ack_comment"]) for one in log.current()}
    assert found == {"a": ("ann", "looking"), "b": ("bob", "")}
    write(alerts, alert("a", state="resolved"), alert("a", since=5))
    assert [one["acked_by"] for one in log.current() if one["rule"] == "a"] == [None]  # this is another one


def test_what_nobody_looks_after_any_more_is_resolved_by_hand(alerts, log):
    write(alerts, alert("a"), alert("b"))
    known = alert("a")["id"]
    log.ack(known, "ann")
    assert log.resolve(known, "bob", "the rule is gone")["rule"] == "a"
    assert [one["rule"] for one in log.current()] == ["b"]
    last = log.history()[0]
    assert (last["id"], last["state"], last["resolved_by"]) == (known, "resolved", "bob")
    assert "acked_by" not in last and last["since"] < last["at"]
    with pytest.raises(UnknownAlertError, match="no alert"):
        log.resolve(known, "bob")
    for by, comment in (("", ""), ("a" * 2001, ""), ("ann", 7)):
        with pytest.raises(ConfigError):
            log.resolve(alert("b")["id"], by, comment)
    assert len(log.current()) == 1


def test_what_cannot_be_acknowledged(alerts, log):
    write(alerts, alert("aaaa", key="1"), alert("aaaa", key="2"), alert("b", state="resolved"))
    with pytest.raises(UnknownAlertError, match="no alert 'nothing' fires now"):
        log.ack("nothing", "ann")
    with pytest.raises(UnknownAlertError, match="2 alerts fire whose id begins"):
        log.ack(alert("aaaa")["id"][:8], "ann")
    with pytest.raises(UnknownAlertError, match="no alert"):
        log.ack(alert("b")["id"], "ann")
    for by, comment in (("", ""), (None, ""), ("a" * 2001, ""), ("ann", "x" * 2001), ("ann", 7)):
        with pytest.raises(ConfigError):
            log.ack(alert("aaaa", key="1")["id"], by, comment)
    assert [one["acked_by"] for one in log.current()] == [None, None]


def test_a_rule_is_silenced_for_all_keys_or_some_and_no_longer_than_told(alerts, log):
    write(alerts, alert("a", key="S01"), alert("a", key="S02"), alert("b"))
    known = log.silence("a", key={"shop": "S02"}, span="1 hour", by="ann", comment="renovation")
    silenced = {one["alert"]: one["silenced_until"] for one in log.current()}
    assert [name for name, until in silenced.items() if until] == ["retail/a/S02"]
    assert log.current()[-1]["alert"] == "retail/a/S02"  # the last, whatever its severity
    until = datetime.fromisoformat(silenced["retail/a/S02"])
    assert timedelta(minutes=59) < until - datetime.now(UTC) <= timedelta(hours=1)
    (silence,) = log.silences()
    assert (silence["id"], silence["by"], silence["comment"]) == (known, "ann", "renovation")
    log.unsilence(known)
    assert log.silences() == [] and not any(one["silenced_until"] for one in log.current())


@pytest.mark.parametrize("rule", ["*", "retail/a", "a"])
def test_a_silence_names_a_rule_of_a_program_or_every_rule(alerts, log, rule):
    write(alerts, alert("a"))
    log.silence(rule, span="1 minute", by="ann")
    assert log.current()[0]["silenced_until"]


def test_a_silence_that_is_over_is_none(alerts, log):
    write(alerts, alert("a"))
    log.silence("a", span="1 ms", by="ann")
    deadline = datetime.now(UTC) + timedelta(seconds=1)
    while log.silences():
        assert datetime.now(UTC) < deadline
    assert log.current()[0]["silenced_until"] is None


@pytest.mark.parametrize(
    "given",
    [
        {"rule": "", "span": "1 hour"},
        {"rule": None, "span": "1 hour"},
        {"rule": "a", "span": "soon"},
        {"rule": "a", "span": "0 seconds"},
        {"rule": "a", "span": "900 days"},
        {"rule": "a", "span": timedelta(days=-1)},
        {"rule": "a", "span": "1 hour", "key": {}},
        {"rule": "a", "span": "1 hour", "key": "S01"},
        {"rule": "a", "span": "1 hour", "key": {"shop": "x" * 2001}},
        {"rule": "a", "span": "1 hour", "key": {str(n): n for n in range(99)}},
    ],
)
def test_what_cannot_be_silenced(log, given):
    with pytest.raises(ConfigError):
        log.silence(**given, by="ann")
    assert log.silences() == []


def test_a_silence_that_is_not_there_cannot_be_ended(log):
    with pytest.raises(UnknownAlertError, match="no silence 'x'"):
        log.unsilence("x")


def test_what_others_wrote_into_the_topics_harms_nobody(alerts, log):
    with Topics() as topics:
        topics.create(control_topic(alerts), partitions=1, compact=True)
    with Producer() as producer:
        for value in (b"\xff{", None, 7, [], {"state": "firing"}, {**alert(), "key": 1}, {**alert(), "state": "odd"}):
            producer.send(alerts, value, key="x")
            for key in ("ack/x", "silence/x", "other/x", ""):
                producer.send(control_topic(alerts), value, key=key)
        producer.send(control_topic(alerts), {"id": "y", "rule": "*", "until": "whenever"}, key="silence/y")
    write(alerts, alert())
    assert [one["rule"] for one in log.current()] == ["low"]
    assert log.silences() == []


def test_what_one_says_others_see_whoever_asks_first(alerts, log):
    write(alerts, alert("a"))
    with AlertLog(topic=alerts) as other:
        assert log.current()[0]["acked_by"] is None
        other.ack(other.current()[0]["id"], "ann")
        assert log.current()[0]["acked_by"] == "ann"


def test_a_topic_that_was_deleted_is_forgotten(alerts, log):
    write(alerts, alert("a"), alert("b"))
    assert len(log.current()) == 2
    with Topics() as topics:
        topics.delete(alerts)
        deadline = time.monotonic() + 20
        while log.current():  # brokers answer for it a moment longer
            assert time.monotonic() < deadline
        create(topics, alerts)
    write(alerts, alert("c"))
    assert [one["rule"] for one in log.current()] == ["c"]


def test_several_threads_may_ask_at_once(alerts, log):
    write(alerts, *(alert("a", key=f"S{n}") for n in range(200)))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: len(log.current()), range(40)))
    assert found == [200] * 40
