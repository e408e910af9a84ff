import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from headrace.core.errors import ConfigError, HeadraceError, ReplayError, UnknownTopicError
from headrace.log import Consumer, Producer, Topics
from headrace.log.dead_letters import OFFSET, PARTITION, REASON, TOPIC, DeadLetters
from headrace.log.letter import Place, Source
from headrace.log.letters import MOST, Letters


@pytest.fixture
def letters(cluster):
    with Letters() as letters:
        yield letters


@pytest.fixture
def dead(topic, brokers):
    """Five letters, put aside as a work queue does it; the topic of letters."""
    at = datetime(2024, 5, 1, 10, tzinfo=UTC)
    with Producer() as producer:
        for n in range(5):
            headers = [("trace", f"t{n}"), ("trace", "again"), ("empty", None)]
            producer.send(topic, {"n": n}, key=f"k{n}", headers=headers, event_time=at, partition=n % 4)
    aside = DeadLetters(topic, brokers)
    for event in sorted(read(topic), key=lambda event: event.value["n"]):
        aside.put(event, f"reason {event.value['n']}", deliveries="3")
    aside.close()
    return aside.topic


def read(topic):
    with Consumer(topic, follow=False) as consumer:
        return list(consumer)


def replayed(topic):
    return [event for event in read(topic) if "headrace-replayed-from" in event.headers]


def received(event):
    return str(round(event.timestamp.timestamp() * 1000)).encode()


def test_letters_tell_why_and_whence(letters, dead, topic):
    found = letters.newest(dead)
    assert [letter.reason for letter in found.events] == [f"reason {n}" for n in range(5)]
    assert found.events[2].source == Source(topic, 2, 0)
    assert found.events[4].source == Source(topic, 0, 1)
    assert not any(letter.replayed for letter in found.events)


def test_ledgers_are_listed_with_the_newest_first(letters, dead, topic):
    found = {ledger.topic: ledger for ledger in letters.ledgers()}[dead]
    assert (found.source, found.events) == (topic, 5)
    assert found.newest == letters.newest(dead).events[-1].event.timestamp


def test_a_replayed_event_is_as_it_was(letters, dead, topic):
    assert letters.replay(dead, [Place(0, 3)]) == 1
    (event,) = replayed(topic)
    (original,) = [event for event in read(topic) if event.value == {"n": 3} and event is not None][:1]
    assert (event.value, event.key, event.partition) == ({"n": 3}, "k3", 3)
    ours = [("headrace-replayed-from", f"{dead}/0/3".encode()), ("headrace-received", received(original))]
    assert event.raw_headers == [*original.raw_headers, *ours]
    assert event.event_time == datetime(2024, 5, 1, 10, tzinfo=UTC)


def test_headers_that_were_not_kept_aside_are_found_where_the_event_was(letters, topic):
    with Producer() as producer:
        producer.send(topic, {"n": 1}, key="k", headers={"trace": "a"}, partition=2)
        producer.send(topic, {"n": 2}, key="k", headers={"trace": "of another event"}, partition=2)
    for offset in ("0", "1"):
        put(f"{topic}.dlq", topic, **{PARTITION: "2", OFFSET: offset})
    letters.replay(f"{topic}.dlq", [Place(0, 0), Place(0, 1)])
    traces = [event.headers.get("trace") for event in replayed(topic)]
    assert traces == ["a", None]


def test_a_replayed_event_tells_when_the_log_first_had_it_however_often_it_is_replayed(letters, topic, brokers):
    with Producer() as producer:
        producer.send(topic, {"n": 1}, key="k", partition=0)
    [original] = read(topic)
    for number in range(3):
        put(f"{topic}.dlq", topic, **{PARTITION: "0", OFFSET: str(_last(topic).offset)})
        letters.replay(f"{topic}.dlq", [Place(0, number)])
        assert dict(_last(topic).raw_headers)["headrace-received"] == received(original)


@pytest.mark.parametrize("told", ["never", "-5", "0", "9" * 30, "٣", str(2**45)])
def test_what_is_no_time_of_receipt_is_not_passed_on(letters, topic, told):
    with Producer() as producer:
        producer.send(topic, {"n": 1}, key="k", headers={"headrace-received": told}, partition=0)
    [original] = read(topic)
    put(f"{topic}.dlq", topic, **{PARTITION: "0", OFFSET: "0"})
    letters.replay(f"{topic}.dlq", [Place(0, 0)])
    assert dict(_last(topic).raw_headers)["headrace-received"] == received(original)


def test_of_an_event_that_is_gone_the_time_counts_at_which_it_was_put_aside(letters, topic):
    put(f"{topic}.dlq", topic, **{PARTITION: "0", OFFSET: "7"})
    put(f"{topic}.dlq", topic, **{PARTITION: "0", OFFSET: "8", "headrace-received": "1714557600000"})
    aside = [received(letter.event) for letter in letters.newest(f"{topic}.dlq").events]
    letters.replay(f"{topic}.dlq", [Place(0, 0), Place(0, 1)])
    told = [dict(event.raw_headers)["headrace-received"] for event in read(topic)]
    assert told == [aside[0], b"1714557600000"]  # the second had been replayed before


def _last(topic):
    return max(read(topic), key=lambda event: event.offset)


