"""The jobs in Quix Streams: two processes of one consumer group, a partition each.

State is in RocksDB and in changelog topics, at least once, as Quix Streams comes. Its times are those of the records.
Run as ``python -m bench.others.quix_jobs JOB BROKERS EVENTS PROFILES OUT COUNT``; prints events per second.
"""

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient
from quixstreams import Application

from bench.others import output

PROCESSES = 2


def enrich(app: Application, events: str, profiles: str, out: str) -> None:
    """Give each event the city of the profile that held at its time."""
    right = app.dataframe(app.topic(profiles))
    joined = app.dataframe(app.topic(events)).join_asof(right, how="inner", on_merge=_with_city)
    joined.to_topic(app.topic(out))


def _with_city(event: dict[str, Any], profile: dict[str, Any]) -> dict[str, Any]:
    return {**event, "city": profile["city"]}


def average(app: Application, events: str, profiles: str, out: str) -> None:
    """Average a user's amounts over the ten seconds up to each event; the end of a window is the event's time."""
    amounts = app.dataframe(app.topic(events)).apply(lambda event: event["amount"])
    amounts.sliding_window(timedelta(seconds=10)).mean().current().to_topic(app.topic(out))


JOBS = {"enrich": enrich, "average": average}


def work(job: str, brokers: str, topics: tuple[str, ...]) -> None:
    """Run the job in this process until it is told to end."""
    with tempfile.TemporaryDirectory() as folder:
        app = Application(
            brokers,
            consumer_group=topics[-1],
            auto_offset_reset="earliest",
            consumer_poll_timeout=0.1,
            producer_extra_config={"compression.type": "lz4", "linger.ms": 50, "batch.size": 500_000},
            state_dir=folder,
            loglevel="WARNING",
        )
        JOBS[job](app, *topics)
        app.run()


@contextmanager
def gate(brokers: str, group: str, topic: str) -> Iterator[None]:
    """Keep a group from reading before all its processes are there.

    Otherwise the first reads both partitions until the second is there, and what a join has paused by then for the
    sake of order stays paused in version 3.28.1. A member that does not answer makes the group wait for it.
    """
    settings = {"group.id": group, "partition.assignment.strategy": "range", "enable.auto.commit": False}
    keeper = Consumer({"bootstrap.servers": brokers, **settings})
    keeper.subscribe([topic])
    while not keeper.assignment():
        keeper.poll(0.1)
    yield
    admin = AdminClient({"bootstrap.servers": brokers})
    while len(admin.describe_consumer_groups([group])[group].result().members) <= PROCESSES:
        time.sleep(0.1)
    keeper.close()


def main(job: str, brokers: str, *topics: str, count: int) -> None:
    """Run the job until all is written, and print how fast that was."""
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(job, brokers, topics), daemon=True) for _ in range(PROCESSES)]
    with gate(brokers, topics[-1], topics[0]):
        for worker in workers:
            worker.start()
    output.wait(brokers, topics[-1], count, lambda: all(worker.is_alive() for worker in workers))
    for worker in workers:
        worker.terminate()  # a clean end: it commits what it has
    for worker in workers:
        worker.join()
    print(output.rate(brokers, topics[-1], count))


if __name__ == "__main__":
    main(*sys.argv[1:-1], count=int(sys.argv[-1]))
