"""headrace demo: a broker, a stream of invoices, and a reader that catches up with it."""

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Table

from headrace.cli.invoices import invoices
from headrace.cli.output import say
from headrace.core.errors import GroupError
from headrace.core.settings import Settings
from headrace.log.broker.cluster import Cluster
from headrace.log.consumer import Consumer
from headrace.log.groups import Groups
from headrace.log.producer import Producer
from headrace.log.topics import Topics

TOPIC = "demo-invoices"  # of its own: nobody else's data are touched
GROUP = "demo"
_HEAD_START = 3.0  # seconds by which the tills are ahead of the reader, so that there is lag to see
_CATCH_UP = 2  # times the rate of the tills that the reader manages
_TICK = 0.25  # seconds between two pictures
_BAR = 24


@dataclass
class Progress:
    """What the reader has seen of one partition."""

    events: int = 0
    revenue: float = 0.0
    lag: int = 0
    peak: int = 0  # the largest lag, which fills the bar
    last: dict[str, Any] = field(default_factory=dict)


def demo(
    seconds: Annotated[float, typer.Option(min=1, help="How long to run.")] = 20,
    rate: Annotated[int, typer.Option(min=1, max=100_000, help="Invoices per second.")] = 500,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the broker running at the end.")] = False,
) -> None:
    """Start a broker, send invoices of 99 shops and a web shop, and watch them arrive, partition by partition.

    The tills get a head start of three seconds; then a consumer group joins and catches up.
    """
    with _broker(keep):
        with Topics() as topics:
            topics.create(TOPIC, partitions=4, retention="1 hour", exist_ok=True)
        ended = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            tills = pool.submit(_send, rate, ended)
            try:
                _watch(seconds, rate)
            except KeyboardInterrupt:
                pass
            finally:
                ended.set()
        tills.result()  # raises what went wrong there


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
            say("Stopped the broker; the invoices stay. See them again:")
            say(f"  {_program()} up && {_program()} topic tail {TOPIC}")


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


def _watch(seconds: float, rate: int) -> None:
    head_start = min(_HEAD_START, seconds / 2)
    begun = time.monotonic()
    seen: dict[int, Progress] = {}
    with _screen() as show:
        while time.monotonic() < begun + head_start:
            show(_waiting(seen), "The tills are sending; the reader joins in a moment.")
            time.sleep(_TICK)
        with Consumer(TOPIC, group=GROUP, start="earliest") as consumer:
            consumer.lag()  # waits for partitions: on a new broker the first group takes seconds to form
            deadline = time.monotonic() + seconds - head_start
            while time.monotonic() < deadline:
                _read(consumer, seen, most=int(_CATCH_UP * rate * _TICK) + 1)
                for (_, partition), lag in consumer.lag().items():
                    _note_lag(seen, partition, lag)
                show(seen, f"The group '{GROUP}' reads; {max(0, deadline - time.monotonic()):.0f} s to go.")


def _waiting(seen: dict[int, Progress]) -> dict[int, Progress]:
    """Show how far ahead the tills are of the group, or of nobody before its first run."""
    with Topics() as topics, Groups() as groups:
        lags = {p.id: p.latest - p.earliest for p in topics.describe(TOPIC).partitions}
        with suppress(GroupError):
            lags |= {offset.partition: offset.lag for offset in groups.describe(GROUP).offsets}
    for partition, lag in lags.items():
        _note_lag(seen, partition, lag)
    return seen


def _note_lag(seen: dict[int, Progress], partition: int, lag: int) -> None:
    progress = seen.setdefault(partition, Progress())
    progress.lag, progress.peak = lag, max(lag, progress.peak)


def _read(consumer: Consumer, seen: dict[int, Progress], most: int) -> None:
    """Read for one tick, but no more than ``most``: a reader that has work to do with each invoice."""
    until = time.monotonic() + _TICK
    while (left := until - time.monotonic()) > 0:
        event = consumer.poll(left) if most else None
        if event is None:
            time.sleep(max(0.0, until - time.monotonic()))
            return
        most -= 1
        progress = seen.setdefault(event.partition, Progress())
        progress.events += 1
        progress.revenue += event.value["amount"]
        progress.last = event.value


@contextmanager
def _screen() -> Iterator[Any]:
    """Give a function that shows the progress: redrawn in place on a terminal, a line a second elsewhere."""
    if sys.stdout.isatty():
        with Live(console=Console(), refresh_per_second=8) as live:
            yield lambda seen, told: live.update(_table(seen, told))
        return
    shown_at = 0.0

    def show(seen: dict[int, Progress], told: str) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at >= 1:
            shown_at = time.monotonic()
            parts = (f"{number}: {p.events:>6,} read, lag {p.lag:>5,}" for number, p in sorted(seen.items()))
            print(f"{' | '.join(parts)} | revenue {sum(p.revenue for p in seen.values()):,.2f}  {told}", flush=True)

    yield show


def _table(seen: dict[int, Progress], told: str) -> Table:
    table = Table(title="invoices", caption=told, title_style="bold", box=SIMPLE_HEAD)
    for name in ("partition", "read", "lag"):
        table.add_column(name, justify="right")
    table.add_column("")
    table.add_column("revenue", justify="right")
    table.add_column("last invoice", min_width=44)
    most = max([1, *(p.peak for p in seen.values())])
    for number, p in sorted(seen.items()):
        bar = "█" * round(_BAR * p.lag / most) if p.lag else ""
        last = f"{p.last['invoice']}  {p.last['amount']:>8,.2f}  {p.last['lines'][0]['product']}" if p.last else ""
        table.add_row(str(number), f"{p.events:,}", f"{p.lag:,}", f"[yellow]{bar:<{_BAR}}", f"{p.revenue:,.2f}", last)
    return table
