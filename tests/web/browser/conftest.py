"""The dashboard as its users have it: a real server, a real broker, a real browser."""

import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.request import Request, urlopen

import orjson
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from headrace.log import Topics
from headrace.log.broker.cluster import Cluster
from tests.web.browser.chrome import Tab, launch

HEADRACE = [sys.executable, "-c", "from headrace.cli.main import main; main()"]
REPORT = Path(__file__).with_name("report")
Open = Callable[..., Page]


class Server:
    """``headrace ui`` as a process that can be stopped and started again on its port."""

    def __init__(self, home: Path, brokers: str, report: Path = REPORT) -> None:
        self.home, self.log, self.port, self.report = home, home / "log", 0, report
        self.env = {**os.environ, "HEADRACE_HOME": str(home), "HEADRACE_BROKERS": brokers}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        told = self.home / "ui.json"
        told.unlink(missing_ok=True)
        options = ["--no-open", "--port", str(self.port), "--report", str(self.report)]
        with self.log.open("ab") as output:
            self.process = subprocess.Popen([*HEADRACE, "ui", *options], stdout=output, stderr=output, env=self.env)
        until(lambda: told.exists() or self._ended())
        self.url = orjson.loads(told.read_bytes())["url"].split("/#")[0].rstrip("/")
        self.port = int(self.url.rpartition(":")[2])
        self.token = (self.home / "ui.token").read_text().strip()

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        self.process.wait(20)

    def streams(self) -> int:
        """Return how many streams pages have open."""
        asking = Request(f"{self.url}/metrics", headers={"Authorization": f"Bearer {self.token}"})
        with urlopen(asking, timeout=20) as answer:
            return int(re.search(rb"^headrace_ui_streams (\d+)", answer.read(), re.MULTILINE)[1])

    def _ended(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()
        return False


def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for something that another process brings about."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A Chromium for all tests of this folder, and no longer: its event loop would be in the way of others."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def server(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A dashboard of the shared broker; its home is its own, so that it sees no programs of other tests."""
    brokers = cluster.running()
    assert brokers is not None
    server = Server(tmp_path_factory.mktemp("ui"), brokers)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def tabs(browser: Browser, server: Server) -> Iterator[Callable[..., Tab]]:
    """Open tabs; at the end of the test none of them may have had an error, nor have asked anybody else."""
    with ExitStack() as stack:
        opened: list[Tab] = []

        def tab(**options: object) -> Tab:
            opened.append(Tab(browser, server.url, server.token, **options))
            stack.callback(opened[-1].close)
            return opened[-1]

        yield tab
        for one in opened:
            assert one.troubles == []
            assert [url for url in one.asked if not url.startswith((server.url, "data:"))] == []


@pytest.fixture
def show(tabs: Callable[..., Tab]) -> Open:
    """Open a page of the dashboard in a tab of its own: ``show("topics/orders", viewport=PHONE)``."""
    return lambda way="overview", **options: tabs(**options).open(way)


@pytest.fixture
def name(cluster) -> str:
    """A name that no other test has."""
    return f"ui-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def events(name: str) -> str:
    """A topic of two partitions."""
    with Topics() as topics:
        topics.create(name, partitions=2)
    return name
