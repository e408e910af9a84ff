"""A dashboard before anything else runs, and one whose broker does not answer."""

import json
import os
from datetime import UTC, datetime

import pytest

from headrace.core.settings import Settings
from headrace.web.serving import Serving
from tests.web.client import Client


def test_before_anything_runs_everything_is_empty(alone):
    told = alone.get("/api/overview")
    assert (told["health"], told["problems"], told["queries"], told["firing"]) == ("empty", [], 0, 0)
    assert (told["throughput"], told["lag"], told["brokers"]) == (0, 0, None)
    assert abs((datetime.now(UTC) - datetime.fromisoformat(told["now"])).total_seconds()) < 60


@pytest.mark.parametrize("path", ["programs", "topics", "topics?internal=1", "groups", "tables", "dead-letters"])
def test_lists_are_empty_before_anything_runs(alone, path):
    assert alone.get(f"/api/{path}") == []


def test_alerts_are_empty_before_anything_runs(alone):
    assert alone.get("/api/alerts") == {"current": [], "history": [], "silences": []}


@pytest.mark.parametrize(
    "path", ["topics/orders", "topics/orders/events", "topics/orders/tail", "stream?topics=orders"]
)
def test_a_topic_that_cannot_be_there_is_told_with_what_to_do(alone, path):
    answer = alone.answer(f"/api/{path}")
    assert answer.status == 503
    assert "headrace up" in answer.json["error"]


def test_live_pages_are_told_each_second(alone):
    with alone.stream("/api/live") as events:
        first, second = next(events), next(events)
    assert first[0] == second[0] == "state"
    assert first[1]["overview"]["health"] == "empty"
    assert first[1]["programs"] == []
    assert first[1]["overview"]["now"] < second[1]["overview"]["now"]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("topics?internal=2", "internal must be 0 or 1"),
        ("topics/a/events?limit=0", "limit must be a number from 1 to 500"),
        ("topics/a/events?limit=501", "limit must be a number from 1 to 500"),
        ("topics/a/events?limit=%D9%A3", "limit must be a number"),
        ("topics/a/events?limit=-1", "limit must be a number"),
        ("topics/a/events?partition=one", "partition must be a number"),
        ("topics/a/events?whole=1", "give limit=1 too"),
        ("topics/a/tail?from=12", "must give an offset for each partition"),
        ("topics/a/tail?from={", "from is not JSON"),
        ('topics/a/tail?from={"0":-1}', "must give an offset for each partition"),
        ('topics/a/tail?from={"0":true}', "must give an offset for each partition"),
        ('topics/a/tail?from={"zero":1}', "must give an offset for each partition"),
        ('topics/a/tail?from={"0":99999999999999999999}', "must give an offset for each partition"),
        ("topics/a%20b/tail", "is not a topic name"),
        ("topics/..%00/tail", "is not a topic name"),
        ("stream", "topics must name 1 to 20 topics"),
        ("stream?topics=a,b%20c", "is not a topic name"),
        ("stream?topics=a&start=first", "start must be latest or tail:N"),
        ("stream?topics=a&start=tail:9999999", "start must be latest or tail:N"),
        (f"stream?topics=a&start=tail:{'0' * 5000}", "start must be latest or tail:N"),
        ("stream?topics=a&from=[]", "from must be like"),
        ("stream?topics=" + ",".join(f"t{n}" for n in range(21)), "topics must name 1 to 20 topics"),
    ],
)
def test_what_is_asked_wrongly_is_told(alone, path, told):
    answer = alone.ask(
        "GET", f"/api/{path}".replace('"', "%22").replace("{", "%7B").replace("}", "%7D"), headers=alone.authorised
    )
    assert answer.status == 400, answer
    assert told in answer.json["error"]


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("alerts/ack", {}, 'must have "id"'),
        ("alerts/ack", {"id": 1}, 'must have "id"'),
        ("alerts/ack", {"id": "a", "comment": "x" * 501}, "may have 500 characters"),
        ("alerts/resolve", {}, 'must have "id"'),
        ("alerts/silence", {"rule": "a"}, 'must have "span"'),
        ("alerts/silence", {"rule": "a", "span": "soon"}, "is not a time span"),
        ("alerts/silence", {"rule": "a", "span": "1 hour", "key": "text"}, '"key" must be an object'),
        ("alerts/unsilence", {}, 'must have "id"'),
        ("dead-letters/orders.dlq/replay", {}, '"places" must be like'),
        ("dead-letters/orders.dlq/replay", {"places": [1]}, '"places" must be like'),
        ("dead-letters/orders.dlq/replay", {"places": [{"partition": 0}]}, "places must give an offset"),
        ("dead-letters/orders.dlq/replay", {"places": [{"partition": 0, "offset": -1}]}, "places must give an offset"),
        ("dead-letters/orders.dlq/replay", {"places": [], "value": 1}, '"value" must be text'),
        ("dead-letters/orders.dlq/replay", {"places": [], "again": 1}, '"again" must be true or false'),
        (
            "dead-letters/orders.dlq/replay",
            {"places": [{"partition": 0, "offset": n} for n in range(1001)]},
            "too many to replay at once",
        ),
    ],
)
def test_what_is_to_be_done_wrongly_is_told(alone, path, body, told):
    answer = alone.post(f"/api/{path}", body)
    assert answer.status == 400
    assert told in answer.json["error"]


def test_a_query_that_does_not_run_is_told(alone):
    for answer in (alone.post("/api/queries/retail.revenue/stop", {}), alone.answer("/api/history/retail.revenue")):
        assert answer.status == 404
        assert "no query 'retail.revenue' runs here" in answer.json["error"]


def test_metrics_tell_that_there_is_no_broker(alone):
    answer = alone.answer("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "\nheadrace_broker_up 0\n" in answer.body.decode()


def test_a_broker_that_does_not_answer_is_bad_news_and_holds_up_nothing(tmp_path, static):
    with Serving(Settings(home=tmp_path, brokers="127.0.0.1:1"), static=static) as serving:
        client = Client(serving.url, serving.token)
        assert client.get("/api/programs") == []
        answer = client.answer("/api/topics")
        assert (answer.status, "no broker answers at 127.0.0.1:1" in answer.json["error"]) == (503, True)
        with client.stream("/api/live") as events:
            problems = next(told for _, told in events if told["overview"]["problems"])["overview"]
    assert problems["health"] == "bad"
    assert problems["problems"][0]["text"].startswith("No broker answers at 127.0.0.1:1")


def program(home, name, status="status.json", **more):
    """A program as it was left behind."""
    folder = home / "programs" / name / "1"
    folder.mkdir(parents=True)
    (folder / "lock").touch()
    (folder / status).write_text(json.dumps({"program": name, "version": "1", "started": "", "stages": [], **more}))
    return folder


def test_programs_that_fell_are_told(tmp_path, static):
    program(tmp_path, "killed")
    program(tmp_path, "failed", "failed.json", error="the stage 'out' failed: division by zero")
    long_ago = program(tmp_path, "forgotten")
    os.utime(long_ago / "status.json", (0, 0))
    with Serving(Settings(home=tmp_path), static=static) as serving:
        client = Client(serving.url, serving.token)
        with client.stream("/api/live") as events:
            _, told = next(events)
        assert client.get("/api/programs") == []
    assert told["overview"]["health"] == "bad"
    first, second = told["overview"]["problems"]
    assert first["level"] == "bad"
    assert first["text"] == "The program failed failed: the stage 'out' failed: division by zero"
    assert (second["level"], second["text"].startswith("The program killed was killed")) == ("warning", True)
