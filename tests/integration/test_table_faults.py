"""A program with tables, killed at every point: its results are those of a run that nobody disturbed."""

import json
import random
import signal
import uuid
from collections import Counter, defaultdict
from datetime import datetime, timedelta

import pytest

from headrace.log import Producer, Topics
from tests.integration.programs.feed import BEGIN, STEP, Feed, assert_same, read, told
from tests.integration.programs.killing import POINTS

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3000)]
STAGES = (".changelog", "-sums", "-most", "-out", "-sliding")
CHANGES, EVENTS = 20_000, 10_000
PEOPLE = 500


class People:
    """A table that changes at random."""

    def __init__(self):
        self.topic, self.rows, self.chosen = f"people-{uuid.uuid4().hex[:8]}", {}, random.Random(5)
        with Topics() as topics:
            topics.create(self.topic, partitions=4, compact=True)

    def send(self, count):
        with Producer() as producer:
            for _ in range(count):
                id = f"k{self.chosen.randrange(PEOPLE)}"
                self.rows.pop(id, None)
                if self.chosen.random() < 0.2:
                    producer.send(self.topic, None, key=id)
                    continue
                self.rows[id] = {"id": id, "city": f"c{self.chosen.randrange(7)}", "n": self.chosen.randrange(100)}
                producer.send(self.topic, self.rows[id], key=id)

    def sums(self):
        cities = defaultdict(list)
        for row in self.rows.values():
            cities[row["city"]].append(row["n"])
        return {city: (sum(ns), len(ns), max(ns)) for city, ns in cities.items()}


def latest(topic):
    """Return the rows of a table by their key."""
    found = {}
    for event in read(topic):
        found.pop(event.key, None)
        if event.value is not None:
            found[event.key] = event.value
    return found


def windows(feed):
    """Return the sliding windows that are closed, by their definition; keys come every half second."""
    size = timedelta(seconds=1)
    by_key = defaultdict(list)
    for n in range(feed.count):
        if n % 4_001 != 4_000:
            by_key[f"k{n % 50}"].append((BEGIN + n * STEP, n))
    end = BEGIN + (feed.count - 1) * STEP - timedelta(seconds=5)
    found = Counter()
    for key, rows in by_key.items():
        for number, (at, _) in enumerate(rows):
            near = rows[max(0, number - 3) : number + 4]
            for start in (at - size, at + timedelta(milliseconds=1)):
                inside = [n for t, n in near if start <= t <= start + size]
                if inside and start + size <= end:
                    found[key, start, sum(inside), len(inside)] = 1
    return found


def check(name, people, feed):
    """Compare everything that the program has written with what it must."""
    sums, most = latest(f"{name}-sums"), latest(f"{name}-most")
    assert {city: (row["total"], row["c"], most[city]["most"]) for city, row in sums.items()} == people.sums()
    assert_same(Counter((event.value["k"], event.value["n"]) for event in read(f"{name}-out")), feed.rows)
    told_windows = Counter(
        (row["k"], datetime.fromisoformat(row["window_start"]), row["total"], row["c"])
        for row in (event.value for event in read(f"{name}-sliding"))
    )
    assert_same(told_windows, windows(feed))


def test_killed_at_every_point(cluster, start, rounds):
    chosen = random.Random(2)
    kills = [
        {"point": point, "stage": chosen.choice(STAGES), "group": bool(turn % 2), "delay": chosen.uniform(0, 0.4)}
        for turn in range(3)
        for point in POINTS
        if not point.endswith("-asides")
    ]
    kills = [{**kill, "batches": chosen.randrange(2)} for kill in kills[: rounds(1, len(kills))]]
    people, feed = People(), Feed()
    it = told(feed, table=people.topic, options={"max_batch": 3_000})
    while kills:
        people.send(CHANGES // 4)
        feed.send(EVENTS // 4)
        for kill in kills[:7]:
            program = start("tables.py", {**it, "kill": kill})
            code = program.wait(240)
            assert code in (0, -signal.SIGKILL), f"{json.dumps(kill)}: {program.text}"
        kills = kills[7:]
        program = start("tables.py", it)
        assert program.wait(240) == 0, program.text
        check(it["name"], people, feed)
