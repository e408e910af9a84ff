"""Locks between processes, taken by real ones."""

import os
import subprocess
import sys
import threading

import pytest

from headrace.core.errors import ConfigError
from headrace.core.lock import held, holder, is_held

HOLD = """
import sys
from pathlib import Path
from headrace.core.lock import held
with held(Path(sys.argv[1])) as ours:
    print(ours, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Another process that holds the lock."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "a" / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "True\n"
        yield process
        process.kill()


def test_one_process_holds_a_lock_until_it_is_killed(other, tmp_path):
    path = tmp_path / "a" / "lock"
    assert is_held(path)
    assert holder(path) == str(other.pid)
    with held(path) as ours:
        assert not ours
    assert holder(path) == str(other.pid)
    other.kill()
    other.wait()
    assert not is_held(path)
    with held(path) as ours:
        assert ours
        assert holder(path) == str(os.getpid())
    assert not is_held(path)


def test_nobody_holds_what_is_not_there(tmp_path):
    assert not is_held(tmp_path / "lock")
    assert not is_held(tmp_path / "none" / "lock")
    assert holder(tmp_path / "lock") == "?"


def test_many_lookers_keep_nobody_from_it(tmp_path):
    path = tmp_path / "lock"
    path.touch()
    ended = threading.Event()

    def look():
        while not ended.wait(0.001):
            is_held(path)

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(50):
            with held(path) as ours:
                assert ours
    finally:
        ended.set()
        for looker in lookers:
            looker.join()


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ConfigError, match=r"file cannot be written: .*; give another"),
        held(tmp_path / "file" / "lock", "give another"),
    ):
        pass


def test_a_link_that_leads_elsewhere_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_text("precious")
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="cannot be written"), held(tmp_path / "lock"):
        pass
    assert (tmp_path / "elsewhere").read_text() == "precious"


def test_what_a_file_held_is_not_cut_off(tmp_path):
    (tmp_path / "lock").write_text("precious " * 10)
    with held(tmp_path / "lock") as ours:
        assert ours
    assert (tmp_path / "lock").read_text().endswith("precious " * 7)


def test_a_longer_id_before_leaves_nothing(tmp_path):
    (tmp_path / "lock").write_text("4194304999")
    with held(tmp_path / "lock"):
        assert holder(tmp_path / "lock") == str(os.getpid())
