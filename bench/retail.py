"""The demo as its visitor sees it: how soon it lives, how old its figures are, and what memory it takes.

Probes are sales among all others, in pairs: one of a product that nobody else sells, dear enough to be on top of the
report, and one with a loyalty card of its own that earns a reward. When the browser shows the product, the sale is on
the dashboard.

Run it alone: ``python -m bench.retail --minutes 30``.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import Page, sync_playwright

from headrace.core.settings import Settings
from headrace.log import Consumer, Producer
from headrace.log.broker.cluster import Cluster
from scripts.chromium import launch

RATE = 1000  # invoices a second
MINUTES = 5.0
_SETTLED = 120.0  # seconds after the first charts: what is compiled and cached then stays so
PROBES = 1.0  # seconds between two
_REWARD = 20_000  # cents that earn one
_DEAR = 1_000_000_000  # cents: more than any product brings in the minutes that are ranked
_SAMPLES = 5.0  # seconds between two looks at the memory
_TIMES = 2  # values of a figure that live charts have shown
_ROOT = Path(__file__).parent.parent
_MB = 1024 * 1024
_FLOWS = re.compile(r"[1-9][\d.,]*[KM]?/s")  # a rate above nothing


@dataclass
class Figures:
    """What was measured: seconds, and memory of all processes in MB by seconds since the start."""

    dashboard: float = 0.0
    moving: float = 0.0
    charts: float = 0.0
    seen: list[float] = field(default_factory=list)
    rewarded: list[float] = field(default_factory=list)
    probes: int = 0
    memory: list[tuple[float, float]] = field(default_factory=list)

    def growth(self) -> tuple[float, float]:
        """Return the mean memory of the second and of the last fifth of the time."""
        fifth = max(1, len(self.memory) // 5)
        taken = [size for _, size in self.memory]
        return statistics.fmean(taken[fifth : 2 * fifth]), statistics.fmean(taken[-fifth:])


def measure(minutes: float = MINUTES, rate: int = RATE) -> Figures:
    """Run the demo with a browser on its report, and probes among its sales."""
    figures = Figures()
    with tempfile.TemporaryDirectory() as folder, _demo(Path(folder), rate) as (link, begun), _page(link) as page:
        figures.dashboard = time.monotonic() - begun
        _live(page, link, figures, begun)
        home = Path(folder) / "demo"
        memory = _Memory(begun)
        memory.start()
        probes = _Probes(_address(home))
        rewards = _Rewards(_address(home))
        page.evaluate(_WATCH)
        page.wait_for_timeout(_SETTLED * 1000)
        probes.start()
        rewards.start()
        page.wait_for_timeout(minutes * 60_000)
        probes.ended.set()
        probes.join()
        page.wait_for_timeout(15_000)  # for the last ones
        for thread in (rewards, memory):
            thread.ended.set()
            thread.join()
        shown = page.evaluate("() => window.seen")
        figures.seen = [shown[name] / 1000 - sent for name, sent in probes.sent.items() if name in shown]
        figures.rewarded = [rewards.seen[name] - sent for name, sent in probes.sent.items() if name in rewards.seen]
        figures.probes = len(probes.sent)
        figures.memory = memory.taken
    return figures


@contextmanager
def _demo(home: Path, rate: int) -> Iterator[tuple[str, float]]:
    """Run the demo; yield the link of its dashboard, and when it began."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "headrace", "demo", "--rate", str(rate), "--no-open", "--seconds", "86400"]
    env = {**os.environ, "HEADRACE_HOME": str(home), "PYTHONPATH": str(_ROOT)}
    env.pop("HEADRACE_BROKERS", None)
    with subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as demo:
        try:
            assert demo.stdout is not None
            lines = iter(demo.stdout.readline, "")
            link = next(found[1] for line in lines if (found := re.search(r"Dashboard: (\S+)", line)))
            reader = threading.Thread(target=lambda: [print(line, end="", flush=True) for line in lines])
            reader.start()
            yield link, begun
        finally:
            demo.terminate()
            reader.join()


@contextmanager
def _page(link: str) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(link)
        page.locator("#page h1, #page h2").first.wait_for()
        yield page
        browser.close()


