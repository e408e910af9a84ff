"""Topics followed from given places on, for those who show them."""

import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import confluent_kafka
from confluent_kafka import KafkaException, Message, TopicPartition

from headrace.core.codec import decoder
from headrace.log.client import metadata, open_client, translate
from headrace.log.connection import connect
from headrace.log.event import Event
from headrace.log.hearing import Hearing
from headrace.log.reader import GROUPLESS, SMALL, Bounds, Offsets, fetched

_MOST = 500  # events at once
_LARGEST = 1_000_000  # bytes at once, and what the last event has beyond
_LOOK = 10.0  # seconds between two looks for new partitions
_PATIENCE = 1.0  # seconds for one of them


def begin_at(bounds: Mapping[int, Bounds], wanted: Offsets) -> dict[int, int]:
    """Return where to go on after an interruption, so that nothing is skipped that the topic still has.

    A partition that is not named is new, and begins at its start; so does one whose end lies before the place: the
    topic was deleted and created again.
    """
    return {
        number: wanted[number] if held.first <= wanted.get(number, -1) <= held.end else held.first
        for number, held in bounds.items()
    }


class Following:
    """Reads on from given offsets, whatever comes, without a group; nothing is skipped.

    It fetches no more than a few megabytes ahead: who reads slowly gets the events later. Partitions that are added
    meanwhile are read from their start. One thread at a time may use it.

    Args:
        begin: Where to begin, by topic and partition; all partitions should be named.
        brokers: ``host:port,…``; what is configured, or the managed broker, unless given.
        config: Further settings by Kafka's names.

    Attributes:
        next: Where to go on after everything that `read` returned.
    """

    def __init__(
        self, begin: Mapping[str, Offsets], brokers: str | None = None, config: Mapping[str, Any] | None = None
    ) -> None:
        self._settings = {**SMALL, **connect(brokers, config, start=False), **GROUPLESS}
        self._brokers: str = self._settings["bootstrap.servers"]
        self._client = open_client(confluent_kafka.Consumer, self._settings)
        self._hearing = Hearing(self._brokers, next(iter(begin)))
        self._decode = decoder("json")
        self._ahead: list[Message] = []  # fetched, and too much for the last answer
        self._looked = time.monotonic()
        self.next = {topic: dict(offsets) for topic, offsets in begin.items()}
        for topic in begin:
            metadata(self._client, self._brokers, topic)  # a client that has not heard of it waits a second for leaders
        self._assign()

    def read(self, patience: float = 1.0, gather: float = 0.1) -> list[Event]:
        """Return the next events, in order within a partition.

        Args:
            patience: Seconds to wait for the first; then there are none.
            gather: Seconds to wait for more once there is one.
        """
        self._see_new_partitions()
        batch: list[Message] = []
        size, deadline = 0, time.monotonic() + patience
        while len(batch) < _MOST and size < _LARGEST:
            left = deadline - time.monotonic()
            if left <= 0 or (not self._ahead and not self._fetch(left)):
                break
            if not batch:
                deadline = min(deadline, time.monotonic() + gather)
            while self._ahead and len(batch) < _MOST and size < _LARGEST:
                batch.append(self._ahead.pop())
                size += len(batch[-1].value() or b"")
        if self._hearing.lost(self._client, silent=not batch):
            self._client.close()
            self._client = open_client(confluent_kafka.Consumer, self._settings)
            self._assign()
        return self._handed(batch)

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def _fetch(self, patience: float) -> bool:
        """Have something ahead, the next at the end; False if nothing came."""
        for message in reversed(fetched(self._client, _MOST, patience)):
            error = message.error()
            if error is None:
                self._ahead.append(message)
            elif error.fatal() or not error.retriable():
                raise translate(error, f"reading {', '.join(self.next)}", self._brokers)
        return bool(self._ahead)

    def _handed(self, batch: list[Message]) -> list[Event]:
        received = datetime.now(UTC)
        for message in batch:
            self.next[message.topic() or ""][message.partition() or 0] = (message.offset() or 0) + 1
        return [Event(message, self._decode, received) for message in batch]

    def _see_new_partitions(self) -> None:
        if time.monotonic() < self._looked + _LOOK:
            return
        self._looked = time.monotonic()
        with suppress(KafkaException):  # while the broker is away, nothing is new
            new = [place for topic in self.next for place in self._new(topic)]
            if new:
                for topic, number in new:
                    self.next[topic][number] = 0
                self._assign()

    def _new(self, topic: str) -> list[tuple[str, int]]:
        found = self._client.list_topics(topic, timeout=_PATIENCE).topics.get(topic)
        return [(topic, number) for number in (found.partitions if found else ()) if number not in self.next[topic]]

    def _assign(self) -> None:
        """Go on at `next`; what was fetched ahead is fetched again."""
        self._ahead.clear()
        places = [TopicPartition(topic, n, offset) for topic, held in self.next.items() for n, offset in held.items()]
        self._client.assign(places)
