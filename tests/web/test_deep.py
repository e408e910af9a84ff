"""Events that are nested more deeply than JSON is written: they are shown, and stand in nobody's way."""

import uuid

import pytest

from headrace.log import Consumer, Producer, Topics
from headrace.log.dead_letters import DeadLetters
from headrace.web.answers import dump

DEPTHS = [200, 252, 254, 260, 700, 995, 1024]  # orjson writes 254, json about 990; both read 1,024


def nested(depth):
    return '{"n":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


@pytest.fixture
def deep(topic):
    with Producer() as producer:
        for depth in DEPTHS:
            producer.send(topic, nested(depth), key=str(depth), partition=0)
        producer.send(topic, {"n": "behind"}, key="1", partition=0)
    return topic


def texts(events):
    """Which of the events are shown as text, and whether that is theirs."""
    return {int(one["key"]): one["text"] == nested(int(one["key"])) for one in events if "text" in one}


def test_a_tail_goes_on_behind_it(ui, deep):
    with ui.stream(f"/api/topics/{deep}/tail", **{"from": '{"0": 0}'}) as events:
        seen = []
        while len(seen) <= len(DEPTHS):
            name, told = next(events)
            assert name == "events", told
            seen += told["events"]
    assert seen[-1]["value"] == {"n": "behind"}
    assert texts(seen) == {260: True, 700: True, 995: True, 1024: True}


def test_a_search_finds_it(ui, deep):
    assert texts(ui.get(f"/api/topics/{deep}/events")["events"]) == {260: True, 700: True, 995: True, 1024: True}
    (event,) = ui.get(f"/api/topics/{deep}/events", limit=1, whole=1, key="995")["events"]
    assert event["text"] == nested(995)


def test_it_is_shown_as_a_dead_letter(ui, deep, brokers):
    aside = DeadLetters(deep, brokers)
    with Consumer(deep, follow=False) as consumer:
        for event in consumer:
            aside.put(event, "too deep")
    aside.close()
    assert texts(ui.get(f"/api/dead-letters/{aside.topic}")["letters"]) == {260: True, 700: True, 995: True, 1024: True}


def test_it_is_a_row_of_a_table_or_none(ui, cluster):
    name = f"deep-{uuid.uuid4().hex[:8]}"
    with Topics() as topics, Producer() as producer:
        topics.create(name, partitions=1, compact=True)
        for depth in DEPTHS:
            producer.send(name, nested(depth), key=f"{depth:04}")
        producer.send(name, {"n": 1}, key="9999")
    answer = ui.get(f"/api/tables/{name}/rows")
    assert (answer["complete"], answer["keys"][-1]) == (True, "9999")
    for key in answer["keys"]:
        assert ui.get(f"/api/tables/{name}/row", key=key)["key"] == key
    assert ui.answer(f"/api/tables/{name}/row", key=nested(995)).status in (400, 404)
    asked = ui.post(f"/api/tables/{name}/query", {"sql": f"select * from {name.replace('-', '_')}"})
    assert (asked.status, len(asked.json["rows"])) == (200, len(answer["keys"]))


def test_what_is_too_deep_to_be_written_is_left_out():
    deep = []
    for _ in range(5000):
        deep = [deep, 2**70]
    assert dump({"a": [1], "deep": deep}).startswith(b'{"a": [1], "deep": [[[')
    assert b'"\\u2026"' in dump(deep)
