import time

import pytest

from headrace.core.errors import BrokerUnavailableError
from headrace.web.history import History
from headrace.web.overview import Scene, overview
from headrace.web.watch import LogState

STAGE = {
    "name": "retail.revenue",
    "program": "retail",
    "stage": "revenue",
    "state": "running",
    "error": None,
    "lag": 0,
    "rows_per_second": 100.0,
    "catching_up": False,
}


def scene(*stages, **more):
    return Scene([{"program": "retail", "stages": [{**STAGE, **stage} for stage in stages]}], **more)


def levels(told):
    return [problem["level"] for problem in told["problems"]]


def test_all_is_good_while_queries_keep_up():
    told = overview(scene({"under_way": 3.5}, {"name": "retail.stock", "lag": 400}, throughput=12.34))
    assert (told["health"], told["problems"]) == ("good", [])
    assert (told["queries"], told["lag"], told["throughput"]) == (2, 400, 12.3)


@pytest.mark.parametrize(
    ("stage", "level", "text"),
    [
        ({"state": "failed", "error": "no\nway"}, "bad", "retail.revenue failed: no way"),
        ({"state": "waiting", "error": "once"}, "bad", "retail.revenue failed and is tried again: once"),
        ({"state": "stopped"}, "warning", "retail.revenue is stopped; restart it to go on"),
        ({"lag": 600}, "warning", "retail.revenue is 600 events behind, 6 s of work"),
        ({"lag": 60_000}, "bad", "retail.revenue is 60,000 events behind, 10 min of work"),
        ({"lag": 9, "catching_up": True}, "warning", "retail.revenue catches up: 9 events to go"),
        ({"under_way": 61.2}, "warning", "retail.revenue has one batch under way for 1 min 1 s"),
        ({"under_way": 300.0, "catching_up": True}, "bad", "retail.revenue has one batch under way for 5 min"),
        ({"lag": 7, "rows_per_second": None}, "warning", "retail.revenue is 7 events behind, 7 s of work"),
    ],
)
def test_what_is_wrong_is_told_with_where_to_look(stage, level, text):
    told = overview(scene(stage))
    assert told["health"] == level
    assert told["problems"] == [{"level": level, "text": text, "page": "queries", "name": "retail.revenue"}]


def test_the_worst_comes_first():
    told = overview(scene({"state": "stopped"}, {"state": "failed", "error": ""}, {"lag": 700}))
    assert levels(told) == ["bad", "warning", "warning"]


def test_alerts_count_unless_somebody_looks_after_them():
    alerts = [
        {"rule": "low-stock", "severity": "warning", "message": "only 3 left"},
        {"rule": "silent", "severity": "critical", "message": "S01 is silent"},
        {"rule": "seen", "severity": "critical", "acked_by": "ann"},
        {"rule": "quiet", "severity": "critical", "silenced_until": "2030-01-01T00:00:00Z"},
        {"rule": "note", "severity": "info"},
    ]
    told = overview(scene({}, alerts=alerts))
    assert [(p["text"], p["page"], p["name"]) for p in told["problems"]] == [
        ("S01 is silent", "alerts", "silent"),
        ("only 3 left", "alerts", "low-stock"),
    ]
    assert told["firing"] == 5


def test_alerts_of_one_rule_are_one_problem():
    def alert(shop, program="inventory", severity="warning", **more):
        message = f"bread in {shop}: only 4 left"
        return {"rule": "low-stock", "program": program, "severity": severity, "message": message, **more}

    alerts = [alert(f"S{n:02}") for n in range(1, 13)]
    alerts += [alert("S20", program="outlet"), alert("S21", severity="critical"), alert("S22", acked_by="ann")]
    told = overview(scene({}, alerts=alerts))
    assert [(p["level"], p["text"], p["page"], p["name"]) for p in told["problems"]] == [
        ("bad", "bread in S21: only 4 left", "alerts", "low-stock"),
        ("warning", "low-stock: 12 alerts, such as: bread in S01: only 4 left", "alerts", "low-stock"),
        ("warning", "bread in S20: only 4 left", "alerts", "low-stock"),
    ]
    assert told["firing"] == 15


def test_letters_put_aside_of_late_are_told():
    aside = {"orders.dlq": time.monotonic() - 10, "old.dlq": time.monotonic() - 1000}
    told = overview(scene({}, log=LogState(aside=aside)))
    assert [(p["level"], p["page"], p["name"]) for p in told["problems"]] == [("warning", "dead-letters", "orders.dlq")]


def test_a_broker_that_is_gone_is_bad_news_unless_there_never_was_one():
    gone = LogState(error=BrokerUnavailableError("no broker runs"))
    assert overview(Scene(log=gone))["health"] == "empty"
    assert overview(Scene(log=gone, seen=True))["health"] == "bad"
    assert overview(Scene(log=gone, managed=False))["health"] == "bad"
    assert overview(scene({}, log=gone))["health"] == "bad"


def test_rates_are_reckoned_over_some_seconds():
    history = History()
    for t in range(20):
        history.add(1000.0 + t, [{"name": "a.b", "rows": 100 * t, "rows_per_second": 700.0, "lag": t}])
    assert history.rate("a.b") == 100.0
    told = history.of("a.b")
    assert told["t"][:2] == [1000.0, 1001.0]
    assert told["rows_per_second"][-1] == 700.0
    assert told["lag"] == list(range(20))
    history.add(1020.0, [{"name": "a.b", "rows": 5}])  # started again
    assert history.rate("a.b") == 0.0


def test_history_is_a_quarter_of_an_hour_and_forgets_what_has_gone():
    history = History()
    history.add(0.0, [{"name": "gone.a"}])
    for t in range(1, 1000):
        history.add(float(t), [{"name": "a.b", "rows": t}])
    assert len(history.of("a.b")["t"]) == 900
    assert history.of("gone.a") is None
    assert history.rate("gone.a") == 0.0
