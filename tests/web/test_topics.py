import json
import uuid

import pytest

from headrace.log import Consumer, Producer, Topics
from tests.web.conftest import until


def send(topic, values, **more):
    with Producer() as producer:
        for value in values:
            producer.send(topic, value, **more)


def named(rows, name):
    return next((row for row in rows if row["name"] == name), None)


def test_topics_are_listed_with_what_they_hold(ui, topic):
    send(topic, [{"n": n} for n in range(5)])
    until(lambda: (found := named(ui.get("/api/topics"), topic)) is not None and found["events"] == 5)
    found = named(ui.get("/api/topics"), topic)
    assert (found["partitions"], found["compacted"], found["internal"]) == (4, False, False)
    assert found["bytes"] > 0


def test_a_topic_that_grows_has_a_rate(ui, topic):
    ui.get("/api/topics")
    with Producer() as producer:

        def grows():
            for n in range(100):
                producer.send(topic, {"n": n})
            producer.flush()
            return (named(ui.get("/api/topics"), topic) or {"rate": 0})["rate"] > 0

        until(grows)


def test_internal_topics_are_listed_only_if_asked_for(ui, cluster):
    name = f"{uuid.uuid4().hex}.1.revenue.commits"
    with Topics() as topics:
        topics.create(name, partitions=1, compact=True)
        until(lambda: named(ui.get("/api/topics", internal=1), name) is not None)
        assert named(ui.get("/api/topics", internal=1), name)["internal"] is True
        assert named(ui.get("/api/topics", internal=0), name) is None
        topics.delete(name)


def test_a_topic_is_described(ui, topic):
    send(topic, [{"n": 1}, {"n": 2}], partition=2)
    found = ui.get(f"/api/topics/{topic}")
    assert (found["name"], found["partitions"], found["events"]) == (topic, 4, 2)
    place = found["offsets"][2]
    assert (place["partition"], place["earliest"], place["latest"]) == (2, 0, 2)


def test_a_topic_that_is_not_there_is_told(ui, topic):
    for path in ("", "/events", "/tail"):
        answer = ui.answer(f"/api/topics/{topic[:-1]}x{path}")
        assert answer.status == 404
        assert f"Did you mean '{topic}'?" in answer.json["error"]


def test_an_event_is_told_whole(ui, topic):
    send(topic, [{"city": "Zürich", "n": 1}], key="ann", headers={"trace": "a1"}, partition=1)
    (event,) = ui.get(f"/api/topics/{topic}/events")["events"]
    size = len(json.dumps({"city": "Zürich", "n": 1}, ensure_ascii=False, separators=(",", ":")).encode()) + 3
    assert {k: event[k] for k in ("partition", "offset", "key", "value", "headers", "tombstone", "size")} == {
        "partition": 1,
        "offset": 0,
        "key": "ann",
        "value": {"city": "Zürich", "n": 1},
        "headers": {"trace": "a1"},
        "tombstone": False,
        "size": size,
    }
    assert event["time"].endswith("Z")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"plain text", {"text": "plain text"}),
        (b"\xff\xfe\x00", {"text": "\ufffd\ufffd\x00"}),
        (b"", {"text": ""}),
        (b"null", {"value": None, "tombstone": False}),
        (None, {"value": None, "tombstone": True}),
        (b"[1, 2.5, true]", {"value": [1, 2.5, True]}),
        (b'{"id": 12345678901234567890}', {"text": '{"id": 12345678901234567890}'}),
        (b"[" * 10_000, {"text": "[" * 10_000}),
    ],
)
def test_values_of_any_kind_are_shown(ui, topic, value, shown):
    send(topic, [value], key="k", partition=0)
    (event,) = ui.get(f"/api/topics/{topic}/events", partition=0)["events"]
    assert shown.items() <= event.items()


def test_a_large_value_is_cut_unless_it_is_wanted_whole(ui, topic):
    text = "x" * 500_000
    send(topic, [{"text": text}], partition=0)
    (event,) = ui.get(f"/api/topics/{topic}/events")["events"]
    assert event["cut"] is True
    assert len(event["text"]) == 16_384
    assert event["size"] > 500_000
    whole = ui.get(f"/api/topics/{topic}/events", partition=0, offset=0, limit=1, whole=1)["events"][0]
    assert json.loads(whole["text"]) == {"text": text}


def test_a_script_in_a_value_is_data_and_nothing_else(ui, topic):
    script = "<script>alert(1)</script>"
    send(topic, [{"a": script}, script.encode()], key=script, headers={"x": script}, partition=0)
    answer = ui.answer(f"/api/topics/{topic}/events")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    first, second = answer.json["events"]
    assert (first["value"], first["key"], second["text"]) == ({"a": script}, script, script)


