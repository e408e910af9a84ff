"""The retail mesh on a broker of its own: to the cent, also when it is killed; programs come and go, and none minds."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from examples.retail.simulator import Truth, World
from examples.retail.simulator.sender import create_topics, send
from headrace.core.settings import Settings
from headrace.log import Producer, Topics
from headrace.log.broker.cluster import Cluster
from tests.integration.programs.feed import read

pytestmark = [pytest.mark.whole, pytest.mark.timeout(1800)]
RETAIL = Path(__file__).parents[2] / "examples" / "retail"
PROGRAMS = ("gateway", "analytics", "inventory", "loyalty", "shipment", "finance", "fraud", "watch", "lake")
MINUTE = timedelta(minutes=1)
STEP = 200  # points from one reward to the next
IN_TIME = timedelta(minutes=5)


class Mesh:
    """Programs, the simulator that feeds them, and what must come of it."""

    def __init__(self, home: Path, start) -> None:
        self.home, self._start = home, start
        self.world = World(7, datetime.now(UTC) - timedelta(hours=2))
        self.truth = Truth()
        self.env = {"HEADRACE_HOME": str(home), "RETAIL_LAKE": str(home / "lake")}
        create_topics()

    def send(self, minutes: float, rate: float) -> None:
        """Let some minutes pass in the shops, and send what they send meanwhile without waiting, in its order."""
        with Producer() as producer:
            for _ in range(round(minutes * 4)):
                events = self.world.advance(self.world.now + MINUTE / 4, rate)
                self.truth.add(events)
                send(producer, events, datetime.now(UTC))
                producer.flush()

    def run(self, *names: str):
        """Start programs in one Spark session, as ``headrace run`` does."""
        told = {"name": names[-1], "files": [str(RETAIL / f"{name}.py") for name in names]}
        return self._start("mesh.py", told, self.env)

    def finish(self) -> None:
        """Run all programs until everything adds up, stop them, and look once more."""
        gateway = self.run("gateway")  # it catches up before others read what it writes
        gateway.until(lambda: len(rows("invoices")) >= self.truth.invoices, timeout=300)
        _stop(gateway)
        running = self.run(*PROGRAMS)
        found: list[str] = []

        def adds_up() -> bool:
            try:
                check(self)
            except (AssertionError, OSError) as error:  # not yet: say what it was if it never does
                found[:] = [str(error)]
                time.sleep(1)
                return False
            return True

        try:
            running.until(adds_up, timeout=400)
        except AssertionError:
            raise AssertionError(f"{found[0]}\n{running.text}") from None
        _stop(running)
        check(self)

    def query(self, *arguments: str) -> list[dict]:
        """Ask ``headrace query``."""
        command = [Path(sys.executable).with_name("headrace"), "query", *arguments, "--format", "json"]
        done = subprocess.run(command, env=os.environ | self.env, capture_output=True, check=True, cwd=self.home)
        return [json.loads(line) for line in done.stdout.splitlines()]


def _stop(running) -> None:
    """Ask programs to end, and wait until they have."""
    os.kill(running.process.pid, signal.SIGTERM)
    assert running.wait(120) == 0, running.text


@pytest.fixture
def mesh(tmp_path, monkeypatch, start) -> Iterator[Mesh]:
    cluster = Cluster(Settings(home=tmp_path / "home"))
    monkeypatch.setenv("HEADRACE_HOME", str(cluster.home))
    cluster.up()
    yield Mesh(cluster.home, start)
    cluster.erase()


def rows(topic: str) -> list[dict]:
    return [event.value for event in read(topic)]


def table(topic: str) -> list[dict]:
    """Return the rows of a table: of each key the last."""
    latest = {event.key: event.value for event in read(topic)}
    return [row for row in latest.values() if row is not None]


def committed(topic: str) -> int:
    """Return how far a topic has come; 0 where it is not there yet."""
    with Topics() as topics:
        found = {info.name: info.events for info in topics.list()}
    return found.get(topic, 0)


def check(mesh: Mesh) -> None:
    """Compare everything with what the shops did."""
    truth = mesh.truth
    invoices = rows("invoices")
    assert len(invoices) == len({row["invoice"] for row in invoices}) == truth.invoices
    assert not committed("gateway.late")
    check_books(truth, invoices)
    assert {(row["shop"], row["product"]): row["units"] for row in table("stock")} == {**truth.stock}
    check_revenue(truth, invoices)
    check_loyalty(truth)
    check_shipments(truth)
    check_fraud(truth)
    check_lake(mesh.home / "lake", invoices)


def check_books(truth: Truth, invoices: list[dict]) -> None:
    """To the cent: per shop as the tills had it, per shop and day as the invoices have it."""
    books, by_day = Counter(), Counter()
    for row in table("daily"):
        books[row["shop"]] += row["cents"]
        by_day[row["day"], row["shop"]] += row["cents"]
    assert books == truth.cents
    counted = Counter()
    for row in invoices:
        counted[row["at"][:10], row["shop"]] += row["cents"]
    assert by_day == counted


def check_revenue(truth: Truth, invoices: list[dict]) -> None:
    found = Counter()
    for row in table("revenue"):
        found[row["dimension"], row["name"] if row["dimension"] == "shop" else ""] += row["cents"]
    total = sum(truth.cents.values())
    assert found["total", ""] == found["product", ""] == total
    assert {name: cents for (dimension, name), cents in found.items() if dimension == "shop"} == {**truth.cents}
    names = ("dimension", "name", "window_start")
    minutes = {tuple(map(row.get, names)): row["cents"] for row in table("revenue")}
    assert {tuple(map(row.get, names)): row["cents"] for row in rows("revenue-compared")} == minutes


def check_loyalty(truth: Truth) -> None:
    assert {row["loyalty"]: row["points"] for row in table("points")} == {**truth.points}
    rewards = Counter((row["loyalty"], row["points"]) for row in rows("rewards"))
    assert rewards
    assert set(rewards.values()) == {1}, "a reward was given twice"
    for loyalty, points in truth.points.items():
        assert all((loyalty, step) in rewards for step in range(STEP, points + 1, STEP))


def check_shipments(truth: Truth) -> None:
    found = rows("shipments")
    assert len(found) == len({row["invoice"] for row in found})
    reserved = {row["invoice"] for row in found if row["state"] == "reserved"}
    waits = {key: truth.reservations[key] - at for key, at in truth.deliveries.items() if key in truth.reservations}
    assert reserved == {invoice for invoice, wait in waits.items() if wait < IN_TIME}
    missing = {row["invoice"] for row in found if row["state"] == "missing"}
    assert missing
    assert missing <= set(truth.deliveries) - reserved


def check_fraud(truth: Truth) -> None:
    found = rows("fraud")
    assert {row["card"] for row in found if row["kind"] == "two-cities"} == truth.stolen
    assert Counter(row["invoice"] for row in found if row["kind"] == "refund") == dict.fromkeys(truth.refunds, 1)


def check_lake(folder: Path, invoices: list[dict]) -> None:
    """Every invoice once, with all it says, in the folder of its day."""
    days = pa.schema([("day", pa.string())])
    lake = ds.dataset(folder, format="parquet", partitioning=ds.partitioning(days, flavor="hive"))
    found = {row["invoice"]: row for row in lake.to_table().to_pylist()}
    assert lake.count_rows() == len(found) == len(invoices)
    names = ("shop", "city", "till", "kind", "loyalty", "card", "lines", "cents", "delivery", "refund_of")
    for row in invoices:
        kept = found[row["invoice"]]
        assert [kept[name] for name in names] == [row[name] for name in names]
        assert kept["day"] == row["at"][:10]
    assert {path.name for path in folder.glob("batch=*/day=*")} == {f"day={row['at'][:10]}" for row in invoices}


def test_all_adds_up_after_the_process_was_killed_in_the_middle(mesh):
    mesh.send(4, rate=20)
    running = mesh.run(*PROGRAMS)
    running.until(lambda: committed("daily") and committed("rewards"), timeout=300)
    before = committed("invoices")
    mesh.send(4, rate=20)
    running.until(lambda: committed("invoices") > before, timeout=300)
    running.kill()  # -9, in the midst of batches
    mesh.send(8, rate=5)
    mesh.finish()


def test_stopping_or_adding_one_program_disturbs_no_other(mesh):
    mesh.send(5, rate=10)
    running = mesh.run("gateway", "inventory", "finance")
    running.until(lambda: committed("daily") and committed("stock"), timeout=300)
    mesh.query("stop", "finance.daily", "--yes")
    books, count = table("daily"), mesh.truth.invoices
    mesh.send(5, rate=10)
    running.until(lambda: table("stock") and stock() == {**mesh.truth.stock}, timeout=300)
    assert mesh.truth.invoices > count
    assert table("daily") == books
    states = {row["name"]: row["state"] for row in mesh.query("list")}
    assert states.pop("finance.daily") == "stopped"
    assert set(states) == {"gateway.invoices", "inventory.stock", "inventory.alerts-stock"}
    assert set(states.values()) == {"running"}
    mesh.query("restart", "finance.daily")
    running.until(lambda: sum(row["cents"] for row in table("daily")) == sum(mesh.truth.cents.values()), timeout=300)
    check_adding(mesh, running)


def check_adding(mesh: Mesh, running) -> None:
    """Start one more program beside those that run: it reads all from the beginning, and they go on."""
    before = {row["name"]: row["batch"] for row in mesh.query("list")}
    added = mesh.run("loyalty")
    added.until(lambda: committed("points") and points() == {**mesh.truth.points}, timeout=300)
    mesh.send(3, rate=10)
    running.until(lambda: stock() == {**mesh.truth.stock}, timeout=300)
    added.until(lambda: points() == {**mesh.truth.points}, timeout=300)
    found = {row["name"]: row for row in mesh.query("list")}
    assert set(found) - set(before) == {"loyalty.points", "loyalty.rewards"}
    for name, batch in before.items():
        assert (found[name]["state"], found[name]["restarts"]) == ("running", 0)
        assert found[name]["batch"] >= batch


def points() -> dict[str, int]:
    return {row["loyalty"]: row["points"] for row in table("points")}


def stock() -> dict[tuple[str, str], int]:
    return {(row["shop"], row["product"]): row["units"] for row in table("stock")}


def test_all_adds_up_after_each_program_was_killed_in_turn(mesh):
    for name in PROGRAMS[1:]:
        mesh.send(3, rate=20)
        running = mesh.run("gateway", name)
        folder = running.folder / "checkpoints"
        done = len(list(folder.glob("*/commits/[0-9]*")))
        running.until(lambda: len(list(folder.glob("*/commits/[0-9]*"))) > done, timeout=300)  # noqa: B023
        mesh.send(1, rate=20)
        running.kill()
    mesh.send(8, rate=5)
    mesh.finish()
