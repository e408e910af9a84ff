"""The exactly-once sink: each partition of a batch in one Kafka transaction, with a marker that it is written.

After a crash Spark repeats its last batch. The partitions whose marker is there are then skipped; the others are
written anew, what was written of them being aborted. So every row is there once for those who read committed data.
"""

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaException, Producer
from pyspark import TaskContext
from pyspark.sql import DataFrame

from headrace.core.errors import TransactionError
from headrace.log.dead_letters import OFFSET, PARTITION, REASON, SUFFIX, TOPIC
from headrace.log.producer import DEFAULTS, LARGEST
from headrace.log.topics import Topics
from headrace.spark import markers
from headrace.spark.diagnosis import diagnose

WORKER = uuid.uuid4().hex  # this process, among those that write; forked workers ask `_worker`
_PRODUCERS: dict[str, tuple[int, Producer]] = {}  # by transactional id, with the process that opened it
_KNOWN: set[str] = set()  # dead-letter topics that exist
_SETTINGS = {
    **DEFAULTS,
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 262_144,
    "message.max.bytes": 2 * LARGEST,
    "transaction.timeout.ms": 900_000,  # the most that brokers allow unless told: a batch may take long
    "delivery.timeout.ms": 120_000,
}
_COMMIT = 120.0  # seconds
_SERVE_EVERY = 1024
_REPORT = pa.schema([("partition", pa.int32()), ("worker", pa.string()), ("written", pa.int64()), ("dead", pa.int64())])

_REPORT_DDL = "partition int, worker string, written bigint, dead bigint"


@dataclass(frozen=True)
class Target:
    """Where rows go, as the workers need to know it.

    Attributes:
        query: The name under which markers are kept.
        topic: For the rows.
        markers: For the markers.
        client: Settings of the Kafka client.
        schemas: Of the input topics, to say what is wrong with dead letters.
    """

    query: str
    topic: str
    markers: str
    client: Mapping[str, Any]
    schemas: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    batch: int = 0
    done: frozenset[int] = frozenset()
    writers: Mapping[int, str] = field(default_factory=dict)


