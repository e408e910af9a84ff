"""Rows, and what could not be processed, as messages of a Kafka producer."""

from collections.abc import Mapping
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import Producer

from headrace.log.dead_letters import LATE, OFFSET, PARTITION, REASON, SUFFIX, TOPIC
from headrace.log.producer import LARGEST
from headrace.log.topics import Topics
from headrace.spark.diagnosis import diagnose

Schemas = Mapping[str, Mapping[str, str]]  # of the input topics, to say what is wrong with dead letters
_KNOWN: set[str] = set()  # dead-letter topics that exist
_SERVE_EVERY = 1024
_MOST = LARGEST - 1000  # bytes of a row with its key; the rest is for what Kafka adds
_SHOWN = 1000  # bytes of a key of which only the size is wrong


class Sender:
    """Sends rows to a topic, and dead ones to the dead letters of the topics they came from."""

    def __init__(
        self, producer: Producer, topic: str, client: Mapping[str, Any], schemas: Schemas, ledger: str = ""
    ) -> None:
        self._producer, self._topic, self._client, self._schemas = producer, topic, client, schemas
        self._ledger = ledger

    def send(self, rows: pa.RecordBatch) -> None:
        """Send a batch of the columns key, value and dead."""
        dead = rows.column("dead")
        if dead.null_count < len(dead):
            for row in rows.filter(dead.is_valid()).to_pylist():
                self.put_aside(letter_of(row))
            rows = rows.filter(dead.is_null())
        keys, values = rows.column("key").to_pylist(), rows.column("value").to_pylist()
        produce, topic = self._producer.produce, self._topic
        large = sum(_longest(rows.column(name)) for name in ("key", "value")) > _MOST
        for number, (key, value) in enumerate(zip(keys, values, strict=True)):
            if large and (size := len(key or b"") + len(value or b"")) > _MOST:
                self._too_large(key or b"", value or b"", size)
                continue
            if number % _SERVE_EVERY == 0:
                self._producer.poll(0)
            try:
                produce(topic, value, key)
            except BufferError:
                self._patiently(topic, value, key)

    def put_aside(self, letter: Mapping[str, Any]) -> None:
        """Send what could not be processed, with the reason, to the dead letters of its topic, or to the late ones."""
        topic = self._ledger if is_late(letter) else letter["topic"] + SUFFIX
        if topic not in _KNOWN:
            create_dead_letters(topic, self._client)
            _KNOWN.add(topic)
        self._patiently(topic, letter["value"], letter["key"], headers=headers_of(letter, self._schemas))

    def _patiently(self, topic: str, value: bytes | None, key: bytes | None, **more: Any) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, **more)
            except BufferError:
                self._producer.poll(0.05)
                continue
            self._producer.poll(0)
            return

    def _too_large(self, key: bytes, value: bytes, size: int) -> None:
        reason = f"the row has {size} bytes with its key, the most is {_MOST}"
        place = {"topic": self._topic, "partition": -1, "offset": -1}
        self.put_aside({"reason": reason, **place, "key": key[:_SHOWN], "value": value[:LARGEST]})


def _longest(column: pa.Array) -> int:
    """Return the size of the largest value of a column; looking at each row takes longer than at all at once."""
    longest: int | None = pc.max(pc.binary_length(column)).as_py()
    return longest or 0


def letter_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is to be told of a dead row: reason, topic, partition, offset, key, value."""
    return {**orjson.loads(row["dead"]), "key": row["key"], "value": row["value"]}


def is_late(letter: Mapping[str, Any]) -> bool:
    """Whether an event belongs to those that came too late."""
    return bool(letter["reason"].startswith(LATE))


def create_dead_letters(topic: str, client: Mapping[str, Any]) -> None:
    """Create a topic for dead letters where it is missing; it takes events that no other takes."""
    config = {name: value for name, value in client.items() if name != "bootstrap.servers"}
    with Topics(client["bootstrap.servers"], config=config) as topics:
        topics.create(topic, partitions=1, exist_ok=True, config={"max.message.bytes": str(2 * LARGEST)})


def headers_of(letter: Mapping[str, Any], schemas: Schemas) -> list[tuple[str, str | bytes | None]]:
    """Return the headers that tell why an event was put aside, and whence it came."""
    reason, schema = letter["reason"], schemas.get(letter["topic"])
    if schema is not None and reason == "the value does not fit the schema":
        reason = diagnose(letter["value"], schema)
    return [
        (REASON, reason),
        (TOPIC, letter["topic"]),
        (PARTITION, str(letter["partition"])),
        (OFFSET, str(letter["offset"])),
    ]
