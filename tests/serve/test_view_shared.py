"""One process writes a store; others read it, and one takes over."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.core.errors import ViewError
from headrace.serve.store import Store

SCHEMA = "id string, n int"


@pytest.fixture
def other(table: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that follows the table, with the store that `view` has."""
    script = Path(__file__).with_name("following.py")
    command = [sys.executable, script, table, tmp_path / "views", SCHEMA, "id"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it follows
        yield process
        process.kill()


@pytest.fixture
def never(monkeypatch):
    """Fail if this process writes to a store."""
    monkeypatch.setattr(Store, "open", lambda *_: pytest.fail("two processes write"))


def test_a_second_process_reads_what_the_first_one_writes(other, never, view, put):
    put(("a", {"id": "a", "n": 1}))
    for schema in (SCHEMA, None):  # without a schema, whatever is stored
        found = view(schema)
        found.wait()
        assert found.get("a") == {"id": "a", "n": 1}
        assert found.query(f"select * from {found.table}") == [{"id": "a", "n": 1}]
        assert found.lag() == 0
    put(("a", None), ("b", {"id": "b", "n": 2}))
    found.wait()
    assert found.range() == [{"id": "b", "n": 2}]


def test_a_second_process_takes_over_when_the_first_one_dies(other, view, put):
    put(("a", {"id": "a", "n": 1}))
    found = view()
    found.wait()
    other.kill()
    other.wait()
    put(("b", {"id": "b", "n": 2}))
    found.wait(20)
    assert [row["id"] for row in found.range()] == ["a", "b"]


def test_a_second_process_with_other_columns_is_refused(other, never, view):
    with pytest.raises(ViewError, match=f"process {other.pid} follows .* with other columns or another key"):
        view("id string, n bigint")


def test_two_views_in_one_process(view, put, table):
    first, second = view(), view()
    put(("a", {"id": "a", "n": 1}))
    for found in (first, second):
        found.wait()
        assert found.get("a") == {"id": "a", "n": 1}
    first.close()
    put(("b", {"id": "b", "n": 2}))
    second.wait(20)
    assert len(second) == 2


def test_a_writer_that_hangs_is_named(other, view, put):
    found = view()
    os.kill(other.pid, 19)  # SIGSTOP: it holds the lock and does nothing
    put(("a", {"id": "a", "n": 1}))
    with pytest.raises(TimeoutError, match=f"still lacks 1 offsets; process {other.pid} writes it"):
        found.wait(0.5)
