"""Places in a topic: the start, the end, an offset, a time."""

import math
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from confluent_kafka import Consumer, KafkaException, TopicPartition

from headrace.core.errors import ConfigError
from headrace.log.client import PATIENCE, translate

Place = str | int | datetime | timedelta | Mapping[int, int]
"""``"earliest"``, ``"latest"``, an offset, a time, a span before now, or offsets by partition."""


def check_place(place: Place) -> Place:
    """Return ``place`` if it is one."""
    named = isinstance(place, str) and place in ("earliest", "latest")
    counted = isinstance(place, int) and not isinstance(place, bool) and place >= 0
    timed = isinstance(place, datetime | timedelta)
    mapped = isinstance(place, Mapping) and all(isinstance(n, int) and n >= 0 for n in (*place, *place.values()))
    if named or counted or timed or mapped:
        return place
    raise ConfigError(
        f"{place!r} is not a place in a topic; use 'earliest', 'latest', an offset, a datetime, "
        "a timedelta before now, or a map from partitions to offsets"
    )


def resolve(client: Consumer, partitions: Sequence[TopicPartition], place: Place) -> list[TopicPartition]:
    """Return ``partitions`` with the offsets at which ``place`` lies in each.

    The end is the one of now, not the one when the first fetch gets there. An offset that a partition does not hold
    becomes its start or its end, whichever is nearer. A partition that has nothing at or after a time begins at its
    end; one that a map does not name, at its start.
    """
    if isinstance(place, timedelta):
        return _at_time(client, partitions, time.time() - place.total_seconds())
    if isinstance(place, datetime):
        return _at_time(client, partitions, place.timestamp())
    return [_at_offset(client, p, _offset(place, p.partition)) for p in partitions]


def _at_offset(client: Consumer, partition: TopicPartition, wanted: float) -> TopicPartition:
    try:
        first, end = client.get_watermark_offsets(partition, timeout=PATIENCE) or (0, 0)
    except KafkaException as error:
        raise translate(error, f"looking for the offsets of {partition.topic!r}") from None
    return TopicPartition(partition.topic, partition.partition, int(min(max(wanted, first), end)))


def _offset(place: str | int | Mapping[int, int], partition: int) -> float:
    if isinstance(place, Mapping):
        return place.get(partition, 0)
    if isinstance(place, int):
        return place
    return 0 if place == "earliest" else math.inf


def _at_time(client: Consumer, partitions: Sequence[TopicPartition], seconds: float) -> list[TopicPartition]:
    stamp = max(0, int(seconds * 1000))  # Kafka's time begins in 1970
    wanted = [TopicPartition(p.topic, p.partition, stamp) for p in partitions]
    try:
        found = client.offsets_for_times(wanted, timeout=PATIENCE)
    except KafkaException as error:
        raise translate(error, "looking for the offsets of a time") from None
    return [p if p.offset >= 0 else _at_offset(client, p, math.inf) for p in found]
