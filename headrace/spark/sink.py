"""The exactly-once sink: each partition of a batch in one Kafka transaction, with a marker that it is written.

After a crash Spark repeats its last batch. The parts whose marker is there are then skipped; the others are written
anew, what was written of them being aborted. So every row is there once for those who read committed data.
"""

import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaException, Producer
from pyspark import TaskContext
from pyspark.sql import DataFrame

from headrace.core.errors import TransactionError
from headrace.log.dead_letters import OFFSET, PARTITION, REASON, SUFFIX, TOPIC
from headrace.log.producer import LARGEST
from headrace.log.topics import Topics
from headrace.spark import markers
from headrace.spark.diagnosis import diagnose

_PRODUCERS: dict[str, tuple[str, int, Producer]] = {}  # by topic of markers; with the run and process that opened it
_KNOWN: set[str] = set()  # dead-letter topics that exist
_SERVE_EVERY = 1024
_REPORT = pa.schema([("written", pa.int64()), ("dead", pa.int64())])
_REPORT_DDL = "written bigint, dead bigint"


@dataclass(frozen=True)
class Target:
    """Where rows go, as the workers need to know it.

    Attributes:
        topic: For the rows.
        markers: For the markers.
        client: Settings of the Kafka client.
        schemas: Of the input topics, to say what is wrong with dead letters.
    """

    topic: str
    markers: str
    client: Mapping[str, Any]
    schemas: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    run: str = ""
    batch: int = 0
    parts: tuple[str, ...] = ()  # the names of the batch's partitions
    done: frozenset[str] = frozenset()


class ExactlyOnce:
    """Writes the batches of one query; to be given to ``foreachBatch``."""

    def __init__(self, target: Target) -> None:
        self._target = replace(target, run=uuid.uuid4().hex)
        self._fresh = True

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Write a batch, or what an earlier run has not written of it."""
        done = frozenset[str]()
        if self._fresh:
            written = markers.recover(self._target.client, self._target.markers, markers.ROWS, self._target.run)
            done = frozenset(part for part, last in written.items() if last >= number)
            self._fresh = False
        target = replace(self._target, batch=number, parts=tuple(_parts(batch)), done=done)
        batch.mapInArrow(_writer(target), _REPORT_DDL).collect()


def _parts(batch: DataFrame) -> Iterator[str]:
    """Yield a name for each partition, the same when the batch is repeated.

    Those that come straight from a topic are named after the topic's partition: Spark knows them by numbers, but
    numbers them anew, in another order, when it repeats a batch. Two branches may read the same. The query comes first:
    if its checkpoint was deleted, Spark counts from 0 as another one, whose batches are not those written before.
    """
    query = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    seen = Counter[str]()
    for number, partition in enumerate(batch._jdf.queryExecution().toRdd().partitions()):
        name = _origin(partition) or str(number)
        seen[name] += 1
        yield f"{query}/{name}/{seen[name]}"


def _origin(partition: Any) -> str | None:
    kind = partition.getClass().getSimpleName()
    if kind == "UnionPartition":
        return _origin(partition.parentPartition())
    if kind == "DataSourceRDDPartition":
        return str(partition.inputPartition().get().offsetRange().topicPartition().toString())
    return None


def _writer(target: Target) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        assert task is not None
        partition = task.partitionId()
        if task.attemptNumber():  # an earlier attempt may still be at it: only a new start shuts it out
            raise TransactionError("Spark repeated a task; the stage starts again, so that no row is written twice")
        if target.parts[partition] in target.done:
            for _ in batches:  # the state behind these rows is kept when they have been asked for
                pass
            return
        yield from _write(target, target.parts[partition], batches)

    return write


def _write(target: Target, part: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = (batch for batch in batches if batch.num_rows)
    first = next(rows, None)
    if first is None:
        return  # nothing to write, and nothing to note: a repetition would write nothing either
    producer = _producer(target)
    try:
        producer.begin_transaction()
        written, dead = _send(producer, target, first)
        for batch in rows:
            more = _send(producer, target, batch)
            written, dead = written + more[0], dead + more[1]
        markers.note(producer, target.markers, markers.ROWS, part, target.batch)
        producer.commit_transaction(markers.COMMIT)
    except BaseException as error:
        _give_up(target, producer)
        if isinstance(error, KafkaException):
            raise TransactionError(f"the broker did not take the batch: {error.args[0].str()}") from None
        raise
    yield pa.RecordBatch.from_pydict({"written": [written], "dead": [dead]}, schema=_REPORT)


def _producer(target: Target) -> Producer:
    """Return this worker's producer for the query: to open one takes half a second, so it is kept."""
    run, process, producer = _PRODUCERS.get(target.markers, ("", 0, None))
    if producer is None or process != os.getpid() or run != target.run:
        producer = markers.writer(target.client, target.markers, markers.ROWS, target.run)
        _PRODUCERS[target.markers] = (target.run, os.getpid(), producer)
    return producer


def _give_up(target: Target, producer: Producer) -> None:
    _PRODUCERS.pop(target.markers, None)
    try:
        producer.purge()
        producer.abort_transaction(markers.COMMIT)
    except (KafkaException, BufferError):
        pass  # the next run ends it


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
