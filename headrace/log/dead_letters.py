"""Events that could not be handled, kept beside their topic with the reason."""

from collections.abc import Mapping
from typing import Any

from headrace.log.event import Event
from headrace.log.producer import LARGEST, Producer
from headrace.log.topics import Topics

SUFFIX = ".dlq"
LATE_SUFFIX = ".late"  # of the ledger of a program's late events
REASON = "headrace-reason"
TOPIC = "headrace-topic"
PARTITION = "headrace-partition"
OFFSET = "headrace-offset"
LATE = "late: "  # how reasons begin of events that go to the ledger of late ones
_LONGEST = 2000  # characters of a reason


class DeadLetters:
    """Writes to ``<topic>.dlq``, which it creates where it is missing.

    The headers ``headrace-reason``, ``headrace-topic``, ``headrace-partition`` and ``headrace-offset`` tell why and
    whence; the event's own headers, key and value stay as they were.
    """

    def __init__(self, topic: str, brokers: str, config: Mapping[str, Any] | None = None) -> None:
        self.topic = topic + SUFFIX
        with Topics(brokers, config=config) as topics:
            room = {"max.message.bytes": str(2 * LARGEST)}
            topics.create(self.topic, partitions=1, exist_ok=True, config=room)
        self._producer = Producer(brokers, config={"message.max.bytes": 2 * LARGEST, **(config or {})})

    def put(self, event: Event, reason: str, **details: str) -> None:
        """Keep ``event`` and return once the broker has it."""
        told = {
            REASON: reason[:_LONGEST],
            TOPIC: event.topic,
            PARTITION: str(event.partition),
            OFFSET: str(event.offset),
            **{f"headrace-{name}": value for name, value in details.items()},
        }
        headers = [*event.raw_headers, *told.items()]
        self._producer.send(self.topic, event.raw_value, key=event.raw_key, headers=headers)
        self._producer.flush()

    def close(self) -> None:
        """Let go of the connections."""
        self._producer.close()
