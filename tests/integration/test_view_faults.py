"""Views whose process is killed, and whose broker is: nothing is missed, nothing counts twice."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.core.errors import BrokerUnavailableError
from headrace.log import Producer, Topics
from headrace.serve import View

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]
FOLLOWING = Path(__file__).parent.parent / "serve" / "following.py"
KILLED_AFTER = 1000  # events


def send(topic, rng, count):
    """Send a seeded mix of rows, deletions and what is no row; return what is left of it, and how much was none."""
    left, wrong = {}, 0
    with Producer() as producer:
        for number in range(count):
            key = f"k{rng.randrange(500)}"
            kind = rng.choice(["row", "row", "row", "gone", "wrong"])
            value = {"row": {"id": key, "n": number}, "gone": None, "wrong": b"no JSON"}[kind]
            producer.send(topic, value, key=key)
            wrong += kind == "wrong"
            if kind != "wrong":
                left[key] = value
    return left, wrong


@pytest.mark.parametrize("schema", ["id string, n int", ""])
def test_a_process_killed_again_and_again_in_the_midst_of_it(topic, tmp_path, schema, rounds):
    rng = random.Random(7)
    times = rounds(5, 25)
    total = (times + 2) * 4 * KILLED_AFTER
    expected, wrong = send(topic, rng, total)
    command = [sys.executable, FOLLOWING, topic, tmp_path, schema, schema and "id"]
    places = [0]
    for _ in range(times):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            seen = (int(line) for line in process.stdout)
            begun = next(seen)
            assert begun >= places[-1], "what was committed is not read again"
            places.append(next(place for place in seen if place >= begun + KILLED_AFTER))
            process.kill()
    assert places[-1] < total, f"it was to be killed in the midst of it: {places}"
    with View(topic, schema or None, "id" if schema else (), folder=tmp_path) as view:
        view.wait()
        assert {row["id"]: row for row in view.range()} == {key: row for key, row in expected.items() if row}
        assert sum(view.offsets.values()) == total
        assert view.skipped == wrong, "each event counts once"


@pytest.mark.whole
def test_a_view_outlives_its_broker(own, kill, tmp_path):
    address = own.up()
    with Topics(address) as topics:
        topics.create("stock", partitions=2, compact=True)
    with Producer(address) as producer:
        producer.send("stock", {"id": "a", "n": 1}, key="a")
    with View("stock", "id string, n int", key="id", brokers=address, folder=tmp_path / "views") as view:
        view.wait()
        kill(own.nodes()[0])
        assert view.get("a") == {"id": "a", "n": 1}
        assert view.query("select sum(n) as n from stock") == [{"n": 1}]
        with pytest.raises(BrokerUnavailableError):
            view.lag()
        assert own.up() == address
        with Producer(address) as producer:
            producer.send("stock", {"id": "b", "n": 2}, key="b")
        view.wait(60)
        assert [row["n"] for row in view.range()] == [1, 2]
