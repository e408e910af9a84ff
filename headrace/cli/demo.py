"""headrace demo: a broker, invoices of a hundred shops, and a program that sums them up as they come."""

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Table

from headrace.cli.invoices import invoices
from headrace.cli.output import say
from headrace.core.settings import Settings
from headrace.log.broker.cluster import Cluster
from headrace.log.consumer import Consumer
from headrace.log.producer import Producer
from headrace.log.topics import Topics

if TYPE_CHECKING:
    from headrace.runtime.app import App

TOPIC = "demo-invoices"  # of its own: nobody else's data are touched
RESULT = "demo-revenue"
_TICK = 0.25  # seconds between two pictures
_PATIENCE = 120.0  # seconds until the first results
_SHOWN = 10  # shops in the table
_BAR = 24
Rows = dict[str, dict[str, Any]]  # the rows of the newest window, by shop


def demo(
    seconds: Annotated[float, typer.Option(min=1, help="How long to show results.")] = 30,
    rate: Annotated[int, typer.Option(min=1, max=100_000, help="Invoices per second.")] = 500,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the broker running at the end.")] = False,
) -> None:
    """Start a broker, send invoices of 99 shops and a web shop, and watch their revenue in windows of ten seconds."""
    with _broker(keep):
        with Topics() as topics:
            for name in (TOPIC, RESULT):
                topics.create(name, partitions=4, retention="1 hour", exist_ok=True)
        ended = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            tills = pool.submit(_send, rate, ended)
            try:
                _watch(seconds)
            except KeyboardInterrupt:
                pass
            finally:
                ended.set()
        tills.result()  # raises what went wrong there


def program() -> "App":
    """Declare what the demo runs: revenue and sales of each shop in windows of ten seconds."""
    import headrace as hr  # noqa: PLC0415 - the engine is loaded when it is needed

    app = hr.App("demo")
    sales = app.stream(
        TOPIC,
        schema="shop string, amount double, at timestamp",
        key="shop",
        event_time="at",
        lateness="5 seconds",
        start="latest",
    )
    windows = sales.group_by("shop").window(hr.tumbling("10 seconds"), emit="updates")
    windows.agg(revenue="sum(amount)", sales="count(*)").to(RESULT)
    return app


@contextmanager
def _broker(keep: bool) -> Iterator[None]:
    settings = Settings.load()
    if settings.brokers:
        say(f"Using the Kafka cluster at {settings.brokers}.")
        yield
        return
    cluster = Cluster(settings)
    already = cluster.running()
    begun = time.monotonic()
    address = already or cluster.up(tell=say)
    how = "is running" if already else f"ready in {time.monotonic() - begun:.1f} s"
    say(f"Kafka {how} at {address}, its data in {cluster.home}.")
    try:
        yield
    finally:
        if already or keep:
            say("The broker goes on running; 'headrace down' stops it.")
        else:
            cluster.down()
            say("Stopped the broker; invoices and results stay. See them again:")
            say(f"  {_program()} up && {_program()} topic tail {RESULT}")


def _program() -> str:
    """Return how to call this command from here: its folder need not be on the PATH."""
    return "headrace" if shutil.which("headrace") else os.path.relpath(sys.argv[0])


def _send(rate: int, ended: threading.Event) -> None:
    """Send invoices at ``rate``, in step with the clock, until told to end."""
    begun, sent = time.monotonic(), 0
    with Producer() as producer:
        for invoice in invoices():
            producer.send(TOPIC, invoice, key=invoice["shop"])
            sent += 1
            ahead = sent / rate - (time.monotonic() - begun)
            if (ahead > 0 and ended.wait(ahead)) or ended.is_set():
                return


def _watch(seconds: float) -> None:
    say("Starting Spark, which takes some ten seconds…")
    begun = time.monotonic()
    with program().start() as run, Consumer(RESULT, start="latest") as results, _screen() as show:
        say(f"The program runs after {time.monotonic() - begun:.1f} s; its first batch compiles what it needs.")
        newest: Rows = {}
        total = 0
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline and not run.wait(0):
            count = _read(results, newest)
            if count and not total:  # the seconds count from the first results
                deadline = time.monotonic() + seconds
            total += count
            show(newest, total, run.status()["stages"][0])


def _read(results: Consumer, newest: Rows) -> int:
    """Take in what comes within a tick; return how many rows that were. A new window takes the place of the old."""
    count = 0
    until = time.monotonic() + _TICK
    while (left := until - time.monotonic()) > 0:
        event = results.poll(left)
        if event is None or event.value is None:
            continue
        count += 1
        row = event.value
        shown = next(iter(newest.values()), row)["window_start"]
        if row["window_start"] > shown:
            newest.clear()
        if row["window_start"] >= shown:
            newest[row["shop"]] = row
    return count


@contextmanager
def _screen() -> Iterator[Callable[[Rows, int, dict[str, Any]], None]]:
    """Give a function that shows the results: redrawn in place on a terminal, a line a second elsewhere."""
    if sys.stdout.isatty():
        with Live(console=Console(), auto_refresh=False) as live:
            yield lambda rows, total, stage: live.update(_table(rows, total, stage), refresh=True)
        return
    shown_at = 0.0

    def show(rows: Rows, total: int, stage: dict[str, Any]) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at >= 1:
            shown_at = time.monotonic()
            best = ", ".join(f"{row['shop']} {row['revenue']:,.2f}" for row in _best(rows)[:3])
            print(f"{_window(rows)} | best: {best or '-'} | {_told(total, stage)}", flush=True)

    yield show


def _table(rows: Rows, total: int, stage: dict[str, Any]) -> Table:
    table = Table(title=_window(rows), caption=_told(total, stage), title_style="bold", box=SIMPLE_HEAD)
    table.add_column("shop", min_width=10)
    table.add_column("sales", justify="right", min_width=7)
    table.add_column("revenue", justify="right", min_width=12)
    table.add_column("", min_width=_BAR)
    best = _best(rows)
    most = max([1.0, *(row["revenue"] for row in best)])
    for row in best[:_SHOWN]:
        bar = "█" * round(_BAR * row["revenue"] / most)
        table.add_row(row["shop"], f"{row['sales']:,}", f"{row['revenue']:,.2f}", f"[green]{bar:<{_BAR}}")
    return table


def _best(rows: Rows) -> list[dict[str, Any]]:
    return sorted(rows.values(), key=lambda row: -row["revenue"])


def _window(rows: Rows) -> str:
    row = next(iter(rows.values()), None)
    if row is None:
        return "waiting for the first results"
    return f"revenue from {row['window_start'][11:19]} to {row['window_end'][11:19]}, {len(rows)} shops"


def _told(total: int, stage: dict[str, Any]) -> str:
    batch = "-" if stage["batch_seconds"] is None else f"{stage['batch_seconds']:.2f} s"
    return f"{stage['rows']:,} invoices read, {total:,} updates written, lag {stage['lag'] or 0:,}, batch {batch}"
