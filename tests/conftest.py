"""One broker for all tests of a process; a topic and a command line for each."""

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

from headrace.core.settings import Settings
from headrace.log import Topics
from headrace.log.broker.cluster import Cluster

Run = Callable[..., subprocess.CompletedProcess[str]]

for _name in [name for name in os.environ if name.startswith("HEADRACE_") and name != "HEADRACE_FAULTS"]:
    del os.environ[_name]  # the developer's own settings are not the tests'

settings.register_profile("headrace", deadline=None, derandomize=True)  # the machine may be busy
settings.load_profile("headrace")

# Spark and Kafka live for seconds in most tests: to compile their code well takes longer than that code then runs.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
# Nor need each Spark read the same ten thousand classes again: see tests/archive.py.
os.environ.setdefault("SPARK_SUBMIT_OPTS", f"-XX:SharedArchiveFile={Path(sys.prefix, 'spark.jsa')} -Xlog:disable")


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The broker that tests share; every client of this process and its children finds it by HEADRACE_HOME."""
    home = tmp_path_factory.mktemp("home")
    os.environ["HEADRACE_HOME"] = str(home)
    cluster = Cluster(Settings.load())
    cluster.up()
    yield cluster
    cluster.erase()
    del os.environ["HEADRACE_HOME"]


@pytest.fixture
def brokers(cluster: Cluster) -> str:
    """The address of the shared broker."""
    address = cluster.running()
    assert address is not None
    return address


@pytest.fixture
def topic(cluster: Cluster) -> str:
    """A new topic of four partitions."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    with Topics() as topics:
        topics.create(name, partitions=4)
    return name


@pytest.fixture
def group() -> str:
    """The name of a group that nobody has used."""
    return f"group-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def headrace(tmp_path: Path) -> Run:
    """Run the command line in an empty folder, as a user would, and return what it printed."""

    def run(
        *arguments: str, input: str | bytes = "", env: Mapping[str, str] | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [Path(sys.executable).with_name("headrace"), *arguments],
            input=input.encode() if isinstance(input, str) else input,
            capture_output=True,
            env={**os.environ, **(env or {})},
            cwd=tmp_path,
            timeout=timeout,
            check=False,
        )
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the longest tests to make test-faults."""
    if os.environ.get("HEADRACE_FAULTS") == "all":
        return
    left = [item for item in items if item.get_closest_marker("whole")]
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=left)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a test that was skipped is a test that did not run: fail."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
