"""A broker that is replaced by somebody who answers nothing: clients that do not hear it are opened anew."""

import socket
import threading
import time
from collections import Counter
from contextlib import closing, contextmanager

import pytest

from headrace.core.settings import Settings
from headrace.log import Consumer, Producer, Topics, hearing
from headrace.log.broker.cluster import Cluster
from headrace.log.connection import connect
from headrace.log.following import Following
from headrace.serve.view import View

pytestmark = pytest.mark.faults


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A cluster of the test's own."""
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(hearing, "_EVERY", 0.5)
    monkeypatch.setattr(hearing, "_PATIENCE", 0.5)
    cluster = Cluster(Settings.load())
    cluster.up()
    yield cluster
    cluster.erase()


@contextmanager
def somebody_else(address):
    """Take connections at the broker's place, and say nothing."""
    host, _, port = address.rpartition(":")
    held, ended = [], threading.Event()
    with socket.create_server((host, int(port))) as server:
        server.settimeout(0.1)

        def accept():
            while not ended.is_set():
                try:
                    held.append(server.accept()[0])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=accept)
        thread.start()
        yield
        ended.set()
        thread.join()
    for connection in held:
        connection.close()


def send(numbers):
    with Producer() as producer:
        for n in numbers:
            producer.send("orders", {"n": n}, key=f"k{n}")


class Readers:
    """All who read on for as long as they live, by turns."""

    def __init__(self, following, alone, member):
        self.following, self.alone, self.member = following, alone, member
        self.seen = {"following": Counter(), "alone": Counter(), "member": Counter()}

    def turn(self):
        self.seen["following"].update(event.value["n"] for event in self.following.read(patience=0.1))
        for name in ("alone", "member"):
            consumer = getattr(self, name)
            while (event := consumer.poll(0.1)) is not None:
                self.seen[name][event.value["n"]] += 1

    def until(self, is_so, timeout=90):
        deadline = time.monotonic() + timeout
        while not is_so():
            assert time.monotonic() < deadline, self.seen
            self.turn()


def test_readers_go_on_where_they_were_with_other_clients(own, caplog):
    with Topics() as topics:
        topics.create("orders", partitions=2)
    send(range(10))
    address = connect()["bootstrap.servers"]
    with (
        closing(Following({"orders": {0: 0, 1: 0}})) as following,
        Consumer("orders") as alone,
        Consumer("orders", group="members", commit="manual") as member,
        View("orders") as view,
    ):
        readers = Readers(following, alone, member)
        readers.until(lambda: all(len(seen) == 10 for seen in readers.seen.values()))
        member.commit()
        own.down()
        with somebody_else(address):
            readers.until(lambda: caplog.text.count("another takes over") >= 4)
        assert own.up() == address
        send(range(10, 20))
        readers.until(lambda: all(len(seen) == 20 for seen in readers.seen.values()))
        readers.until(lambda: view.get("k19") is not None)
    expected = dict.fromkeys(range(20), 1)
    assert readers.seen == {"following": expected, "alone": expected, "member": expected}


def test_a_broker_that_is_only_away_is_waited_for_by_the_same_client(own, caplog):
    with Topics() as topics:
        topics.create("orders", partitions=1)
    send([1])
    with closing(Following({"orders": {0: 0}})) as following:
        assert [event.value["n"] for event in following.read(5)] == [1]
        own.down()
        ended = time.monotonic() + 5
        while time.monotonic() < ended:
            assert following.read(0.2) == []
        own.up()
        send([2])
        deadline = time.monotonic() + 60
        while not (found := following.read()):
            assert time.monotonic() < deadline
        assert [event.value["n"] for event in found] == [2]
    assert "another takes over" not in caplog.text