def test_the_newest_come_and_then_those_before(ui, topic):
    with Producer() as producer:
        for n in range(100):
            producer.send(topic, {"n": n}, partition=n % 4)
            producer.flush()
    seen, before, pages = [], {}, 0
    while True:
        answer = ui.get(f"/api/topics/{topic}/events", limit=15, **before)
        seen = [event["value"]["n"] for event in answer["events"]] + seen
        pages += 1
        if not answer["more"]:
            break
        before = {"before": json.dumps(answer["before"])}
    assert sorted(seen) == list(range(100))
    assert pages == 7


def test_events_of_a_key_or_with_a_text_are_found(ui, topic):
    with Producer() as producer:
        for n in range(3000):
            producer.send(topic, {"n": n, "note": "rare" if n == 7 else "often"}, key=f"k{n % 1000}")
    found = ui.get(f"/api/topics/{topic}/events", key="k5")
    assert sorted(event["value"]["n"] for event in found["events"]) == [5, 1005, 2005]
    found = ui.get(f"/api/topics/{topic}/events", contains='"rare"')
    assert ([event["value"]["n"] for event in found["events"]], found["more"]) == ([7], False)
    assert ui.get(f"/api/topics/{topic}/events", key="nobody")["events"] == []
    assert len(ui.get(f"/api/topics/{topic}/events", contains="k99", limit=500)["events"]) == 33


def test_events_from_an_offset_or_a_time_on_are_found(ui, topic):
    send(topic, [{"n": n} for n in range(50)], partition=3)
    found = ui.get(f"/api/topics/{topic}/events", partition=3, offset=10, limit=5)
    assert ([event["offset"] for event in found["events"]], found["more"]) == ([10, 11, 12, 13, 14], True)
    further = ui.get(f"/api/topics/{topic}/events", partition=3, limit=50, **{"from": json.dumps(found["next"])})
    assert ([event["offset"] for event in further["events"]], further["more"]) == (list(range(15, 50)), False)
    middle = found["events"][0]["time"]
    since = ui.get(f"/api/topics/{topic}/events", time=middle)
    assert 0 < len(since["events"]) <= 50
    assert ui.get(f"/api/topics/{topic}/events", time="2100-01-01T00:00:00Z")["events"] == []
    assert ui.get(f"/api/topics/{topic}/events", partition=3, offset=10**18)["events"] == []


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"partition": 9}, "the topic has the partitions 0 to 3, not 9"),
        ({"time": "yesterday"}, "time must be a time like"),
        ({"time": "2024-05-01T10:00:00Z", "offset": 1}, "are two places to begin"),
        ({"before": "{}", "offset": 1}, "are two places to begin"),
    ],
)
def test_a_search_that_cannot_be_is_told(ui, topic, query, told):
    answer = ui.answer(f"/api/topics/{topic}/events", **query)
    assert answer.status == 400
    assert told in answer.json["error"]


def test_events_of_transactions_count_when_they_are_committed(ui, topic):
    with Producer(transactional_id=uuid.uuid4().hex) as producer:
        with producer.transaction():
            producer.send(topic, {"n": 1}, partition=0)
        with pytest.raises(KeyError), producer.transaction():
            producer.send(topic, {"n": 2}, partition=0)
            raise KeyError
        assert [e["value"]["n"] for e in ui.get(f"/api/topics/{topic}/events", limit=1)["events"]] == [1]


def test_groups_are_listed_and_described(ui, topic, group):
    send(topic, [{"n": n} for n in range(3)], partition=0)
    with Consumer(topic, group=group, follow=False) as consumer:
        assert len(list(consumer)) == 3
    send(topic, [{"n": 3}], partition=0)
    assert named(ui.get("/api/groups"), group) == {"name": group, "state": "empty", "members": 0, "lag": 1}
    found = ui.get(f"/api/groups/{group}")
    assert (found["members"], found["lag"], found["state"]) == ([], 1, "empty")
    first = {"topic": topic, "partition": 0, "offset": 3, "end": 4, "lag": 1, "member": None}
    assert found["partitions"][0] == first


@pytest.mark.parametrize("name", ["nobody", "a%2Fb", "%00", "%F0%9F%98%80"])
def test_a_group_that_is_not_there_is_told(ui, name):
    assert ui.answer(f"/api/groups/{name}").status in (400, 404)


def test_metrics_can_be_scraped(ui, topic):
    send(topic, [{"n": 1}, {"n": 2}])
    until(lambda: f'headrace_topic_events_total{{topic="{topic}"}} 2' in ui.answer("/metrics").body.decode())
    lines = ui.answer("/metrics").body.decode().splitlines()
    assert "headrace_broker_up 1" in lines
    names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
    for line in lines:
        assert line.startswith("# ") or float(line.rpartition(" ")[2]) >= 0


def test_a_broker_with_topics_and_no_programs_is_well(ui, topic, brokers):
    until(lambda: ui.get("/api/overview")["brokers"] == brokers)
    assert ui.get("/api/overview")["health"] in ("good", "warning")
