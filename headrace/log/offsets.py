"""The first and last offsets of partitions, asked for in one request."""

import time
from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from headrace.log.client import PATIENCE, translate

Place = tuple[str, int]
_UNSETTLED = {  # a topic just created, or a partition between two leaders
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
}


def earliest_offsets(client: AdminClient, places: Iterable[Place], brokers: str) -> dict[Place, int]:
    """Return the first offset that each partition still holds."""
    return _ask(client, places, OffsetSpec.earliest(), brokers)


def latest_offsets(client: AdminClient, places: Iterable[Place], brokers: str) -> dict[Place, int]:
    """Return the offset that the next event of each partition will have."""
    return _ask(client, places, OffsetSpec.latest(), brokers)


def _ask(client: AdminClient, places: Iterable[Place], spec: OffsetSpec, brokers: str) -> dict[Place, int]:
    missing, found = set(places), dict[Place, int]()
    deadline = time.monotonic() + PATIENCE
    while missing:
        wanted = {TopicPartition(*place): spec for place in sorted(missing)}
        for asked, done in client.list_offsets(wanted, request_timeout=PATIENCE).items():
            try:
                found[asked.topic, asked.partition] = done.result().offset
            except KafkaException as error:
                if error.args[0].code() not in _UNSETTLED or time.monotonic() > deadline:
                    raise translate(error, f"reading the offsets of {asked.topic!r}", brokers) from None
                time.sleep(0.02)
        missing -= set(found)
    return found
