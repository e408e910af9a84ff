"""Streams: nothing is skipped, whoever pauses, goes, or reads slowly."""

import http.client
import json
import threading
import time
import uuid
from contextlib import closing

import pytest
from confluent_kafka import TopicPartition

from headrace.log import Producer, Topics
from headrace.log.client import admin_client
from headrace.web import tail
from headrace.web.streams import _MOST
from tests.web.conftest import until


def send(topic, numbers, **more):
    with Producer() as producer:
        for n in numbers:
            producer.send(topic, {"n": n}, **more)


def take(events, count, seen, offsets):
    """Read until ``count`` events came; note what each was and where to go on."""
    for name, told in events:
        assert name == "events", told
        seen += [event["value"]["n"] for event in told["events"]]
        offsets.clear()
        offsets.update(told["next"])
        if len(seen) >= count:
            return


def streams(ui):
    lines = ui.answer("/metrics").body.decode().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("headrace_ui_streams ")))


def test_a_tail_begins_now_and_says_where(ui, topic):
    send(topic, range(3), partition=0)
    with ui.stream(f"/api/topics/{topic}/tail") as events:
        name, told = next(events)
        assert (name, told) == ("events", {"events": [], "next": {"0": 3, "1": 0, "2": 0, "3": 0}})
        send(topic, [3], partition=0)
        name, told = next(events)
    (event,) = told["events"]
    assert (event["value"], event["offset"], told["next"]["0"]) == ({"n": 3}, 3, 4)


def test_of_twenty_thousand_events_none_is_skipped_or_repeated_over_broken_connections(ui, topic):
    everything, seen, offsets = 20_000, [], {}
    with ui.stream(f"/api/topics/{topic}/tail") as events:
        offsets.update(next(events)[1]["next"])
        sender = threading.Thread(target=send, args=(topic, range(everything)))
        sender.start()
        take(events, 3_000, seen, offsets)
    for goal in (9_000, 12_345, everything):  # each time on a connection of its own
        with ui.stream(f"/api/topics/{topic}/tail", **{"from": json.dumps(offsets)}) as events:
            take(events, goal, seen, offsets)
    sender.join()
    assert len(seen) == everything
    assert sorted(seen) == list(range(everything))
    assert sum(offsets.values()) == everything


def test_events_of_one_partition_come_in_their_order(ui, topic):
    with ui.stream(f"/api/topics/{topic}/tail", **{"from": "{}"}) as events:
        send(topic, range(2_000), partition=1)
        seen = []
        take(events, 2_000, seen, {})
    assert seen == list(range(2_000))


def test_a_page_that_was_paused_gets_what_came_meanwhile(ui, topic):
    with ui.stream(f"/api/topics/{topic}/tail") as events:
        _, told = next(events)
    send(topic, range(700))
    with ui.stream(f"/api/topics/{topic}/tail", **{"from": json.dumps(told["next"])}) as events:
        seen = []
        take(events, 700, seen, {})
    assert sorted(seen) == list(range(700))


def test_a_reader_that_is_slow_gets_everything_later(ui, topic):
    text = "x" * 2_000
    with ui.stream(f"/api/topics/{topic}/tail") as events:
        next(events)
        with Producer() as producer:
            for n in range(20_000):
                producer.send(topic, {"n": n, "text": text})
        time.sleep(2)  # in which nobody reads: what the connection does not take stays in the log
        seen = []
        take(events, 20_000, seen, {})
    assert sorted(seen) == list(range(20_000))


def test_when_the_reader_goes_the_clients_go(ui, topic):
    until(lambda: streams(ui) == 0)
    before = threading.active_count()
    for _ in range(5):
        with ui.stream(f"/api/topics/{topic}/tail") as events:
            next(events)
            assert streams(ui) >= 1
    until(lambda: streams(ui) == 0)
    until(lambda: threading.active_count() <= before + 5)


def test_a_topic_created_anew_is_read_from_its_start(ui, cluster):
    name = f"anew-{uuid.uuid4().hex[:8]}"
    with Topics() as topics:
        topics.create(name, partitions=1)
        send(name, range(10))
        topics.delete(name)
        topics.create(name, partitions=1)
    send(name, [77])
    with ui.stream(f"/api/topics/{name}/tail", **{"from": '{"0": 10}'}) as events:
        seen = []
        take(events, 1, seen, {})
    assert seen == [77]


def test_what_the_topic_has_deleted_meanwhile_is_counted(ui, topic, brokers):
    send(topic, range(10), partition=0)
    with admin_client({"bootstrap.servers": brokers}) as client:
        for done in client.delete_records([TopicPartition(topic, 0, 4)]).values():
            done.result()
    with ui.stream(f"/api/topics/{topic}/tail", **{"from": '{"0": 1}'}) as events:
        assert next(events)[1]["missed"] == 3
        seen = []
        take(events, 6, seen, {})
    assert seen == [4, 5, 6, 7, 8, 9]


