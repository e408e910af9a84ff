"""Which letters were replayed: kept in a topic of their own, written in the transaction that sends them again."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
from confluent_kafka import KafkaException, TopicCollection

from headrace.core.errors import ReplayError, UnknownTopicError
from headrace.log.client import PATIENCE, admin_client, translate
from headrace.log.connection import connect
from headrace.log.event import Event
from headrace.log.reader import Reader
from headrace.log.topics import Topics

REPLAYS = "headrace.replays"
Marks = set[tuple[int, int]]
"""Partitions and offsets of letters that were replayed."""

_KEPT = {"retention.ms": "-1", "retention.bytes": "-1"}  # one small event for each replay, for good


class Replays:
    """Remembers what was replayed, by the topic and by which life of it: one created anew begins anew."""

    def __init__(self, reader: Reader, brokers: str, config: Mapping[str, Any] | None = None) -> None:
        self._reader, self._brokers, self._config = reader, brokers, config
        self._lives: dict[str, str] = {}

    def prepare(self) -> None:
        """Create the topic of marks where it is missing."""
        with Topics(self._brokers, config=self._config) as topics:
            topics.create(REPLAYS, partitions=1, exist_ok=True, config=_KEPT)

    def of(self, topic: str) -> Marks:
        """Return which letters of a topic were replayed."""
        life = self._life(topic)
        bounds = self._reader.settled(REPLAYS)
        begin, end = ({n: held[side] for n, held in bounds.items()} for side in (0, 1))
        marks: Marks = set()
        for event in self._reader.between(REPLAYS, begin, end):
            marks.update(_marked(event, topic, life))
        return marks

    def mark(self, topic: str, places: Iterable[tuple[int, int]]) -> dict[str, Any]:
        """Return what to note of a replay."""
        offsets: dict[str, list[list[int]]] = {}
        for partition, offset in sorted(places):
            ranges = offsets.setdefault(str(partition), [])
            if ranges and ranges[-1][1] == offset - 1:
                ranges[-1][1] = offset
            else:
                ranges.append([offset, offset])
        return {"topic": topic, "life": self._life(topic), "offsets": offsets, "at": datetime.now(UTC)}

    def _life(self, topic: str) -> str:
        if topic not in self._lives:
            client = admin_client(connect(self._brokers, self._config, start=False))
            try:
                told = client.describe_topics(TopicCollection([topic]), request_timeout=PATIENCE)[topic].result()
            except KafkaException as error:
                if error.args[0].name() == "UNKNOWN_TOPIC_OR_PART":
                    raise UnknownTopicError(f"there is no topic {topic!r}; see 'headrace dlq list'") from None
                raise translate(error, f"describing the topic {topic!r}", self._brokers) from None
            finally:
                client.__exit__(None, None, None)
            self._lives[topic] = str(told.topic_id)
        return self._lives[topic]


def _marked(event: Event, topic: str, life: str) -> Iterable[tuple[int, int]]:
    if event.key != topic:
        return
    try:
        told = orjson.loads(event.raw_value or b"{}")
        if told["life"] == life:
            for partition, ranges in told["offsets"].items():
                for first, last in ranges:
                    yield from ((int(partition), offset) for offset in range(first, last + 1))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ReplayError(f"the mark at offset {event.offset} of {REPLAYS!r} cannot be understood") from None
