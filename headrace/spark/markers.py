"""Markers: which partitions of a batch are written, noted in the same transaction as the rows themselves."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from headrace.log.client import open_client, partitions_of, translate

_AT_ONCE = 8
_PATIENCE = 60.0  # seconds until an earlier transaction must be over


def transactional_id(query: str, partition: int) -> str:
    """Return the name under which one partition of a query's output is written: one writer at a time."""
    return f"{query}-{partition}"


def fence(client: Mapping[str, Any], query: str, partitions: int) -> None:
    """End what an earlier run of the query has left open: its transactions are committed or gone, none is under way.

    Nobody who wrote under these names before can write any more.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda number: begin(client, transactional_id(query, number)), range(partitions)))


def begin(client: Mapping[str, Any], name: str) -> Producer:
    """Return a producer that alone may write under ``name`` from now on."""
    producer = open_client(Producer, {**client, "transactional.id": name})
    try:
        producer.init_transactions(_PATIENCE)
    except KafkaException as error:
        raise translate(error, "beginning to write", str(client.get("bootstrap.servers", ""))) from None
    return producer


def read(client: Mapping[str, Any], topic: str, query: str) -> dict[int, int]:
    """Return the last batch that each partition of a query's output has, as far as it is committed."""
    settings = {
        **client,
        "group.id": f"{query}-markers",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
    }
    consumer = open_client(Consumer, settings)
    found: dict[int, int] = {}
    try:
        waiting = set(range(partitions_of(consumer, topic, str(client.get("bootstrap.servers", "")))))
        consumer.assign([TopicPartition(topic, number, 0) for number in waiting])
        while waiting:
            for message in consumer.consume(1000, 1.0):
                error = message.error()
                if error is not None:
                    if error.code() == KafkaError._PARTITION_EOF:
                        waiting.discard(message.partition() or 0)
                    continue
                name, _, number = (message.key() or b"").decode().rpartition("-")
                if name == query:
                    found[int(number)] = int(message.value() or b"-1")
    finally:
        consumer.close()
    return found