def test_partitions_that_are_added_are_followed(ui, cluster):
    name = f"grows-{uuid.uuid4().hex[:8]}"
    with Topics() as topics:
        topics.create(name, partitions=1)
        with ui.stream(f"/api/topics/{name}/tail") as events:
            next(events)
            topics.grow(name, 2)
            send(name, [1], partition=1)
            seen = []
            take(events, 1, seen, {})
    assert seen == [1]


def test_events_of_an_open_transaction_are_not_skipped(ui, topic):
    with Producer(transactional_id=uuid.uuid4().hex) as producer:
        with producer.transaction():
            producer.send(topic, {"n": 1}, partition=0)
            producer._client.flush()
            ends = {str(p["partition"]): p["latest"] for p in ui.get(f"/api/topics/{topic}")["offsets"]}
            send(topic, [2], partition=0)
        with ui.stream(f"/api/topics/{topic}/tail", **{"from": json.dumps(ends)}) as events:
            seen = []
            take(events, 2, seen, {})
    assert seen == [1, 2]


def test_several_topics_are_followed_at_once(ui, cluster):
    names = [f"stream-{uuid.uuid4().hex[:8]}" for _ in range(2)]
    with Topics() as topics:
        for name in names:
            topics.create(name, partitions=2)
    first, second = names
    send(first, range(10), partition=0)  # so that they come in this order
    with ui.stream("/api/stream", topics=",".join(names), start="tail:3") as events:
        _, told = next(events)
        assert [(event["topic"], event["value"]["n"]) for event in told["events"]] == [(first, n) for n in (7, 8, 9)]
        send(second, [100])
        _, told = next(events)
        assert [(event["topic"], event["value"]["n"]) for event in told["events"]] == [(second, 100)]
        assert sum(told["next"][first].values()) == 10
    send(first, [10])
    send(second, [101])
    with ui.stream("/api/stream", topics=",".join(names), **{"from": json.dumps(told["next"])}) as events:
        found = []
        while len(found) < 2:
            found += [(event["topic"], event["value"]["n"]) for event in next(events)[1]["events"]]
    assert sorted(found) == sorted([(first, 10), (second, 101)])


def test_the_last_events_of_many_topics_have_a_most(ui, cluster, monkeypatch):
    monkeypatch.setattr(tail, "_MOST_BYTES", 50_000)
    names = [f"most-{uuid.uuid4().hex[:8]}" for _ in range(2)]
    with Topics() as topics, Producer() as producer:
        for name in names:
            topics.create(name, partitions=1)
            for n in range(40):
                producer.send(name, {"n": n, "text": "x" * 700})
    with ui.stream("/api/stream", topics=",".join(names), start="tail:40") as events:
        _, told = next(events)
        first, second = ([e["value"]["n"] for e in told["events"] if e["topic"] == name] for name in names)
        assert first == list(range(40))
        assert 0 < len(second) < 20 and second == list(range(40 - len(second), 40))  # the newest
        assert told["next"] == {name: {"0": 40} for name in names}


def test_there_are_not_more_streams_than_threads(alone):
    opened = []
    try:
        while len(opened) < _MOST:
            connection = http.client.HTTPConnection(alone.host, alone.port, timeout=30)
            connection.request("GET", "/api/live", headers=alone.authorised)
            assert connection.getresponse().status == 200
            opened.append(connection)
        answer = alone.answer("/api/live")
        assert answer.status == 503
        assert "streams open already" in answer.json["error"]
        assert alone.answer("/api/overview").status == 200
    finally:
        for connection in opened:
            connection.sock.close()
            connection.close()
    until(lambda: streams(alone) == 0)


def test_a_head_of_a_stream_is_no_stream(ui, topic):
    with closing(http.client.HTTPConnection(ui.host, ui.port, timeout=10)) as connection:
        connection.request("HEAD", f"/api/topics/{topic}/tail", headers=ui.authorised)
        assert connection.getresponse().status == 200
    until(lambda: streams(ui) == 0)


@pytest.mark.parametrize("path", ["/api/live", "/api/topics/{topic}/tail"])
def test_a_stream_needs_the_token_the_host_and_the_origin(ui, topic, path):
    path = path.format(topic=topic)
    assert ui.ask("GET", path).status == 401
    assert ui.ask("GET", path, headers={**ui.authorised, "Host": "evil.example"}).status == 421
    assert ui.ask("GET", path, headers={**ui.authorised, "Origin": "http://evil.example"}).status == 403
