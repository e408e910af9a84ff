"""Measure everything once, on a broker of our own, and write docs/benchmarks.md."""

import os
import platform
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from bench import broker, clients, conversations
from headrace.core.java import find_java
from headrace.core.settings import Settings
from headrace.log.broker.cluster import Cluster

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def main() -> None:
    """Run the measurements and write the page."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HEADRACE_HOME"] = folder
        os.environ.pop("HEADRACE_BROKERS", None)
        cluster = Cluster(Settings.load())
        try:
            page = _page(cluster)
        finally:
            cluster.erase()
    PAGE.write_text(page, "utf-8")
    print(page)


def _page(cluster: Cluster) -> str:
    first, memory = broker.first_start(cluster)
    later = broker.later_start(cluster)
    listing = broker.topic_list()
    rates = clients.measure()
    confirmed, along = conversations.queue_rates()
    p50, p99, in_flight = conversations.request_figures()
    rows = [
        ("broker ready, first start with formatting", f"{first:.1f} s", "at most 5 s"),
        ("broker ready, later starts", f"{later:.1f} s", "at most 5 s"),
        ("broker's resident memory when ready", f"{memory / 1e6:.0f} MB", "at most 350 MB"),
        ("`headrace topic list`, as a process", f"{listing:.2f} s", "at most 1 s"),
    ]
    rows += [
        (
            f"`{name}` with JSON values beside a bare confluent-kafka loop",
            f"{ours / 1000:,.0f} k/s and {bare / 1000:,.0f} k/s: {ratio:.2f} times",
            "at least 0.8 times",
        )
        for name, (ours, bare, ratio) in rates.items()
    ]
    rows += [
        ("`Queue`, one worker, each acknowledgement confirmed", f"{confirmed:,.0f} jobs/s", ""),
        ("`Queue`, one worker, acknowledgements sent along (`confirm=False`)", f"{along:,.0f} jobs/s", ""),
        ("`Requester` to `Responder` and back, one at a time", f"p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms", ""),
        (f"the same with {conversations.IN_FLIGHT:,} in flight", f"{in_flight:,.0f} requests/s", ""),
    ]
    table = "\n".join(f"| {what} | {figure} | {goal} |" for what, figure, goal in rows)
    return f"""# Benchmarks

Written by `make bench` on {datetime.now(UTC):%d %B %Y}: {os.cpu_count()} cores, {_memory()}, {platform.system()},
Python {platform.python_version()}, Java {find_java().version}, confluent-kafka {version("confluent-kafka")}. The
broker runs beside what is measured. Ratios hold on other machines; absolute figures do not.

| what | measured | goal |
|---|---|---|
{table}

How the ratios come about: both loops send, or read and decode, the same {clients.EVENTS:,} invoices of
{len(clients.SAMPLE)} bytes, with the same settings of the Kafka client, on the same broker, in turns,
{clients.ROUNDS} rounds; the ratio is the median of the rounds' ratios. The bare producer loop calls `produce` and
`poll` with `orjson.dumps` and looks at no delivery report; the bare consumer loop calls `consume` with batches of
1,000 and `orjson.loads`. `Producer` in addition checks that the topic exists, counts, and keeps every failed delivery;
`Consumer` in addition commits only what was handled. Joining the group is not counted.
"""


def _memory() -> str:
    return f"{psutil.virtual_memory().total / 2**30:.0f} GiB"


if __name__ == "__main__":
    main()
