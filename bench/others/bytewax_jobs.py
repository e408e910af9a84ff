"""The jobs in Bytewax: two processes with one worker each, recovery from snapshots every ten seconds.

Its windows start at fixed times, not at events, so the average is an operator with a queue for each user. Times are
those of the records; values are parsed where their keys belong, because bytes go to the other process faster.
Run as ``python -m bench.others.bytewax_jobs JOB BROKERS EVENTS PROFILES OUT COUNT``; prints events per second.
"""

import multiprocessing
import socket
import sys
import tempfile
from bisect import bisect_right, insort
from collections import deque
from datetime import timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any

import bytewax.operators as op
import orjson
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource, KafkaSourceMessage
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators import KeyedStream, StatefulLogic
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.run import cli_main

from bench.others import output

PROCESSES = 2
SNAPSHOTS = timedelta(seconds=10)
WINDOW = 10_000  # milliseconds
BATCH = 1_000
PRODUCER = {"compression.type": "lz4", "enable.idempotence": "true"}

Item = tuple[str, int, bytes]  # topic, time in milliseconds, JSON


class TableFirst(FixedPartitionedSource):
    """The partitions of two topics keyed alike: each gives all that it has of the table, then the stream.

    Bytewax does not read its sources by time, and without this an event may come before the profile that holds for it.
    """

    def __init__(self, brokers: str, table: str, stream: str) -> None:
        self.table, self.stream = table, stream
        self.sources = [KafkaSource([brokers], [topic], tail=False, batch_size=BATCH) for topic in (table, stream)]

    def list_parts(self) -> list[str]:
        """Return the numbers of the partitions."""
        return [part.partition("-")[0] for part in self.sources[1].list_parts()]

    def build_part(self, step_id: str, for_part: str, resume_state: tuple[int, int] | None) -> "TableFirstPartition":
        """Open the partition of this number of both topics."""
        names, resumed = (self.table, self.stream), resume_state or (None, None)
        table, stream = (
            source.build_part(step_id, f"{for_part}-{name}", offset)
            for source, name, offset in zip(self.sources, names, resumed, strict=True)
        )
        return TableFirstPartition(table, stream)


class TableFirstPartition(StatefulSourcePartition):
    """One partition of each topic."""

    def __init__(self, table: StatefulSourcePartition, stream: StatefulSourcePartition) -> None:
        self.table, self.stream = table, stream
        self.filling = True

    def next_batch(self) -> list[KafkaSourceMessage]:
        """Return what comes next."""
        if self.filling:
            try:
                return self.table.next_batch()
            except StopIteration:
                self.filling = False
        return self.stream.next_batch()

    def snapshot(self) -> tuple[int, int]:
        """Return the offsets."""
        return self.table.snapshot(), self.stream.snapshot()

    def close(self) -> None:
        """Close both."""
        self.table.close()
        self.stream.close()


class AsOf(StatefulLogic):
    """The versions of one user's profile."""

    def __init__(self, profiles: str, resumed: list[tuple[int, str]] | None) -> None:
        self.profiles = profiles
        self.versions = resumed or []

    def on_item(self, value: Item) -> tuple[list[bytes], bool]:
        """Return an event with its city."""
        topic, at, body = value
        if topic == self.profiles:
            insort(self.versions, (at, orjson.loads(body)["city"]))
            return [], self.RETAIN
        held = bisect_right(self.versions, at, key=itemgetter(0)) - 1
        return [orjson.dumps({**orjson.loads(body), "city": self.versions[held][1]})], self.RETAIN

    def snapshot(self) -> list[tuple[int, str]]:
        """Return what is kept."""
        return self.versions.copy()


class Average(StatefulLogic):
    """The amounts of one user's last ten seconds."""

    def __init__(self, resumed: tuple[deque[tuple[int, float]], float] | None) -> None:
        self.recent, self.total = resumed or (deque(), 0.0)

    def on_item(self, value: Item) -> tuple[list[bytes], bool]:
        """Return the event with its average."""
        _, at, body = value
        event = orjson.loads(body)
        self.recent.append((at, event["amount"]))
        self.total += event["amount"]
        while self.recent[0][0] < at - WINDOW:
            self.total -= self.recent.popleft()[1]
        return [orjson.dumps({**event, "average": self.total / len(self.recent)})], self.RETAIN

    def snapshot(self) -> tuple[deque[tuple[int, float]], float]:
        """Return what is kept."""
        return self.recent.copy(), self.total


def flow(job: str, brokers: str, events: str, profiles: str, out: str) -> Dataflow:
    """Declare a job."""
    flow = Dataflow(job)
    if job == "enrich":
        keyed = _keyed_input(flow, TableFirst(brokers, profiles, events))
        rows = op.stateful("as-of", keyed, lambda resumed: AsOf(profiles, resumed))
    else:
        keyed = _keyed_input(flow, KafkaSource([brokers], [events], tail=False, batch_size=BATCH))
        rows = op.stateful("average", keyed, Average)
    op.output("out", op.flat_map_batch("messages", rows, _messages), KafkaSink([brokers], out, PRODUCER))
    return flow


def _keyed_input(flow: Dataflow, source: FixedPartitionedSource) -> KeyedStream[Item]:
    return op.flat_map_batch("keyed", op.input("in", flow, source), _keyed)


def _keyed(batch: list[KafkaSourceMessage]) -> list[tuple[str, Item]]:
    return [(message.key.decode(), (message.topic, message.timestamp[1], message.value)) for message in batch]


def _messages(batch: list[tuple[str, bytes]]) -> list[KafkaSinkMessage]:
    return [KafkaSinkMessage(key.encode(), value) for key, value in batch]


def work(number: int, addresses: list[str], folder: Path, declared: tuple[str, ...]) -> None:
    """Run this process's part of the job to the end of the topics, as ``python -m bytewax.run`` does."""
    cli_main(
        flow(*declared),
        process_id=number,
        addresses=addresses,
        epoch_interval=SNAPSHOTS,
        recovery_config=RecoveryConfig(folder),
    )


def main(job: str, brokers: str, *topics: str, count: int) -> None:
    """Run the job to its end, and print how fast that was."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        init_db_dir(Path(folder), PROCESSES)
        arguments: tuple[Any, ...] = (_addresses(), Path(folder), (job, brokers, *topics))
        workers = [context.Process(target=work, args=(number, *arguments), daemon=True) for number in range(PROCESSES)]
        for worker in workers:
            worker.start()
        output.wait(brokers, topics[-1], count, lambda: any(worker.is_alive() for worker in workers))
        for worker in workers:
            worker.join()
    print(output.rate(brokers, topics[-1], count))


def _addresses() -> list[str]:
    """Return free addresses for the processes to talk to each other."""
    with socket.socket() as one, socket.socket() as other:
        for taken in (one, other):
            taken.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{taken.getsockname()[1]}" for taken in (one, other)]


if __name__ == "__main__":
    main(*sys.argv[1:-1], count=int(sys.argv[-1]))
