"""Dashboards with real servers: one on the shared broker, one where there is no broker."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.core.settings import Settings
from headrace.log.broker.cluster import Cluster
from headrace.web.serving import Serving
from tests.web.client import Client

INDEX = "<!doctype html><title>Headrace</title>"


@pytest.fixture(scope="session")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages, with something beside them that is not for everybody."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "secret.html").write_text("not for everybody")
    static = folder / "static"
    (static / "js").mkdir(parents=True)
    (static / "index.html").write_text(INDEX)
    (static / "js" / "main.js").write_text("export {};")
    (static / ".hidden.js").write_text("hidden")
    (static / "notes.py").write_text("of no kind that pages have")
    (static / "out.html").symlink_to(folder / "secret.html")
    return static


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report, with something beside it that is not part of it."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "secret.json").write_text('{"secret": true}')
    report = folder / "sales"
    report.mkdir()
    (report / "report.json").write_text('{"title": "Sales"}')
    (report / "report.js").write_text("export function show(element, api) {}")
    (report / "logo.svg").write_text("<svg/>")
    for name in ("data.json", "notes.txt", "notes.md", "old.html", "data/report.json", "DATA.JSON"):
        (report / name).parent.mkdir(exist_ok=True)
        (report / name).write_text("not for everybody")
    (report / "link.js").symlink_to(report / "data.json")
    with (report / "large.js").open("wb") as large:
        large.truncate(20_000_000)
    return report


@pytest.fixture(scope="session")
def served(cluster: Cluster, static: Path, report: Path) -> Iterator[Serving]:
    """The dashboard of the shared broker's home."""
    with Serving(Settings(home=cluster.home), static=static, reports=[report]) as serving:
        yield serving


@pytest.fixture
def ui(served: Serving) -> Client:
    """A client of it."""
    return Client(served.url, served.token)


@pytest.fixture(scope="session")
def lonely(tmp_path_factory: pytest.TempPathFactory, static: Path, report: Path) -> Iterator[Serving]:
    """A dashboard whose home has no broker and no program."""
    with Serving(Settings(home=tmp_path_factory.mktemp("nothing")), static=static, reports=[report]) as serving:
        yield serving


@pytest.fixture
def alone(lonely: Serving) -> Client:
    """A client of it."""
    return Client(lonely.url, lonely.token)


def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for something that another thread brings about."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