class ExactlyOnce:
    """Writes the batches of one query; to be given to ``foreachBatch``."""

    def __init__(self, target: Target, finished: Callable[[int, int, int], None] = lambda *_: None) -> None:
        self._target = target
        self._finished = finished
        self._fresh = True
        self._writers: dict[int, str] = {}

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Write a batch, or what an earlier run has not written of it."""
        done = self._recover(batch, number) if self._fresh else frozenset[int]()
        self._fresh = False
        target = replace(self._target, batch=number, done=done, writers=dict(self._writers))
        reports = batch.mapInArrow(_writer(target), _REPORT_DDL).collect()
        self._writers |= {report.partition: report.worker for report in reports}
        self._finished(number, sum(r.written for r in reports), sum(r.dead for r in reports))

    def _recover(self, batch: DataFrame, number: int) -> frozenset[int]:
        """Return the partitions that an earlier run has written already; its open transactions are ended first."""
        partitions = batch._jdf.queryExecution().toRdd().getNumPartitions()
        markers.fence(self._target.client, self._target.query, partitions)
        written = markers.read(self._target.client, self._target.markers, self._target.query)
        return frozenset(partition for partition, last in written.items() if last >= number)


def _writer(target: Target) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        assert task is not None
        partition = task.partitionId()
        if partition in target.done or (task.attemptNumber() and _is_written(target, partition)):
            for _ in batches:  # the state behind these rows is kept when they have been asked for
                pass
            return
        yield from _write(target, partition, batches)

    return write


def _is_written(target: Target, partition: int) -> bool:
    """Whether an earlier attempt of this task has committed and could not tell."""
    markers.begin(target.client, markers.transactional_id(target.query, partition))  # ends it, one way or the other
    return markers.read(target.client, target.markers, target.query).get(partition, -1) >= target.batch


def _write(target: Target, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = (batch for batch in batches if batch.num_rows)
    first = next(rows, None)
    if first is None:
        return  # nothing to write, and nothing to note: a repetition would write nothing either
    producer = _producer(target, partition)
    try:
        producer.begin_transaction()
        written, dead = _send(producer, target, first)
        for batch in rows:
            more = _send(producer, target, batch)
            written, dead = written + more[0], dead + more[1]
        name = markers.transactional_id(target.query, partition)
        producer.produce(target.markers, str(target.batch).encode(), key=name.encode())
        producer.commit_transaction(_COMMIT)
    except BaseException as error:
        _give_up(target, partition, producer)
        if isinstance(error, KafkaException):
            raise TransactionError(f"the broker did not take the batch: {error.args[0].str()}") from None
        raise
    yield pa.RecordBatch.from_pydict(
        {"partition": [partition], "worker": [_worker()], "written": [written], "dead": [dead]}, schema=_REPORT
    )


def _producer(target: Target, partition: int) -> Producer:
    """Return the producer of a partition: the one kept from the last batch, if nobody else wrote since."""
    name = markers.transactional_id(target.query, partition)
    opened, producer = _PRODUCERS.get(name, (0, None))
    if producer is None or opened != os.getpid() or target.writers.get(partition) != _worker():
        _PRODUCERS.pop(name, None)
        producer = markers.begin({**_SETTINGS, **target.client}, name)
        _PRODUCERS[name] = (os.getpid(), producer)
    return producer


def _worker() -> str:
    return f"{WORKER}-{os.getpid()}"


def _give_up(target: Target, partition: int, producer: Producer) -> None:
    _PRODUCERS.pop(markers.transactional_id(target.query, partition), None)
    try:
        producer.purge()
        producer.abort_transaction(_COMMIT)
    except (KafkaException, BufferError):
        pass  # the next writer under this name ends it


def _send(producer: Producer, target: Target, rows: pa.RecordBatch) -> tuple[int, int]:
    dead = rows.column("dead")
    if dead.null_count == len(dead):
        large = _send_rows(producer, target, rows)
        return rows.num_rows - large, large
    alive = rows.filter(dead.is_null())
    letters = dead.drop_null().to_pylist()
    for letter in letters:
        _send_letter(producer, target, letter)
    large = _send_rows(producer, target, alive)
    return alive.num_rows - large, len(letters) + large


def _send_rows(producer: Producer, target: Target, rows: pa.RecordBatch) -> int:
    """Send rows, and return how many were too large for the log and became dead letters."""
    large = 0
    keys, values = rows.column("key").to_pylist(), rows.column("value").to_pylist()
    produce, topic = producer.produce, target.topic
    for number, (key, value) in enumerate(zip(keys, values, strict=True)):
        if value is not None and len(value) > LARGEST - 1000:
            large += 1
            letter = {"reason": f"the row has {len(value)} bytes, the most is {LARGEST - 1000}", "topic": topic}
            _send_letter(
                producer, target, {**letter, "partition": -1, "offset": -1, "key": key, "value": value[:LARGEST]}
            )
            continue
        if number % _SERVE_EVERY == 0:
            producer.poll(0)
        try:
            produce(topic, value, key)
        except BufferError:
            _patiently(producer, topic, value, key)
    return large


def _patiently(producer: Producer, topic: str, value: bytes | None, key: bytes | None) -> None:
    while True:
        producer.poll(0.05)
        try:
            producer.produce(topic, value, key)
        except BufferError:
            continue
        return


def _send_letter(producer: Producer, target: Target, letter: Mapping[str, Any]) -> None:
    topic = letter["topic"] + SUFFIX
    if topic not in _KNOWN:
        create_dead_letters(topic, target.client)
        _KNOWN.add(topic)
    producer.produce(topic, letter["value"], letter["key"], headers=headers_of(letter, target.schemas))
    producer.poll(0)


def create_dead_letters(topic: str, client: Mapping[str, Any]) -> None:
    """Create a topic for dead letters where it is missing; it takes events that no other takes."""
    config = {name: value for name, value in client.items() if name != "bootstrap.servers"}
    with Topics(client["bootstrap.servers"], config=config) as topics:
        topics.create(topic, partitions=1, exist_ok=True, config={"max.message.bytes": str(2 * LARGEST)})


def headers_of(
    letter: Mapping[str, Any], schemas: Mapping[str, Mapping[str, str]]
) -> list[tuple[str, str | bytes | None]]:
    """Return the headers that tell why an event was put aside, and whence it came."""
    reason, schema = letter["reason"], schemas.get(letter["topic"])
    if schema is not None and reason == "the value does not fit the schema":
        reason = diagnose(letter["value"], schema)
    return [
        (REASON, reason),
        (TOPIC, letter["topic"]),
        (PARTITION, str(letter["partition"])),
        (OFFSET, str(letter["offset"])),
    ]
