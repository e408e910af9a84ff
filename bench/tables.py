"""Tables: look-ups, sliding windows and operators of one's own, beside tumbling windows and other tools."""

import statistics
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import headrace as hr
from bench.engine import declared
from headrace.log import Producer, Topics
from headrace.operators.processor import Key

EVENTS = 1_000_000
KEYS = 10_000
VERSIONS = 3
ROUNDS = 3
BEGIN = datetime(2024, 5, 1, 10, tzinfo=UTC)
SCHEMA = "user string, amount double, at timestamp"
PROFILES = "user string, city string, at timestamp"


class Count(hr.Processor):
    """Counts the rows of each key: as little as an operator can do."""

    def on_rows(self, key: Key, rows: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        """Count."""
        key.state = (key.state or 0) + len(rows)
        return [{"user": key.value, "n": key.state}]


def prepare(events: str = "bench-events", profiles: str = "bench-profiles") -> None:
    """Fill the topics that are read: 5,000 events a second of event time, and versions before and among them."""
    with Topics() as topics:
        topics.create(events, partitions=2)
        topics.create(profiles, partitions=2, compact=True)
    with Producer(config={"queue.buffering.max.messages": 1_000_000}) as producer:
        for version in range(VERSIONS):
            since = (BEGIN + timedelta(seconds=60 * version)).isoformat()
            for number in range(KEYS):
                row = {"user": f"u{number}", "city": f"c{version}", "at": since}
                producer.send(profiles, row, key=f"u{number}")
        for number in range(EVENTS):
            user = f"u{number * 7919 % KEYS}"
            at = (BEGIN + timedelta(milliseconds=number // 5)).isoformat(timespec="milliseconds")
            producer.send(events, {"user": user, "amount": number % 1000 / 10, "at": at}, key=user)


def _events(app: hr.App) -> Any:
    return app.stream("bench-events", schema=SCHEMA, key="user", event_time="at", lateness="10 seconds")


def tumbling(app: hr.App) -> None:
    """Declare the yardstick: sums and counts per user and ten seconds."""
    windows = _events(app).group_by("user").window(hr.tumbling("10 seconds"))
    windows.agg(total="sum(amount)", n="count(*)").to(f"{app.name}-out", partitions=2)


def enrichment(app: hr.App) -> None:
    """Declare a look-up of each event's user as of its time."""
    profiles = app.table("bench-profiles", schema=PROFILES, key="user", event_time="at")
    joined = _events(app).join(profiles.select("user", "city"), on="user", as_of="event_time", how="left")
    joined.to(f"{app.name}-out", partitions=2)


def sliding(app: hr.App) -> None:
    """Declare the average of each user's last ten seconds."""
    windows = _events(app).group_by("user").window(hr.sliding("10 seconds"), emit="final")
    windows.agg(mean="avg(amount)").to(f"{app.name}-out", partitions=2)


def process(app: hr.App) -> None:
    """Declare an operator that counts."""
    _events(app).group_by("user").process(Count(), "user string, n bigint").to(f"{app.name}-out", partitions=2)


def rates() -> dict[str, tuple[float, float]]:
    """Return the events per second of each, and how it compares with tumbling windows, in one run, in turns."""
    jobs: dict[str, Callable[[hr.App], None]] = {
        "tumbling": tumbling,
        "enrichment": enrichment,
        "sliding": sliding,
        "process": process,
    }
    for job in jobs.values():
        declared(job)
    rounds = [{name: declared(job) for name, job in jobs.items()} for _ in range(ROUNDS)]
    return {
        name: (
            statistics.median(one[name] for one in rounds),
            statistics.median(one[name] / one["tumbling"] for one in rounds),
        )
        for name in jobs
    }
