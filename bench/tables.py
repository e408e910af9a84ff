"""Tables: look-ups, sliding windows and operators of one's own, beside tumbling windows and other tools."""

import statistics
import uuid
from collections.abc import Callable, Iterable
from typing import Any

import psutil

import headrace as hr
from bench.engine import BATCH, declared
from bench.others import data, run
from headrace.log import Producer, Topics
from headrace.log.connection import connect
from headrace.operators.processor import Key

ROUNDS = 3
FEW, MANY = 10_000, 1_000_000  # keys in state
SCHEMA = "user string, amount double, at timestamp"
PROFILES = "user string, city string, at timestamp"
EVENTS_TOPIC, PROFILES_TOPIC = "bench-events", "bench-profiles"


class Count(hr.Processor):
    """Counts the rows of each key: as little as an operator can do."""

    def on_rows(self, key: Key, rows: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        """Count."""
        key.state = (key.state or 0) + len(rows)
        return [{"user": key.value, "n": key.state}]


def prepare() -> None:
    """Fill the topics that are read, here and by the other tools."""
    data.fill(str(connect()["bootstrap.servers"]), EVENTS_TOPIC, PROFILES_TOPIC)


def _events(app: hr.App) -> Any:
    return app.stream(EVENTS_TOPIC, schema=SCHEMA, key="user", event_time="at", lateness="10 seconds")


def tumbling(app: hr.App) -> None:
    """Declare the yardstick: sums and counts per user and ten seconds."""
    windows = _events(app).group_by("user").window(hr.tumbling("10 seconds"))
    windows.agg(total="sum(amount)", n="count(*)").to(f"{app.name}-out", partitions=2)


def enrichment(app: hr.App) -> None:
    """Declare a look-up of each event's user as of its time."""
    profiles = app.table(PROFILES_TOPIC, schema=PROFILES, key="user", event_time="at")
    joined = _events(app).join(profiles.select("user", "city"), on="user", as_of="event_time", how="left")
    joined.to(f"{app.name}-out", partitions=2)


def sliding(app: hr.App) -> None:
    """Declare the average of each user's last ten seconds."""
    windows = _events(app).group_by("user").window(hr.sliding("10 seconds"), emit="final")
    windows.agg(mean="avg(amount)").to(f"{app.name}-out", partitions=2)


def process(app: hr.App) -> None:
    """Declare an operator that counts."""
    _events(app).group_by("user").process(Count(), "user string, n bigint").to(f"{app.name}-out", partitions=2)


JOBS: dict[str, Callable[[hr.App], None]] = {
    "tumbling": tumbling,
    "enrichment": enrichment,
    "sliding": sliding,
    "process": process,
}


def rates() -> dict[str, tuple[float, float]]:
    """Return the events per second of each, and how it compares with tumbling windows, in one run, in turns."""
    for job in JOBS.values():
        declared(job)
    rounds = [{name: declared(job) for name, job in JOBS.items()} for _ in range(ROUNDS)]
    return {
        name: (
            statistics.median(one[name] for one in rounds),
            statistics.median(one[name] / one["tumbling"] for one in rounds),
        )
        for name in JOBS
    }


def others(job: data.Job) -> dict[str, float]:
    """Return the events per second of other tools at the same job."""
    brokers = str(connect()["bootstrap.servers"])
    return run.rates(brokers, job, events=EVENTS_TOPIC, profiles=PROFILES_TOPIC)


def touched(kept: int, touching: int = 1_000, batches: int = 12) -> tuple[float, float]:
    """Return the seconds of a batch that touches some keys while many are kept, and the memory in megabytes."""
    name = f"bench-{uuid.uuid4().hex[:8]}"
    with Topics() as topics:
        topics.create(f"{name}-in", partitions=2)
    app = hr.App(name, max_batch=BATCH)
    rows = app.stream(f"{name}-in", schema="user string, amount double", key="user", time="append")
    rows.group_by("user").process(Count(), "user string, n bigint").to(f"{name}-out", partitions=2)
    with Producer(config={"queue.buffering.max.messages": 1_000_000}) as producer:
        _send(producer, f"{name}-in", range(kept))
        with app.start() as started:
            started.drain()
            seconds = []
            for batch in range(batches):
                _send(producer, f"{name}-in", (n * 7919 * (batch + 1) % kept for n in range(touching)))
                producer.flush()
                before = started.queries[0].last
                started.drain()
                last = started.queries[0].last
                assert last is not None and last is not before
                seconds.append(last.seconds)
            return statistics.median(seconds[2:]), _memory()


def _send(producer: Producer, topic: str, numbers: Iterable[int]) -> None:
    for number in numbers:
        producer.send(topic, {"user": f"u{number}", "amount": 1.0}, key=f"u{number}")


def _memory() -> float:
    """Return what this process and all that it started hold, Java and the workers among them."""
    here = psutil.Process()
    return sum(one.memory_info().rss for one in (here, *here.children(recursive=True))) / 1e6
