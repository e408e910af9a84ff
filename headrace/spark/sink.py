"""The exactly-once sink: batches in Kafka transactions, with markers that they are written.

A large batch is written by Spark's workers, each of its partitions in a transaction of its own; a small one by this
process in one transaction, because workers take longer to begin than the writing takes.

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
from headrace.spark import markers
from headrace.spark.sending import Schemas, Sender

_PRODUCERS: dict[str, tuple[str, int, Producer]] = {}  # by topic of markers; with the run and process that opened it
_WHOLE = "whole"  # the part of a batch that was written in one transaction


@dataclass(frozen=True)
class Target:
    """Where rows go, as the workers need to know it.

    Attributes:
        topic: For the rows.
        markers: For the markers.
        client: Settings of the Kafka client.
        schemas: Of the input topics.
        ledger: For events that came too late.
        run: Of which start of the query.
        batch: Its number.
    """

    topic: str
    markers: str
    client: Mapping[str, Any]
    schemas: Schemas = field(default_factory=dict)
    ledger: str = ""
    run: str = ""
    batch: int = 0


class ExactlyOnce:
    """Writes the batches of one query; to be given to ``foreachBatch``.

    Args:
        target: Where they go.
        is_small: Whether the batch to come is expected to fit into this process.
    """

    def __init__(self, target: Target, is_small: Callable[[], bool] = lambda: False) -> None:
        self._target = replace(target, run=uuid.uuid4().hex)
        self._is_small = is_small
        self._written: dict[str, int] | None = None

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Write a batch, or what an earlier run has not written of it."""
        target = replace(self._target, batch=number)
        if self._written is None:
            self._written = markers.recover(target.client, target.markers, markers.ROWS, target.run)
        query = str(batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId"))
        done = frozenset(part for part, last in self._written.items() if last >= number and part.startswith(query))
        whole = f"{query}/{_WHOLE}"
        if whole in done:
            batch.write.format("noop").mode(
                "append"
            ).save()  # the state behind the rows is kept when they are asked for
        elif self._is_small() and not done:
            _write(target, whole, batch.toArrow().to_batches())
        else:
            batch.mapInArrow(_writer(target, tuple(_parts(batch, query)), done), "nothing int").collect()


def _parts(batch: DataFrame, query: str) -> Iterator[str]:
    """Yield a name for each partition, the same when the batch is repeated.

    Those that come straight from a topic are named after the topic's partition: Spark knows them by numbers, but
    numbers them anew, in another order, when it repeats a batch. Two branches may read the same. The query comes first:
    if its checkpoint was deleted, Spark counts from 0 as another one, whose batches are not those written before.
    """
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


def _writer(
    target: Target, parts: tuple[str, ...], done: frozenset[str]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        assert task is not None
        if task.attemptNumber():  # an earlier attempt may still be at it: only a new start shuts it out
            raise TransactionError("Spark repeated a task; the stage starts again, so that no row is written twice")
        part = parts[task.partitionId()]
        if part in done:
            for _ in batches:  # the state behind these rows is kept when they have been asked for
                pass
        else:
            _write(target, part, batches)
        return iter(())

    return write


def _write(target: Target, part: str, batches: Iterable[pa.RecordBatch]) -> None:
    """Write a part of a batch, and its marker, in one transaction."""
    rows = (batch for batch in batches if batch.num_rows)
    first = next(rows, None)
    if first is None:
        return  # nothing to write, and nothing to note: a repetition would write nothing either
    producer = _producer(target)
    sender = Sender(producer, target.topic, target.client, target.schemas, target.ledger)
    try:
        producer.begin_transaction()
        sender.send(first)
        for batch in rows:
            sender.send(batch)
        markers.note(producer, target.markers, markers.ROWS, part, target.batch)
        producer.commit_transaction(markers.COMMIT)
    except BaseException as error:
        _give_up(target, producer)
        if isinstance(error, KafkaException):
            raise TransactionError(f"the broker did not take the batch: {error.args[0].str()}") from None
        raise


def _producer(target: Target) -> Producer:
    """Return this process's producer for the query: to open one takes half a second, so it is kept."""
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
