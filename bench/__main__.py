"""Measure everything once, on a broker of our own, and write docs/benchmarks.md."""

import os
import platform
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from bench import broker, clients, conversations, dashboard, engine, latency, retail, tables, views
from bench.others import data
from headrace.core.java import find_java
from headrace.core.quantities import show_size
from headrace.core.settings import Settings
from headrace.log.broker.cluster import Cluster

Row = tuple[str, str, str]  # what, measured, goal
Latency = tuple[float, float]  # p50 and p99 in seconds
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
    log = list(_told(_broker(cluster)))
    computing = list(_told(_engine()))
    log += _told(_clients())
    kept = list(_told(_tables()))
    seen = list(_told(_views()))
    mesh = list(_told(_mesh()))
    return f"""# Benchmarks

Written by `make bench` on {datetime.now(UTC):%d %B %Y}: {os.cpu_count()} cores, {_memory()}, {platform.system()},
Python {platform.python_version()}, Java {find_java().version}, Spark {version("pyspark")}, confluent-kafka
{version("confluent-kafka")}. The broker runs beside what is measured. Ratios hold on other machines; absolute figures
do not.

## The engine

{_table(computing)}

Both sides of a ratio run in one Spark, tuned alike, in turns, {engine.ROUNDS} rounds after one that does not count; the
ratio is the median of the rounds' ratios. They read the same {engine.EVENTS:,} JSON events from two partitions,
{engine.BATCH:,} a batch; the join {engine.PAIRS:,} on its left side, and a quarter of them on its right. The rate of a
round is that of its median batch, so starting is not in it. The program by hand reads, parses and computes with plain
PySpark. It has Headrace's exactly-once sink too, because PySpark has none; it looks for no dead letters and no late
events. How much the sink itself costs is measured on rows that need no work, beside the sink that Spark brings, which
may write a row twice.

Latency is from just before an event is sent to just after its row is read from the output, for
{latency.EVENTS - latency.WARM:,} events at {1 / latency.PAUSE:.0f} a second, each kind in a process of its own. Stock
is a program by hand with the settings that Spark comes with, and its own sink.

## Tables

{_table(kept)}

All read the same {data.EVENTS:,} JSON events of {data.USERS:,} users from two partitions; a user has five events or so
in ten seconds. The other tools are at their best settings, with two processes, and their start is not counted. They
answer each event with the average of the ten seconds before it; Headrace tells each sliding window once, of which there
are two for an event.

Where a goal beside another tool is missed: to pass events on with no work at all, as a row of the engine's
table do, is the most that Spark does on these cores, exactly once included, and eight times the other tool would be
more than that. Bytewax has been given a source and operators written for just these jobs, and writes at least once.

## Views

{_table(seen)}

A table of {views.ROWS:,} rows of five columns, in four partitions. Another process sends {views.RATE:,} changes a
second for {views.SECONDS:.0f} seconds, and with them, every ten milliseconds, a row that tells when it was sent.
Look-ups are for any of the keys, one after the other, from the thread of the program; the view writes in its own.

## The mesh

{_table(mesh)}

`headrace demo` at {retail.RATE:,} invoices a second, with nine programs and Chromium on its report, all on the same
cores. Sales that are measured are sent among the others, {1 / retail.PROBES:.0f} a second for {retail.MINUTES:.0f}
minutes, each of a product that nobody else sells: when the browser shows it, the sale is on the dashboard. Memory is
that of all processes but the browser's, means of the second and the last fifth of the time.

## The log

{_table(log)}

Both loops of a ratio send, or read and decode, the same {clients.EVENTS:,} invoices of {len(clients.SAMPLE)} bytes,
with the same settings of the Kafka client, on the same broker, in turns, {clients.ROUNDS} rounds; the ratio is the
median of the rounds' ratios. The bare producer loop calls `produce` and `poll` with `orjson.dumps` and looks at no
delivery report; the bare consumer loop calls `consume` with batches of 1,000 and `orjson.loads`. `Producer` in addition
checks that the topic exists, counts, and keeps every failed delivery; `Consumer` in addition commits only what was
handled. Joining the group is not counted.
"""


def _table(rows: list[Row]) -> str:
    lines = [f"| {what} | {figure} | {goal} |" for what, figure, goal in rows]
    return "\n".join(["| what | measured | goal |", "|---|---|---|", *lines])


def _told(rows: Iterable[Row]) -> Iterator[Row]:
    """Print figures as they come: the whole takes a quarter of an hour."""
    for row in rows:
        print("\t".join(row), flush=True)
        yield row


def _broker(cluster: Cluster) -> Iterator[Row]:
    first, memory = broker.first_start(cluster)
    yield "broker ready, first start with formatting", f"{first:.1f} s", "at most 5 s"
    yield "broker ready, later starts", f"{broker.later_start(cluster):.1f} s", "at most 5 s"
    yield "broker's resident memory when ready", f"{memory / 1e6:.0f} MB", "at most 350 MB"
    yield "`headrace topic list`, as a process", f"{broker.topic_list():.2f} s", "at most 1 s"


def _clients() -> Iterator[Row]:
    for name, rate in clients.measure().items():
        yield f"`{name}` with JSON values beside a bare confluent-kafka loop", _ratio(rate), "at least 0.8 times"
    confirmed, along = conversations.queue_rates()
    yield "`Queue`, one worker, each acknowledgement confirmed", f"{confirmed:,.0f} jobs/s", ""
    yield "`Queue`, one worker, acknowledgements sent along (`confirm=False`)", f"{along:,.0f} jobs/s", ""
    p50, p99, in_flight = conversations.request_figures()
    yield "`Requester` to `Responder` and back, one at a time", f"p50 {_ms(p50)}, p99 {_ms(p99)}", ""
    yield f"the same with {conversations.IN_FLIGHT:,} in flight", f"{in_flight:,.0f} requests/s", ""


