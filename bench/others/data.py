"""Events and profiles, the same for every tool, and what each job must make of them."""

import math
import random
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Literal

import orjson
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench.others.output import read

Job = Literal["enrich", "average"]
Row = tuple[int, str, dict[str, Any]]  # time in milliseconds, user, value
Answers = dict[tuple[str, int], Any]  # by user and time, which no two events share

EVENTS = 1_000_000
USERS = 10_000
VERSIONS = 3
PARTITIONS = 2
PER_SECOND = 5_000  # of event time: a user has five events or so in ten seconds
START = 1_714_557_600_000  # 2024-05-01T10:00:00Z
WINDOW = 10_000  # milliseconds up to an event, both ends included


def events(count: int) -> Iterator[Row]:
    """Return events in the order of their times, which are even; in each round every user has one, in a new order."""
    chance = random.Random(1)
    users = [f"u{number}" for number in range(USERS)]
    for number in range(count):
        if number % USERS == 0:
            chance.shuffle(users)
        at, user = START + number * 500 // PER_SECOND * 2, users[number % USERS]
        yield at, user, {"user": user, "amount": round(chance.uniform(0, 100), 2), "at": _text(at)}


def profiles(count: int) -> list[Row]:
    """Return the versions of all profiles by time: one from before the events, the others spread over them.

    Their times are odd, so none is that of an event: where both are equal, Quix Streams may read the event first.
    """
    chance = random.Random(2)
    span = count * 1000 // PER_SECOND
    rows: list[Row] = []
    for version in range(VERSIONS):
        since = START + span * version // VERSIONS if version else START - span
        for number in range(USERS):
            at, user = since + chance.randrange(span // 6) | 1, f"u{number}"
            city = f"c{version}-{chance.randrange(100)}"
            rows.append((at, user, {"user": user, "city": city, "at": _text(at)}))
    return sorted(rows, key=lambda row: row[0])


def fill(brokers: str, events_topic: str, profiles_topic: str, count: int = EVENTS) -> None:
    """Create both topics, keyed by user, and write the rows with their own times as those of the records."""
    settings = {
        "bootstrap.servers": brokers,
        "compression.type": "lz4",
        "linger.ms": 20,
        "partitioner": "murmur2_random",
        "queue.buffering.max.messages": EVENTS + USERS * VERSIONS,
    }
    producer = Producer(settings)
    for topic, rows in ((profiles_topic, profiles(count)), (events_topic, events(count))):
        create(brokers, topic, "CreateTime")
        _write(producer, topic, rows)
    if producer.flush(120):
        raise RuntimeError(f"{len(producer)} rows were not written within two minutes")


def _write(producer: Producer, topic: str, rows: Iterable[Row]) -> None:
    for at, user, value in rows:
        producer.produce(topic, orjson.dumps(value), user, timestamp=at)
        producer.poll(0)


def create(brokers: str, topic: str, times: Literal["CreateTime", "LogAppendTime"]) -> None:
    """Create a topic that keeps everything, also records whose times are years ago."""
    config = {"message.timestamp.type": times, "retention.ms": "-1"}
    admin = AdminClient({"bootstrap.servers": brokers})
    admin.create_topics([NewTopic(topic, PARTITIONS, config=config)])[topic].result()


def delete(brokers: str, topic: str) -> None:
    """Delete a topic."""
    admin = AdminClient({"bootstrap.servers": brokers})
    admin.delete_topics([topic])[topic].result()


def check(brokers: str, job: Job, topic: str, count: int) -> None:
    """Raise an error unless the output has one right answer for each event."""
    wanted = _enriched(count) if job == "enrich" else _averaged(count)
    found: Answers = {}
    for message in read(brokers, topic):
        where, answer = _answer(job, message)
        if where in found:
            raise ValueError(f"{job}: two answers for {where}")
        found[where] = answer
    if found.keys() != wanted.keys():
        raise ValueError(f"{job}: {len(found):,} answers for {len(wanted):,} events")
    wrong = [where for where, answer in found.items() if not _same(answer, wanted[where])]
    if wrong:
        where = wrong[0]
        raise ValueError(f"{job}: {len(wrong):,} wrong answers, such as {found[where]} for {wanted[where]} at {where}")


def _enriched(count: int) -> Answers:
    held: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for at, user, profile in profiles(count):
        held[user].append((at, profile["city"]))
    return {
        (user, at): (max(version for version in held[user] if version[0] <= at)[1], event["amount"])
        for at, user, event in events(count)
    }


def _averaged(count: int) -> Answers:
    answers: Answers = {}
    recent: dict[str, deque[tuple[int, float]]] = defaultdict(deque)
    for at, user, event in events(count):
        amounts = recent[user]
        amounts.append((at, event["amount"]))
        while amounts[0][0] < at - WINDOW:
            amounts.popleft()
        answers[user, at] = math.fsum(amount for _, amount in amounts) / len(amounts)
    return answers


def _answer(job: Job, message: Message) -> tuple[tuple[str, int], Any]:
    key, value = message.key(), orjson.loads(message.value() or b"")
    assert isinstance(key, bytes)
    if job == "enrich":
        return (value["user"], _milliseconds(value["at"])), (value["city"], value["amount"])
    if "end" in value:  # a window of Quix Streams, which ends with its event
        return (key.decode(), value["end"]), value["value"]
    return (value["user"], _milliseconds(value["at"])), value["average"]


def _same(one: Any, other: Any) -> bool:
    return math.isclose(one, other, rel_tol=1e-9) if isinstance(one, float) else bool(one == other)


def _text(milliseconds: int) -> str:
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _milliseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
