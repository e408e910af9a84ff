"""Pieces of topics, read wherever they lie."""

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, NamedTuple, Self

import confluent_kafka
from confluent_kafka import KafkaError, Message, TopicPartition

from headrace.core.codec import decoder
from headrace.log.client import PATIENCE, admin_client, metadata, open_client, partitions_of, translate, unreachable
from headrace.log.connection import connect
from headrace.log.event import Event
from headrace.log.names import check_topic_name
from headrace.log.offsets import earliest_offsets, latest_offsets
from headrace.log.positions import resolve

Offsets = Mapping[int, int]
"""A place in each partition of a topic."""

SMALL = {  # what a client takes that shows events to people: it needs few, at once
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 50,
    "fetch.max.bytes": 4_000_000,
    "queued.max.messages.kbytes": 4_096,
    "queued.min.messages": 1_000,
}
GROUPLESS = {
    "group.id": "headrace-none",  # the client wants one; nothing is committed to it
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
}
_BATCH = 500
_GLANCE = 0.02
_TICK = 0.2  # seconds between two looks at the clock


def fetched(client: confluent_kafka.Consumer, most: int, patience: float) -> list[Message]:
    """Return what the client has, or, if it has nothing, the next event that comes while we wait."""
    batch = client.consume(most, 0)
    if not batch and (one := client.poll(patience)) is not None:
        batch = [one]
    return batch


class Bounds(NamedTuple):
    """What a partition holds: offsets from ``first`` up to, and without, ``end``."""

    first: int
    end: int


class Reader:
    """Reads what lies between offsets; it has no group, and commits and changes nothing.

    Only committed events count. One thread at a time may use it.

    Example:
        >>> with Reader(brokers) as reader:  # doctest: +SKIP
        ...     ends = {n: bounds.end for n, bounds in reader.bounds("orders").items()}
        ...     last = {n: end - 10 for n, end in ends.items()}
        ...     events = list(reader.between("orders", last, ends))
    """

    def __init__(self, brokers: str | None = None, config: Mapping[str, Any] | None = None) -> None:
        settings = connect(brokers, config, start=False)
        self._brokers: str = settings["bootstrap.servers"]
        self._admin = admin_client(settings)
        own = GROUPLESS | {"enable.partition.eof": True}  # tells the end behind markers of transactions
        self._client = open_client(confluent_kafka.Consumer, {**SMALL, **settings, **own})
        self._decode = decoder("json")

    def bounds(self, topic: str) -> dict[int, Bounds]:
        """Return what each partition holds now, up to the first transaction that is still open."""
        # asked by the client that will read: one that has not heard of a topic waits a second for its leaders
        count = partitions_of(self._client, check_topic_name(topic), self._brokers)
        places = [(topic, number) for number in range(count)]
        first = earliest_offsets(self._admin, places, self._brokers)
        ends = latest_offsets(self._admin, places, self._brokers, committed=True)
        return {place[1]: Bounds(first[place], ends[place]) for place in places}

    def settled(self, topic: str, patience: float = 2.0) -> dict[int, Bounds]:
        """Like `bounds`, once transactions that were under way have ended, for which it waits a little.

        Who has committed one may otherwise not see it yet: brokers finish a commit after they have answered. A topic
        that does not exist has no partitions.
        """
        if topic not in metadata(self._admin, self._brokers).topics:
            return {}
        found, deadline = self.bounds(topic), time.monotonic() + patience
        ends = latest_offsets(self._admin, [(topic, number) for number in found], self._brokers)
        while any(found[number].end < end for (_, number), end in ends.items()) and time.monotonic() < deadline:
            time.sleep(_GLANCE)
            found = self.bounds(topic)
        return found

    def at(self, topic: str, moment: datetime, partitions: int) -> dict[int, int]:
        """Return where the events begin that the log took at or after a time."""
        places = [TopicPartition(topic, number) for number in range(partitions)]
        return {place.partition: place.offset for place in resolve(self._client, places, moment)}

    def between(self, topic: str, begin: Offsets, end: Offsets) -> Iterator[Event]:
        """Yield the events from ``begin`` up to, and without, ``end``: in order within a partition, not among them.

        Raises:
            BrokerUnavailableError: For ten seconds nothing more came.
        """
        left = {number: until for number, until in end.items() if number in begin and begin[number] < until}
        self._client.assign([TopicPartition(topic, number, begin[number]) for number in left])
        heard = time.monotonic()
        while left:
            batch = fetched(self._client, _BATCH, _TICK)
            if batch:
                heard = time.monotonic()
            elif time.monotonic() > heard + PATIENCE:
                raise unreachable(self._brokers)
            yield from self._within(batch, left)
        self._client.unassign()

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()
        self._admin.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def _within(self, batch: list[Message], left: dict[int, int]) -> Iterator[Event]:
        """Yield what is wanted of a batch, and strike partitions off that have no more of it."""
        received = datetime.now(UTC)
        for message in batch:
            number = message.partition() or 0
            if (error := message.error()) is not None:
                self._heed(error, number, left)
            elif number in left:
                offset = message.offset() or 0
                if offset < left[number]:
                    yield Event(message, self._decode, received)
                if offset >= left[number] - 1:
                    del left[number]

    def _heed(self, error: KafkaError, partition: int, left: dict[int, int]) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            left.pop(partition, None)
        elif error.fatal() or not error.retriable():
            raise translate(error, "reading the topic", self._brokers)
