"""What the first broker leaves to those that follow: Kafka's classes, as Java lays them out."""

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from headrace.core.jars import cache_folder
from tests.integration.test_broker_life import pids, read, write


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache with the jars and without an archive."""
    cache = tmp_path / "cache" / "headrace" / "jars"
    shutil.copytree(cache_folder(), cache, copy_function=os.symlink, ignore=shutil.ignore_patterns("*.jsa"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache


def archives(folder):
    return list(folder.rglob("kafka-*.jsa"))


def mapped(cluster):
    """Whether the running broker has its classes from an archive."""
    (pid,) = pids(cluster)
    return ".jsa" in re.sub(r".*/classes(_nocoops)?\.jsa", "", Path(f"/proc/{pid}/maps").read_text())  # but Java's own


def test_the_first_broker_leaves_its_classes_and_neither_a_killed_one_nor_damage_is_a_matter(own, cache):
    write(own.up(), "orders", [1])
    os.kill(pids(own)[0], signal.SIGKILL)
    own.down()
    assert archives(cache) == []
    own.up()
    assert not mapped(own)
    own.down()
    assert archives(own.home) == []
    (archive,) = archives(cache)
    own.up()
    assert mapped(own)
    own.down()
    assert archives(cache) == [archive]
    whole = archive.read_bytes()
    middle = len(whole) // 2
    for damaged in (whole[:middle], whole[:middle] + bytes(100_000) + whole[middle + 100_000 :]):
        for left in archives(cache):
            left.unlink()
        archive.write_bytes(damaged)
        assert read(own.up(), "orders") == [1]
        assert not mapped(own)
        own.down()
