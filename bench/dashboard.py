"""The tail of a busy topic in a real browser: what it costs the renderer, and whether it shows every event.

Run it alone: ``python -m bench.dashboard``.
"""

import os
import re
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass

import psutil
from playwright.sync_api import Page, sync_playwright

from headrace.core.settings import Settings
from headrace.log import Producer, Topics
from headrace.log.broker.cluster import Cluster
from headrace.web.serving import Serving
from scripts.chromium import launch

RATE = 500  # events a second
WARM, SECONDS = 5.0, 30.0


@dataclass(frozen=True)
class Figures:
    """What was measured: parts of a core, and events."""

    renderer: float
    sent: int
    received: int


def measure() -> Figures:
    topic = f"bench-{uuid.uuid4()}"
    with Topics() as topics:
        topics.create(topic)
    with Serving(Settings.load()) as ui, sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(ui.link)
        page.goto(f"{ui.url}#/topics/{topic}")
        page.locator(".tail-state", has_text="Live").wait_for()
        feeder = Feeder(topic)
        feeder.start()
        page.wait_for_timeout(WARM * 1000)
        before = _used()
        begun = time.perf_counter()
        page.wait_for_timeout(SECONDS * 1000)
        used = (_used() - before) / (time.perf_counter() - begun)
        feeder.ended.set()
        feeder.join()
        page.wait_for_timeout(2000)
        received = _received(page)
        browser.close()
    return Figures(used, feeder.sent, received)


class Feeder(threading.Thread):
    """Sends events at a steady rate until it is ended."""

    def __init__(self, topic: str) -> None:
        super().__init__()
        self._topic = topic
        self.ended = threading.Event()
        self.sent = 0

    def run(self) -> None:
        """Send."""
        begun = time.perf_counter()
        with Producer() as producer:
            while not self.ended.wait(0.02):
                while self.sent < (time.perf_counter() - begun) * RATE:
                    producer.send(self._topic, _invoice(self.sent), key=f"S{self.sent % 99:02d}")
                    self.sent += 1


def _invoice(number: int) -> dict[str, object]:
    lines = [{"product": f"P{number % 900}", "name": "Espresso beans", "units": 2, "cents": 1290} for _ in range(3)]
    return {"invoice": f"S07-{number:08d}", "shop": "S07", "city": "Lyon", "till": 3, "lines": lines, "cents": 3870}


def _used() -> float:
    """Return the seconds of CPU that all renderers of our browser have used."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            if "--type=renderer" in process.cmdline():
                total += sum(process.cpu_times()[:2])
        except psutil.NoSuchProcess:
            continue
    return total


def _received(page: Page) -> int:
    found = re.search(r"([\d,]+) received", page.locator(".tail-numbers").inner_text())
    return int(found[1].replace(",", "")) if found else 0


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HEADRACE_HOME"] = folder
        os.environ.pop("HEADRACE_BROKERS", None)
        cluster = Cluster(Settings.load())
        cluster.up()
        try:
            figures = measure()
        finally:
            cluster.erase()
    print(
        f"{RATE} events/s: {figures.renderer:.1%} of a core; {figures.received:,} of {figures.sent:,} events received"
    )


if __name__ == "__main__":
    main()
