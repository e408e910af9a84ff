"""Replayed events on the real broker: they have the time that they had, also where clocks are corrected."""

from datetime import UTC, datetime, timedelta

import confluent_kafka
import orjson
import pytest

from headrace.log import Topics
from headrace.log.letters import Letters
from tests.runtime.conftest import read

NOW = datetime.now(UTC).replace(microsecond=0)
BEFORE = NOW - timedelta(hours=3)  # more than a clock may be wrong by
SLOW = timedelta(minutes=30)  # which a device's clock is behind
WAY = timedelta(seconds=10)  # from what happened to its sending
HOSTILE = (b"never", b"", b"-5", b"0", b"9" * 30, b"\xff\xfe", b"1e3", str(2**45).encode(), None)


@pytest.fixture
def devices(name, brokers):
    """A topic that takes the log's time from who writes, so that a test can write the past."""
    with Topics() as topics:
        topics.create(f"{name}-devices", partitions=1, config={"message.timestamp.type": "CreateTime"})
    return f"{name}-devices"


def write(topic, brokers, value, at, headers=()):
    producer = confluent_kafka.Producer({"bootstrap.servers": brokers})
    producer.produce(topic, value, timestamp=round(at.timestamp() * 1000), headers=list(headers))
    assert producer.flush(30) == 0


def reading(number, at):
    """What a device with a slow clock sends at a time."""
    return orjson.dumps({"id": number, "at": at - SLOW - WAY, "sent": at - SLOW})


def declare(app, name, devices):
    told = app.stream(devices, schema="id int, at timestamp, sent timestamp", event_time="at", lateness="3 minutes")
    right = told.correct_clock(event="at", sent="sent", max_skew="2 hours")
    right.to(f"{name}-right")
    right.dedupe("id", within="3 minutes", name="once").to(f"{name}-once")


def times(topic, number):
    return [datetime.fromisoformat(row.value["at"]) for row in read(topic) if row.value["id"] == number]


def replay(ledger, **more):
    with Letters() as letters:
        return letters.replay(ledger, [letter.place for letter in letters.newest(ledger).events], **more)


def test_a_mended_event_has_the_time_that_it_had_and_what_is_late_stays_late(app, name, devices, brokers):
    declare(app, name, devices)
    with app.start() as run:
        write(devices, brokers, reading(1, BEFORE).replace(b"1", b'"one"', 1), BEFORE)
        write(devices, brokers, reading(2, NOW), NOW)
        run.drain()
        assert replay(f"{devices}.dlq", value=reading(1, BEFORE).decode()) == 1
        run.drain()
        assert times(f"{name}-right", 1) == [BEFORE - WAY]  # the day is right, though it was mended hours later
        assert times(f"{name}-once", 1) == []
        [late] = read(f"{name}.late")
        assert late.headers["headrace-reason"].startswith("late: happened at")  # and not: the clock is wrong
        assert replay(f"{name}.late") == 1
        run.drain()
        assert times(f"{name}-right", 1) == [BEFORE - WAY] * 2
        assert len(read(f"{name}.late")) == 2  # to replay it makes it no younger
    assert times(f"{name}-once", 2) == [NOW - WAY]


def test_what_an_event_says_of_its_receipt_counts_only_where_it_can_be(app, name, devices, brokers):
    declare(app, name, devices)
    for number, header in enumerate(HOSTILE):
        write(devices, brokers, reading(number, NOW), NOW, [("trace", b"t"), ("headrace-received", header)])
    earlier = NOW - timedelta(minutes=1)
    write(devices, brokers, reading(100, earlier), NOW, [("headrace-received", f"{earlier.timestamp() * 1000:.0f}")])
    app.run(drain=True)
    assert {row.value["id"]: datetime.fromisoformat(row.value["at"]) for row in read(f"{name}-right")} == {
        **dict.fromkeys(range(len(HOSTILE)), NOW - WAY),
        100: earlier - WAY,
    }
