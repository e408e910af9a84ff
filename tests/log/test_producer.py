import dataclasses
import threading
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.core.change import Delete
from headrace.core.errors import (
    BrokerUnavailableError,
    BufferFullError,
    ConfigError,
    DeliveryError,
    EncodeError,
    EventTooLargeError,
    TopicNameError,
    UnknownTopicError,
)
from headrace.log import Consumer, Counts, Producer, Topics

NOWHERE = {"socket.connection.setup.timeout.ms": 1000}


def read(topic, **options):
    with Consumer(topic, follow=False, **options) as consumer:
        return list(consumer)


@dataclasses.dataclass
class Order:
    id: int
    at: datetime


def test_values_keys_headers_and_event_time_arrive_as_sent(topic):
    at = datetime(2024, 5, 1, 10, 0, 5, 123000, tzinfo=UTC)
    with Producer() as producer:
        producer.send(topic, {"n": 1}, key="ann", headers={"trace": "a1", "bytes": b"\xff"}, event_time=at, partition=2)
    [event] = read(topic)
    assert (event.value, event.key, event.topic, event.partition, event.offset) == ({"n": 1}, "ann", topic, 2, 0)
    assert event.headers["trace"] == "a1"
    assert event.headers["bytes"].encode("utf-8", "surrogateescape") == b"\xff"
    assert event.event_time == at
    assert abs((event.timestamp - datetime.now(UTC)).total_seconds()) < 60  # the log's own time, not the event's
    assert event.timestamp <= event.received


def test_a_deletion_is_a_tombstone_under_its_key(topic):
    with Producer() as producer:
        for key in ("ann", {"who": "bob", "author": "ann"}, 7):
            producer.send(topic, Delete(key), partition=0)
    assert [(event.raw_key, event.raw_value) for event in read(topic)] == [
        (b"ann", None),
        (b'{"who":"bob","author":"ann"}', None),
        (b"7", None),
    ]


def test_text_bytes_dataclasses_and_tombstones(topic):
    at = datetime(2024, 5, 1, tzinfo=UTC)
    with Producer() as producer:
        for value in ("plain text", b"\x00\xff", Order(1, at), None, 7, [1, "two"]):
            producer.send(topic, value, partition=0)
    assert [event.raw_value for event in read(topic)] == [
        b"plain text",
        b"\x00\xff",
        b'{"id":1,"at":"2024-05-01T00:00:00+00:00"}',
        None,
        b"7",
        b'[1,"two"]',
    ]


def test_events_without_a_time_of_their_own_have_none(topic):
    with Producer() as producer:
        producer.send(topic, 1)
    assert read(topic)[0].event_time is None