def _live(page: Page, link: str, figures: Figures, begun: float) -> None:
    """Wait until events flow on the overview, and then for the charts of the report."""
    while not _FLOWS.search(page.locator("#page").inner_text()):
        page.wait_for_timeout(200)
    figures.moving = time.monotonic() - begun
    page.goto(f"{link.partition('#')[0]}#/reports/retail")
    tile = page.locator(".retail-tiles strong").first
    tile.wait_for(timeout=180_000)
    values: set[str] = set()
    while len(values) < _TIMES:
        values |= {text for text in [tile.inner_text()] if "€" in text}
        page.wait_for_timeout(200)
    figures.charts = time.monotonic() - begun


_WATCH = """() => {
    window.seen = {};
    const look = () => {
        for (const [name] of document.body.innerText.matchAll(/probe-[0-9]+/g)) window.seen[name] ??= Date.now();
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


def _address(home: Path) -> str:
    address = Cluster(Settings(home=home)).running()
    assert address is not None
    return address


class _Thread(threading.Thread):
    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()


class _Probes(_Thread):
    """Sells something dear again and again."""

    def __init__(self, brokers: str) -> None:
        super().__init__()
        self._brokers = brokers
        self.sent: dict[str, float] = {}

    def run(self) -> None:
        """Send."""
        with Producer(self._brokers) as producer:
            while not self.ended.wait(PROBES):
                name = f"probe-{len(self.sent)}"
                self.sent[name] = time.time()
                dear = _DEAR + len(self.sent) * 1_000_000  # above all before it
                producer.send("till-invoices", _sale(name, dear), key="S01")
                producer.send("till-invoices", _sale(f"{name}-reward", _REWARD, loyalty=name), key="S01")


def _sale(name: str, cents: int, loyalty: str | None = None) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    lines = [] if loyalty else [{"product": "probe", "name": name, "units": 1, "cents": cents}]  # stock has no probes
    who = {"shop": "S01", "city": "Lisbon", "till": 1, "loyalty": loyalty}
    return {"invoice": name, "kind": "sale", **who, "lines": lines, "cents": cents, "at": now, "sent_at": now}


class _Rewards(_Thread):
    """Notes when the reward for each probe can be read."""

    def __init__(self, brokers: str) -> None:
        super().__init__()
        self._brokers = brokers
        self.seen: dict[str, float] = {}

    def run(self) -> None:
        """Read."""
        with Consumer("rewards", brokers=self._brokers, start="latest") as rewards:
            while not self.ended.is_set():
                event = rewards.poll(0.1)
                if event is not None:
                    self.seen.setdefault(event.value["loyalty"], time.time())


class _Memory(_Thread):
    """Adds up what our processes hold, the browser's left out."""

    def __init__(self, begun: float) -> None:
        super().__init__()
        self._begun = begun
        self.taken: list[tuple[float, float]] = []

    def run(self) -> None:
        """Look."""
        while not self.ended.wait(_SAMPLES):
            self.taken.append((time.monotonic() - self._begun, _held()))


def _held() -> float:
    total = 0
    for process in psutil.Process().children(recursive=True):
        try:
            if not re.search("chrom|playwright", " ".join(process.cmdline())):
                total += process.memory_full_info().pss
        except psutil.Error:
            continue
    return total / _MB


def percentile(values: Sequence[float], part: float) -> float:
    """Return the value below which a part of all lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--rate", type=int, default=RATE)
    given = parser.parse_args()
    found = measure(given.minutes, given.rate)
    print(f"dashboard {found.dashboard:.1f} s, moving {found.moving:.1f} s, charts {found.charts:.1f} s")
    for what, taken in (("sale to dashboard", found.seen), ("sale to reward", found.rewarded)):
        p50, p95 = percentile(taken, 0.5), percentile(taken, 0.95)
        print(f"{what}: p50 {p50:.2f} s, p95 {p95:.2f} s; {len(taken)} of {found.probes} probes")
    print("memory: {:,.0f} MB, at the end {:,.0f} MB".format(*found.growth()))
    for at, size in found.memory[:: max(1, len(found.memory) // 30)]:
        print(f"  {at:6.0f} s {size:8,.0f} MB")


if __name__ == "__main__":
    main()
