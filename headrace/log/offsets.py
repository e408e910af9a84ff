"""The first and last offsets of partitions, asked for in one request."""

import time
from collections.abc import Iterable

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from headrace.core.errors import UnknownTopicError
from headrace.log.client import PATIENCE, translate

Place = tuple[str, int]
_SETTLING = 1.0  # seconds until a topic just created is known to its brokers
_UNSETTLED = {  # a topic just created, or a partition between two leaders
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError._DESTROY_BROKER,  # the broker asked has just gone
}


def earliest_offsets(client: AdminClient, places: Iterable[Place], brokers: str) -> dict[Place, int]:
    """Return the first offset that each partition still holds."""
    return _ask(client, places, OffsetSpec.earliest(), brokers)


def latest_offsets(
    client: AdminClient, places: Iterable[Place], brokers: str, *, committed: bool = False
) -> dict[Place, int]:
    """Return the offset that the next event of each partition will have.

    Args:
        client: Asks.
        places: Topics and partitions.
        brokers: Whom, for the message of an error.
        committed: Stop before transactions that are still open.
    """
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    return _ask(client, places, OffsetSpec.latest(), brokers, isolation)


def _ask(
    client: AdminClient,
    places: Iterable[Place],
    spec: OffsetSpec,
    brokers: str,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> dict[Place, int]:
    missing, found = set(places), dict[Place, int]()
    begun = time.monotonic()
    while missing:
        wanted = {TopicPartition(*place): spec for place in sorted(missing)}
        for asked, done in client.list_offsets(wanted, isolation_level=isolation, request_timeout=PATIENCE).items():
            try:
                found[asked.topic, asked.partition] = done.result().offset
            except KafkaException as error:
                code = error.args[0].code()
                if code == KafkaError.UNKNOWN_TOPIC_OR_PART and time.monotonic() > begun + _SETTLING:
                    raise UnknownTopicError(f"the topic {asked.topic!r} does not exist any more") from None
                if code not in _UNSETTLED or time.monotonic() > begun + PATIENCE:
                    raise translate(error, f"reading the offsets of {asked.topic!r}", brokers) from None
                time.sleep(0.02)
        missing -= set(found)
    return found
