"""Brokers of a test's own, to be killed."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from headrace.core.settings import Settings
from headrace.log.broker import process
from headrace.log.broker.cluster import Cluster
from headrace.log.broker.node import Node

PROGRAMS = Path(__file__).with_name("programs")
_MARK = "TEST_PROGRAM"  # in the environment of everything that a program starts


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


class Started:
    """A program in a process of its own, with all processes that it started."""

    def __init__(self, script: str, told: Mapping[str, Any], log: Path, env: Mapping[str, str]) -> None:
        self.mark = uuid.uuid4().hex
        self.log = log
        home = Path({**os.environ, **env}["HEADRACE_HOME"])
        self.folder = home / "programs" / told["name"] / str(told.get("version", 1))
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(PROGRAMS / script), json.dumps(told)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **env, _MARK: self.mark, "PYTHONPATH": str(PROGRAMS)},
                start_new_session=True,  # a group of its own, to be killed as a whole
            )

    @property
    def text(self) -> str:
        """What it has printed."""
        return self.log.read_text()

    def wait(self, timeout: float = 150) -> int:
        """Return its exit code, negative for a signal."""
        return self.process.wait(timeout)

    def status(self, stage: str) -> dict[str, Any]:
        """What it says of a stage; nothing before it runs."""
        try:
            stages = json.loads((self.folder / "status.json").read_bytes())["stages"]
        except FileNotFoundError:
            return {}
        return next(found for found in stages if found["stage"].endswith(stage))

    def batches(self, stage: str, of: str = "commits") -> list[int]:
        """The numbers of the batches of a stage that are committed, or planned, in order."""
        folders = (self.folder / "checkpoints").glob(f"*-{stage}/{of}/*")
        return sorted(int(path.name) for path in folders if path.name.isdigit())

    def taken(self, stage: str) -> list[int]:
        """How many events each committed batch of a stage took."""
        ends = [0]
        for number in self.batches(stage):
            path = next((self.folder / "checkpoints").glob(f"*-{stage}")) / "offsets" / str(number)
            topics = json.loads(path.read_text().splitlines()[2])
            ends.append(sum(n for topic, places in topics.items() if "heartbeat" not in topic for n in places.values()))
        return [after - before for before, after in itertools.pairwise(ends)]

    def until(self, seen: Callable[[], Any], timeout: float = 120) -> None:
        """Wait until something can be seen, while the program runs."""
        deadline = time.monotonic() + timeout
        while not seen():
            assert self.process.poll() is None, f"it has ended: {self.text}"
            assert time.monotonic() < deadline, f"not seen in {timeout} s: {self.text}"
            time.sleep(0.02)

    def processes(self) -> list[psutil.Process]:
        """All that is left of it: Python, Java, and Spark's Python workers."""
        return [one for one in psutil.process_iter() if _environment(one).get(_MARK) == self.mark]

    def gone(self, timeout: float = 20) -> bool:
        """Whether nothing is left of it after a while."""
        _, alive = psutil.wait_procs(self.processes(), timeout)
        return not alive

    def kill(self) -> None:
        """Kill all of it."""
        for one in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        self.process.wait(10)


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except psutil.Error:
        return {}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """Start a script of ``programs/``; whatever is left of it dies with the test."""
    started: list[Started] = []

    def start(script: str, told: Mapping[str, Any], env: Mapping[str, str] | None = None) -> Started:
        started.append(Started(script, told, tmp_path / f"{len(started)}.log", env or {}))
        return started[-1]

    yield start
    for one in started:
        one.kill()
