"""A topic read from its beginning to its end, as often as one likes."""

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from headrace.core.codec import decoder
from headrace.core.errors import UnknownTopicError
from headrace.log.client import PATIENCE, admin_client, metadata, open_client, translate, unreachable
from headrace.log.event import Event
from headrace.log.offsets import earliest_offsets, latest_offsets

_SETTINGS = {
    "group.id": "headrace-none",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": 50,
}
_TICK = 0.2  # seconds of waiting for events of which is known that they are there


class Following:
    """Reads a topic that may not be there yet.

    Args:
        client: Settings of the Kafka client.
        topic: Its name.
    """

    def __init__(self, client: Mapping[str, Any], topic: str) -> None:
        self._settings, self._topic = {**client, **_SETTINGS}, topic
        self._brokers = str(client["bootstrap.servers"])
        self._admin = admin_client(client)
        self._consumer: Consumer | None = None
        self._next: dict[int, int] = {}
        self._decode = decoder("json")
        self.anew = 0  # changes when what was read counts no more: the topic was deleted, or is another one

    def news(self) -> Iterator[Event]:
        """Yield what was written since the last call; nothing if there is no such topic.

        Raises:
            BrokerUnavailableError: Nobody answers.
        """
        try:
            ends = self._ends()
        except UnknownTopicError:
            self.close()
            return
        deadline = time.monotonic() + PATIENCE
        while self._consumer is not None and any(self._next[n] < end for n, end in ends.items()):
            if found := list(self._take(self._consumer)):
                deadline = time.monotonic() + PATIENCE
                yield from found
            elif time.monotonic() > deadline:
                raise unreachable(self._brokers)

    def close(self) -> None:
        """Read no more."""
        if self._consumer is not None:
            self._consumer.close()
            self.anew += 1
        self._consumer, self._next = None, {}

    def _ends(self) -> dict[int, int]:
        """Return where the topic ends now; open it first where that is to be done."""
        if self._consumer is None and not self._open():
            return {}
        ends = self._ask_ends()
        if any(end < self._next[n] for n, end in ends.items()):  # it is another one by now
            self.close()
            return self._ends()
        return ends

    def _ask_ends(self) -> dict[int, int]:
        places = [(self._topic, n) for n in self._next]
        return {n: end for (_, n), end in latest_offsets(self._admin, places, self._brokers, committed=True).items()}

    def _open(self) -> bool:
        found = metadata(self._admin, self._brokers).topics.get(self._topic)
        if found is None or not found.partitions:
            return False
        begin = earliest_offsets(self._admin, [(self._topic, n) for n in found.partitions], self._brokers)
        self._consumer = open_client(Consumer, self._settings)
        self._consumer.assign([TopicPartition(*place, offset) for place, offset in begin.items()])
        self._next = {n: offset for (_, n), offset in begin.items()}
        return True

    def _take(self, consumer: Consumer) -> Iterator[Event]:
        now = datetime.now(UTC)
        for message in consumer.consume(500, _TICK):
            number, offset = message.partition() or 0, message.offset() or 0
            error = message.error()
            if error is None:
                self._next[number] = offset + 1
                yield Event(message, self._decode, now)
            elif error.code() == KafkaError._PARTITION_EOF:  # past what transactions note for themselves
                self._next[number] = max(self._next[number], offset)
            elif error.fatal() or not error.retriable():
                raise translate(error, f"reading {self._topic}", self._brokers)
