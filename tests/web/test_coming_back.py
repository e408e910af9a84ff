"""A broker that starts after the dashboard, goes, and comes back."""

import json

import pytest

from headrace.core.settings import Settings
from headrace.log import Producer, Topics
from headrace.log.broker.cluster import Cluster
from headrace.web.serving import Serving
from tests.web.client import Client
from tests.web.conftest import until

pytestmark = pytest.mark.faults


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A cluster of the test's own, not yet started."""
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    cluster = Cluster(Settings.load())
    yield cluster
    cluster.erase()


def send(address, numbers):
    with Producer(address) as producer:
        for n in numbers:
            producer.send("orders", {"n": n})


def read(events, count):
    """Read until ``count`` events came or the stream ends; return them, and where to go on."""
    seen, place = [], None
    for name, told in events:
        if name == "events":
            seen += [event["value"]["n"] for event in told["events"]]
            place = told["next"]
        if len(seen) >= count:
            break
    return seen, place


def test_the_dashboard_outlives_its_broker_and_skips_nothing(own, static):
    with Serving(Settings.load(), static=static) as serving:
        ui = Client(serving.url, serving.token)
        assert ui.get("/api/overview")["health"] == "empty"
        assert ui.get("/api/topics") == []

        address = own.up()
        with Topics(address) as topics:
            topics.create("orders", partitions=2)
        until(lambda: [topic["name"] for topic in ui.get("/api/topics")] == ["orders"])
        until(lambda: ui.get("/api/overview")["brokers"] == address)
        with ui.stream("/api/topics/orders/tail") as events:
            send(address, range(10))
            seen, place = read(events, 10)
            own.down()
            until(lambda: ui.get("/api/overview")["health"] == "bad")
            assert "headrace up" in ui.get("/api/overview")["problems"][0]["text"]
            assert ui.answer("/api/topics").status == 503
            assert ui.answer("/api/topics/orders/tail").status == 503

            assert own.up() == address
            send(address, range(10, 20))
            more, place = read(events, 10)  # the connection has stood all the while
        assert sorted(seen + more) == list(range(20))
        until(lambda: ui.get("/api/overview")["health"] == "good")
        send(address, [20])
        with ui.stream("/api/topics/orders/tail", **{"from": json.dumps(place)}) as events:
            assert read(events, 1)[0] == [20]
