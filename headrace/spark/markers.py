"""Markers: which partitions of a batch are written, noted in the same transaction as the rows themselves.

They lie in a topic of the stage's own. Partition 0 has, for the rows, ``batch/<part>`` with the number of the last
batch written, and ``writer/<id>`` for each transactional id that may write: it is noted before it is used, so that
whoever takes over knows whom to shut out. Partition 1 has the same for what was put aside. Partition 2 has the run that
may write to each of the two: a run notes itself before it looks for writers, and a writer looks for its run after it
has noted itself, so that no writer of an earlier run is missed, however late it wakes up.
"""

import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from headrace.core.errors import TransactionError
from headrace.log.client import open_client, translate
from headrace.log.producer import DEFAULTS, LARGEST

PARTITIONS = 3
COMMIT = 120.0  # seconds for a transaction to be committed
ROWS, ASIDES, _RUNS = 0, 1, 2
_AT_ONCE = 8
_PATIENCE = 60.0  # seconds until an earlier transaction must be over
_BATCH, _WRITER = "batch/", "writer/"
_WRITING = {
    **DEFAULTS,
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 262_144,
    "message.max.bytes": 2 * LARGEST,
    "transaction.timeout.ms": 900_000,  # the most that brokers allow unless told: a batch may take long
}


def note(producer: Producer, topic: str, place: int, part: str, batch: int) -> None:
    """Add to a transaction that a part of a batch is in it."""
    producer.produce(topic, str(batch).encode(), key=f"{_BATCH}{part}".encode(), partition=place)


def writer(client: Mapping[str, Any], topic: str, place: int, run: str) -> Producer:
    """Return a producer for transactions, under a name of its own that is noted first.

    Raises:
        TransactionError: Another run has taken over.
    """
    name = f"{topic}.{uuid.uuid4().hex}"
    _tell(client, topic, place, {f"{_WRITER}{name}": b"1"})
    runs = dict(_read(client, topic, _RUNS, "read_uncommitted"))
    if runs.get(str(place)) != run.encode():
        raise TransactionError("another process has taken over the stage; this one may not write any more")
    return _begin(client, name)


def recover(client: Mapping[str, Any], topic: str, place: int, run: str) -> dict[str, int]:
    """Take over: shut out the writers of all earlier runs, and return the last batch that each part has.

    Their open transactions are committed or gone afterwards, and they cannot write any more.
    """
    _tell(client, topic, _RUNS, {str(place): run.encode()})
    notes = dict(_read(client, topic, place, "read_uncommitted"))
    old = [key for key, value in notes.items() if key.startswith(_WRITER) and value]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda key: _begin(client, key.removeprefix(_WRITER)), old))
    if old:
        _tell(client, topic, place, dict.fromkeys(old))
    committed = _read(client, topic, place, "read_committed")
    return {key.removeprefix(_BATCH): int(value) for key, value in committed if key.startswith(_BATCH) and value}


def _tell(client: Mapping[str, Any], topic: str, place: int, notes: Mapping[str, bytes | None]) -> None:
    # Not idempotent, which takes half a second to begin: a note that comes twice says the same.
    producer = open_client(Producer, {**client, "acks": "all", "linger.ms": 0})
    for key, value in notes.items():
        producer.produce(topic, value, key=key.encode(), partition=place)
    if producer.flush(_PATIENCE):
        raise translate(KafkaError(KafkaError._TIMED_OUT), "noting a writer", str(client.get("bootstrap.servers", "")))


def _begin(client: Mapping[str, Any], name: str) -> Producer:
    producer = open_client(Producer, {**_WRITING, **client, "transactional.id": name})
    try:
        producer.init_transactions(_PATIENCE)
    except KafkaException as error:
        raise translate(error, "beginning to write", str(client.get("bootstrap.servers", ""))) from None
    return producer


def _read(
    client: Mapping[str, Any], topic: str, place: int, isolation: Literal["read_committed", "read_uncommitted"]
) -> Iterator[tuple[str, bytes | None]]:
    """Yield all notes, up to the end, as far as they can be seen."""
    settings = {
        **client,
        "group.id": f"{topic}.reader",
        "enable.auto.commit": False,
        "isolation.level": isolation,
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 10,  # at the end of the topic the broker would wait for more
    }
    consumer = open_client(Consumer, settings)
    try:
        consumer.assign([TopicPartition(topic, place, 0)])
        while True:
            message = consumer.poll(1.0)
            if message is None:
                continue
            if message.error() is None:
                yield (message.key() or b"").decode(), message.value()
            elif _ended(message):
                return
    finally:
        consumer.close()


def _ended(message: Message) -> bool:
    error = message.error()
    if error is not None and error.code() != KafkaError._PARTITION_EOF and not error.retriable():
        raise translate(error, "reading the markers")
    return error is not None and error.code() == KafkaError._PARTITION_EOF