def test_the_same_letter_is_not_replayed_twice_unless_asked(letters, dead, topic):
    letters.replay(dead, [Place(0, 1), Place(0, 2)])
    with pytest.raises(ReplayError, match="2 of 3 letters were replayed already, the first at offset 1"):
        letters.replay(dead, [Place(0, 1), Place(0, 2), Place(0, 3)])
    assert sorted(event.value["n"] for event in replayed(topic)) == [1, 2]
    assert [letter.replayed for letter in letters.newest(dead).events] == [False, True, True, False, False]
    with Letters() as others:
        assert others.replay(dead, [Place(0, 1)], again=True) == 1
    assert sorted(event.value["n"] for event in replayed(topic)) == [1, 1, 2]


def test_of_two_who_replay_at_once_one_does(dead, topic):
    def replay(_):
        with Letters() as letters:
            try:
                return letters.replay(dead, [Place(0, 0)])
            except HeadraceError as error:
                return error

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(replay, range(4)))
    assert outcomes.count(1) == 1
    assert len(replayed(topic)) == 1


def test_a_value_can_be_mended(letters, dead, topic):
    letters.replay(dead, [Place(0, 0)], value='{"n": "mended ü"}')
    (event,) = replayed(topic)
    assert (event.value, event.key) == ({"n": "mended ü"}, "k0")
    with pytest.raises(ReplayError, match="one value is for one letter, not for 2"):
        letters.replay(dead, [Place(0, 1), Place(0, 2)], value="{}")


def test_all_that_wait_are_replayed(letters, dead, topic):
    letters.replay(dead, [Place(0, 2)])
    assert sum(letters.replay(dead, some) for some in letters.waiting(dead)) == 4
    assert list(letters.waiting(dead)) == []
    assert sorted(event.value["n"] for event in replayed(topic)) == [0, 1, 2, 3, 4]


def test_letters_that_are_not_there_are_told(letters, dead):
    for place in (Place(0, 99), Place(0, 2**62), Place(7, 0)):
        with pytest.raises(ReplayError, match=f"there is no letter at offset {place.offset} of partition"):
            letters.replay(dead, [Place(0, 0), place])
    with pytest.raises(ReplayError, match="no letters of"):
        letters.replay(dead, [])
    with pytest.raises(ReplayError, match="too many to replay at once"):
        letters.replay(dead, [Place(0, n) for n in range(MOST + 1)])


def test_a_topic_that_is_none_of_letters_is_refused(letters, topic):
    with pytest.raises(ConfigError, match="is no topic of dead letters"):
        letters.replay(topic, [Place(0, 0)])
    with pytest.raises(UnknownTopicError):
        letters.newest(f"{topic}.dlq")


def put(ledger, topic, **headers):
    with Topics() as topics, Producer() as producer:
        topics.create(ledger, partitions=1, exist_ok=True)
        producer.send(ledger, {"n": 1}, key="k", headers={REASON: "why", TOPIC: topic, **headers})


def test_late_events_go_back_to_the_topic_that_each_tells(letters, topic):
    ledger = f"app-{uuid.uuid4().hex[:8]}.late"
    put(ledger, topic, **{PARTITION: "1", OFFSET: "7"})
    assert letters.ledger(ledger).source is None
    assert letters.replay(ledger, [Place(0, 0)]) == 1
    (event,) = read(topic)
    assert (event.value, event.partition) == ({"n": 1}, 1)
    assert list(event.headers) == ["headrace-replayed-from", "headrace-received"]


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({}, "does not tell where it came from"),
        ({PARTITION: "one", OFFSET: "2"}, "does not tell where it came from"),
        ({PARTITION: "-1", OFFSET: "-1"}, "a result that was too large"),
    ],
)
def test_a_letter_without_a_place_cannot_go_back(letters, topic, headers, told):
    put(f"{topic}.dlq", topic, **headers)
    with pytest.raises(ReplayError, match=told):
        letters.replay(f"{topic}.dlq", [Place(0, 0)])
    assert list(letters.waiting(f"{topic}.dlq")) == []


def test_a_letter_cannot_choose_another_topic(letters, topic, group):
    with Topics() as topics:
        topics.create(group)
    put(f"{topic}.dlq", group, **{PARTITION: "0", OFFSET: "0"})
    with pytest.raises(ReplayError, match=f"it says that it came from '{group}'"):
        letters.replay(f"{topic}.dlq", [Place(0, 0)])
    assert read(group) == []


def test_a_topic_of_letters_created_anew_begins_anew(letters, dead, topic, brokers):
    letters.replay(dead, [Place(0, 0)])
    with Topics() as topics:
        topics.delete(dead)
    put(dead, topic, **{PARTITION: "0", OFFSET: "0"})
    with Letters() as others:
        assert [letter.replayed for letter in others.newest(dead).events] == [False]
        assert others.replay(dead, [Place(0, 0)]) == 1


def test_a_topic_that_is_gone_is_told_and_nothing_is_marked(letters, topic):
    put(f"{topic}.dlq", topic, **{PARTITION: "0", OFFSET: "0"})
    with Topics() as topics:
        topics.delete(topic)
    with pytest.raises(UnknownTopicError):
        letters.replay(f"{topic}.dlq", [Place(0, 0)])
    assert [letter.replayed for letter in letters.newest(f"{topic}.dlq").events] == [False]