header_names = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=5)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    events=st.lists(
        st.tuples(
            st.one_of(st.none(), st.text(max_size=20), st.binary(max_size=20)),
            st.dictionaries(st.text(max_size=5), st.one_of(st.integers(-(2**53), 2**53), st.text(), st.booleans())),
            st.dictionaries(header_names, st.text(max_size=5), max_size=3),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_whatever_is_sent_is_read_in_order(topic, events):
    with Topics() as topics:
        before = topics.describe(topic).partitions[0].latest
    with Producer() as producer:
        for key, value, headers in events:
            producer.send(topic, value, key=key, headers=headers, partition=0)
    found = read(topic, partitions=[0], start=before)
    expected = [key.encode() if isinstance(key, str) else key for key, _, _ in events]
    assert [event.raw_key for event in found] == expected
    assert [(event.value, event.headers) for event in found] == [(value, headers) for _, value, headers in events]


def test_a_key_always_goes_to_the_partition_that_java_clients_choose(topic):
    hashes = {  # of Kafka's own tests
        "21": -973932308,
        "foobar": -790332482,
        "a-little-bit-long-string": -985981536,
        "a-little-bit-longer-string": -1486304829,
        "abc": 479470107,
    }
    with Producer() as producer:
        for key in hashes:
            producer.send(topic, 0, key=key)
    expected = {key: (number & 0x7FFFFFFF) % 4 for key, number in hashes.items()}
    assert {event.key: event.partition for event in read(topic)} == expected


def test_every_delivery_is_told_with_its_place(topic):
    told = []
    with Producer(on_delivery=told.append) as producer:
        for number in range(3):
            producer.send(topic, number, key="k", partition=1)
    assert [(d.topic, d.partition, d.offset, d.key, d.error) for d in told] == [
        (topic, 1, number, b"k", None) for number in range(3)
    ]


def test_counts_tell_what_became_of_events(topic):
    with Producer() as producer:
        for number in range(500):
            producer.send(topic, number)
        producer.flush()
        assert producer.counts == Counts(sent=500, delivered=500, failed=0, waiting=0, dropped=0)


def test_failed_deliveries_raise_at_the_end_and_are_told(topic):
    told = []
    producer = Producer(on_delivery=told.append, config={"delivery.timeout.ms": 1500, "linger.ms": 0})
    producer.send(topic, 1)
    producer.flush()
    with Topics() as topics:
        topics.delete(topic)
    producer.send(topic, 2, key="lost")
    with pytest.raises(DeliveryError, match="1 of 2 events were not delivered") as error:
        producer.close()
    assert "key b'lost'" in str(error.value)
    assert [d.error is None for d in told] == [True, False]
    assert producer.counts.failed == 1


def small_buffer(**options):
    # Events wait for company for a minute: the buffer stays as it is until it is flushed.
    config = {"queue.buffering.max.messages": 10, "linger.ms": 60_000, "batch.num.messages": 1000}
    return Producer(config=config, **options)


def test_a_full_buffer_drops_and_counts_if_told_so(topic):
    with small_buffer(on_full="drop") as producer:
        taken = [producer.send(topic, number, partition=0) for number in range(25)]
        assert taken == [True] * 10 + [False] * 15
        assert (producer.counts.sent, producer.counts.dropped) == (10, 15)
    assert [event.value for event in read(topic)] == list(range(10))


def test_a_full_buffer_raises_if_told_so_and_what_it_holds_is_sent(topic):
    with small_buffer(on_full="error") as producer:
        for number in range(10):
            producer.send(topic, number, partition=0)
        with pytest.raises(BufferFullError, match="the buffer is full with 10 events"):
            producer.send(topic, 10)
    assert [event.value for event in read(topic)] == list(range(10))


def test_a_full_buffer_blocks_by_default_and_loses_nothing(topic):
    with Producer(config={"queue.buffering.max.messages": 10, "linger.ms": 1}) as producer:
        for number in range(500):
            assert producer.send(topic, number, partition=0, headers={"n": str(number)})
    assert [event.value for event in read(topic)] == list(range(500))


def test_threads_share_a_producer(topic):
    with Producer() as producer:

        def send(thread):
            for number in range(2000):
                producer.send(topic, [thread, number], key=str(thread))

        threads = [threading.Thread(target=send, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert producer.counts.delivered == 8000
    found = [event.value for event in read(topic)]
    assert len(found) == 8000
    for thread in range(4):
        assert [n for t, n in found if t == thread] == list(range(2000))


def test_an_exception_goes_on_its_way_and_what_was_sent_is_delivered(topic):
    with pytest.raises(ZeroDivisionError), Producer() as producer:
        producer.send(topic, 1)
        1 / 0  # noqa: B018
    assert [event.value for event in read(topic)] == [1]


def test_an_exception_tells_what_could_not_be_delivered(topic):
    with pytest.raises(ZeroDivisionError) as error, small_buffer(on_full="drop") as producer:
        producer.send(topic, 1)
        with Topics() as topics:
            topics.delete(topic)
        1 / 0  # noqa: B018
    assert "1 of 1 events" in "".join(error.value.__notes__)


def test_an_event_over_a_megabyte_is_refused_and_the_next_is_sent(topic):
    with Producer() as producer:
        with pytest.raises(EventTooLargeError, match="1,200,000 bytes, and the log takes 1,000,000"):
            producer.send(topic, b"x" * 1_200_000)
        producer.send(topic, b"x" * 990_000)
    assert [len(event.raw_value) for event in read(topic, format="raw")] == [990_000]


@pytest.mark.parametrize("value", [object(), {1: 2}, {"set": {1}}, 2**64, float, {"deep": {"x": object()}}])
def test_what_json_cannot_say_is_refused(topic, value):
    with Producer() as producer, pytest.raises(EncodeError, match="cannot be written as JSON"):
        producer.send(topic, value)


def test_deep_nesting_is_refused_not_fatal(topic):
    deep = []
    for _ in range(5000):
        deep = [deep]
    with Producer() as producer, pytest.raises(EncodeError, match="cannot be written"):
        producer.send(topic, deep)


@pytest.mark.parametrize("headers", [{"a\0b": "x"}, {"n": 1}, {1: "x"}])
def test_wrong_headers_are_refused(topic, headers):
    with Producer() as producer, pytest.raises(EncodeError, match="a header is a name and text or bytes"):
        producer.send(topic, 1, headers=headers)


def test_an_unknown_topic_is_told_at_once(topic):
    with Producer() as producer:
        with pytest.raises(UnknownTopicError, match="Did you mean"):
            producer.send(topic + "x", 1)
        with pytest.raises(TopicNameError, match="is not a topic name"):
            producer.send("../x", 1)


def test_a_partition_that_is_not_there_is_refused(topic):
    with Producer() as producer, pytest.raises(ConfigError, match="no such partition"):
        producer.send(topic, 1, partition=99)


def test_nobody_at_the_address():
    with pytest.raises(BrokerUnavailableError, match=r"no broker answers at 127.0.0.1:1 .*HEADRACE_BROKERS"):
        Producer("127.0.0.1:1", config=NOWHERE).send("orders", 1)


@pytest.mark.parametrize(
    "options",
    [
        {"on_full": "explode"},
        {"config": {"no.such.setting": 1}},
        {"config": {"linger.ms": "soon"}},
        {"brokers": "no port"},
        {"brokers": "host:99999"},
    ],
)
def test_wrong_settings_are_refused(cluster, options):
    with pytest.raises(ConfigError):
        Producer(**options)


def test_headers_may_repeat_and_odd_ones_are_refused(topic):
    with Producer() as producer:
        producer.send(topic, 1, headers=[("a", "1"), ("a", b"2"), ("n", None)])
        with pytest.raises(EncodeError, match="a header is a name"):
            producer.send(topic, 1, headers={"\ud800": "x"})
        for wrong in ("2024-01-01", datetime.min, 5):
            with pytest.raises(EncodeError, match="event_time must be a datetime"):
                producer.send(topic, 1, event_time=wrong)
        with pytest.raises(ConfigError, match="cannot be sent"):
            producer.send(topic, 1, partition="one")
    [event] = read(topic)
    assert event.raw_headers == [("a", b"1"), ("a", b"2"), ("n", None)]
