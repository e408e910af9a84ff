"""Brokers of a test's own, to be killed."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.core.settings import Settings
from headrace.log.broker import process
from headrace.log.broker.cluster import Cluster
from headrace.log.broker.node import Node


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Cluster]:
    """A managed cluster with a home of its own, not yet started."""
    cluster = Cluster(Settings(home=tmp_path / "home"))
    yield cluster
    if cluster.home.is_dir():
        cluster.erase()


@pytest.fixture
def kill() -> Callable[[Node], None]:
    """Kill a broker as a power cut to its process would: nothing is flushed, nobody is told."""

    def kill(node: Node) -> None:
        running = process.find(node)
        assert running is not None
        os.kill(running.pid, signal.SIGKILL)
        running.wait(10)

    return kill


@pytest.fixture
def rounds() -> Callable[[int, int], int]:
    """How often to repeat a fault: a sample in make test, all of it in make test-faults."""
    return lambda sample, everything: everything if os.environ.get("HEADRACE_FAULTS") == "all" else sample
