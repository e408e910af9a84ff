"""The changes of a table as they lie in its topic: read in batches, each with the offsets after it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import confluent_kafka
from confluent_kafka import KafkaError, Message, TopicPartition

from headrace.log.client import logger, open_client, translate, unreachable
from headrace.log.hearing import Hearing

_DEFAULTS = {"isolation.level": "read_committed", "fetch.wait.max.ms": 100}
_OWN = {
    "group.id": "headrace-none",  # the client wants one; nothing is committed to it
    "enable.auto.commit": False,
    "enable.partition.eof": True,  # tells offsets behind the markers of transactions, which are no events
    "auto.offset.reset": "error",  # what is not there any more cannot be skipped: see OffsetsGoneError
}
_MOST = 1000  # events of a batch


class OffsetsGoneError(Exception):
    """The topic does not hold the offsets any more at which reading should go on."""


class Change(NamedTuple):
    """One event: a row under its key, or the end of that row."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Batch:
    """What was read at once.

    Attributes:
        changes: In each partition, in the order of the log.
        offsets: Where the partitions go on of which anything was read.
        whole: Whether there was nothing more to read.
    """

    changes: list[Change]
    offsets: dict[int, int]
    whole: bool


class Changes:
    """Reads all partitions of a topic, without a group, from given offsets on."""

    def __init__(self, topic: str, settings: Mapping[str, Any], offsets: Mapping[int, int]) -> None:
        self._topic = topic
        self._brokers: str = settings["bootstrap.servers"]
        self._hearing = Hearing(self._brokers, topic)
        self._behind = set(offsets)
        self._client = open_client(confluent_kafka.Consumer, {**_DEFAULTS, **settings, **_OWN})
        self._client.assign([TopicPartition(topic, number, offset) for number, offset in offsets.items()])

    def next(self, timeout: float) -> Batch:
        """Return what has arrived; wait up to ``timeout`` seconds if nothing has.

        Raises:
            BrokerUnavailableError: The broker is there, but this client does not hear it: open another.
        """
        messages = self._client.consume(_MOST, 0)
        if not messages:
            one = self._client.poll(timeout)
            messages = [] if one is None else [one]
        if self._hearing.lost(self._client, silent=not messages):
            raise unreachable(self._brokers)
        batch = Batch([], {}, False)
        for message in messages:
            self._take(message, batch)
        return Batch(batch.changes, batch.offsets, not self._behind)

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _take(self, message: Message, batch: Batch) -> None:
        partition, offset = message.partition() or 0, message.offset() or 0
        error = message.error()
        if error is None:
            batch.changes.append(Change(partition, offset, message.key(), message.value()))
            batch.offsets[partition] = offset + 1
            self._behind.add(partition)
        elif error.code() == KafkaError._PARTITION_EOF:
            batch.offsets[partition] = offset
            self._behind.discard(partition)
        else:
            self._heed(error)

    def _heed(self, error: KafkaError) -> None:
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise OffsetsGoneError(error.str())
        if error.fatal() or not error.retriable():
            raise translate(error, f"reading {self._topic!r}", self._brokers)
        logger.debug("reading %r: %s", self._topic, error.str())