def _views() -> Iterator[Row]:
    found = views.measure()
    load = f"while {views.RATE:,} changes/s arrive"
    yield f"`View.get`, {load}", _span(found.get), "p50 at most 5 ms"
    yield f"from sending a change until a view has it, {load}", _span(found.lag), "at most 1 s"
    yield f"`View.query`, sums by shop over {views.ROWS:,} rows, {load}", f"p50 {_ms(found.query)}", ""
    yield "a new view catching up", f"{found.catching_up / 1000:,.0f} k rows/s", ""
    yield f"size of {views.ROWS:,} rows", show_size(found.size), ""


def _mesh() -> Iterator[Row]:
    tail = dashboard.measure()
    yield f"renderer, {dashboard.RATE} events/s on a topic's tail", f"{tail.renderer:.1%} of a core", "at most 10 %"
    yield "events of the tail that were skipped", f"{tail.sent - tail.received:,} of {tail.sent:,}", "none"
    found = retail.measure()
    yield "the dashboard is there", f"{found.dashboard:.1f} s", ""
    yield "something moves", f"{found.moving:.1f} s", "at most 40 s, from an empty clone"
    yield "live charts", f"{found.charts:.1f} s", "at most 90 s, from an empty clone"
    yield "sale to dashboard", _aged(found.seen), "p50 at most 2 s"
    yield "sale to reward", _aged(found.rewarded), "p95 at most 5 s"
    yield "probes that were seen", f"{len(found.seen)} and {len(found.rewarded)} of {found.probes}", "all"
    yield "memory", "{:,.0f} MB, then {:,.0f} MB".format(*found.growth()), "flat"


def _aged(taken: list[float]) -> str:
    return f"p50 {retail.percentile(taken, 0.5):.1f} s, p95 {retail.percentile(taken, 0.95):.1f} s"


def _tables() -> Iterator[Row]:
    tables.prepare()
    found = tables.rates()
    rate = found["tumbling"][0]
    yield "tumbling windows of Spark's own, the yardstick", f"{rate / 1000:,.0f} k/s", ""
    names = {
        "enrichment": ("look-ups as of an event's time", "at least 0.5 times"),
        "sliding": ("averages over sliding windows", "at least 0.5 times"),
        "process": ("an operator of one's own that counts", "at least 0.8 times"),
    }
    for name, (what, goal) in names.items():
        yield f"{what}, beside it", f"{found[name][0] / 1000:,.0f} k/s: {found[name][1]:.2f} times", goal
    jobs: tuple[tuple[data.Job, str, str, int], ...] = (
        ("enrich", "enrichment", "look-ups", 8),
        ("average", "sliding", "sliding averages", 6),
    )
    for job, ours, what, goal in jobs:
        for tool, theirs in tables.others(job).items():
            figure = (
                f"{found[ours][0] / 1000:,.0f} k/s and {theirs / 1000:,.1f} k/s: {found[ours][0] / theirs:.1f} times"
            )
            yield f"{what}, beside {tool}", figure, f"at least {goal} times"
    few, many = tables.touched(tables.FEW), tables.touched(tables.MANY)
    yield (
        f"a batch that touches 1,000 keys, with {tables.MANY:,} kept, beside {tables.FEW:,}",
        f"{many[0]:.2f} s and {few[0]:.2f} s: {many[0] / few[0]:.2f} times",
        "at most 2 times",
    )
    yield "memory of all processes of the program then", f"{many[1]:,.0f} MB and {few[1]:,.0f} MB", ""


def _engine() -> Iterator[Row]:
    yield _beside("filter, topic to topic", latency.measure("tuned"), latency.measure("stock"))
    yield "filter in real time, topic to topic", _span(latency.measure("realtime")), "p50 at most 20 ms"
    engine.prepare()
    for job in engine.JOBS:
        yield f"{job.name}, beside the same by hand", _ratio(engine.throughput(job)), "at least 0.95 times"
    yield "the exactly-once sink, beside Spark's own", _ratio(engine.sink()), "at least 0.7 times"
    for name, declare in (("pass-through", engine.pass_on), ("windowed sum and count", engine.window)):
        what = f"{name} with one event in {engine.POISON} no JSON, beside none"
        yield what, _ratio(engine.poison(declare)), "at least 0.8 times"
    yield "`TestDriver`, one further `send` and `read`", f"{engine.driver_step():.2f} s", "at most 2 s"
    windows = latency.measure("tuned-window"), latency.measure("stock-window")
    yield _beside("windowed aggregate, topic to topic", *windows)


def _beside(what: str, ours: Latency, stock: Latency) -> Row:
    figure = f"{_span(ours)}; stock {_span(stock)}: {ours[0] / stock[0]:.2f} times"
    return what, figure, "p50 at most 0.6 times"


def _span(taken: Latency) -> str:
    return f"p50 {_ms(taken[0])}, p99 {_ms(taken[1])}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def _ratio(rate: tuple[float, float, float]) -> str:
    ours, theirs, ratio = rate
    return f"{ours / 1000:,.0f} k/s and {theirs / 1000:,.0f} k/s: {ratio:.2f} times"


def _memory() -> str:
    return f"{psutil.virtual_memory().total / 2**30:.0f} GiB"


if __name__ == "__main__":
    main()
