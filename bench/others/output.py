"""How fast an output topic was filled, told by the times at which the broker appended its records."""

import time
import uuid
from collections.abc import Callable, Iterator

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

_PAUSE = 0.2  # seconds between two looks
_PATIENCE = 10.0  # seconds for a broker to answer
_STALLED = 120.0  # seconds without a new record


def wait(brokers: str, topic: str, count: int, working: Callable[[], bool]) -> None:
    """Return when the topic has ``count`` records; raise an error when nobody works on it any more."""
    consumer = _consumer(brokers)
    places = _places(consumer, topic)
    written, since = 0, time.monotonic()
    while written < count:
        ended = not working()  # asked first: what was written before the end counts
        before, written = written, sum(consumer.get_watermark_offsets(place, _PATIENCE)[1] for place in places)
        since = time.monotonic() if written > before else since
        if written < count and (ended or time.monotonic() - since > _STALLED):
            raise RuntimeError(f"the work on {topic} ended with {written:,} of {count:,} records")
        time.sleep(_PAUSE)
    consumer.close()


def rate(brokers: str, topic: str, count: int) -> float:
    """Return the records per second from the first one to the last; there must be ``count`` of them."""
    times = [message.timestamp()[1] for message in read(brokers, topic)]
    if len(times) != count:
        raise RuntimeError(f"{topic} has {len(times):,} records, not {count:,}")
    return count / (max(times) - min(times)) * 1000


def read(brokers: str, topic: str) -> Iterator[Message]:
    """Return the records that the topic has now."""
    consumer = _consumer(brokers)
    places = _places(consumer, topic)
    consumer.assign(places)
    open_ends = len(places)
    while open_ends:
        for message in consumer.consume(10_000, 0.5):
            error = message.error()
            if error is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                open_ends -= 1
            else:
                raise KafkaException(error)
    consumer.close()


def _consumer(brokers: str) -> Consumer:
    settings = {"auto.offset.reset": "earliest", "enable.auto.commit": False, "enable.partition.eof": True}
    return Consumer({"bootstrap.servers": brokers, "group.id": str(uuid.uuid4()), **settings})


def _places(consumer: Consumer, topic: str) -> list[TopicPartition]:
    partitions = consumer.list_topics(topic, _PATIENCE).topics[topic].partitions
    return [TopicPartition(topic, number, 0) for number in partitions]
