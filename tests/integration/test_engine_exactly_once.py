"""Programs killed at every point of a batch: the committed output is that of a run that nobody disturbed."""

import json
import random
import signal
import uuid
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta

import pytest

from headrace.core.errors import TransactionError
from headrace.log import Consumer, Producer, Topics
from headrace.log.connection import connect
from headrace.spark import markers
from tests.integration.programs.killing import POINTS

pytestmark = [pytest.mark.faults, pytest.mark.timeout(400)]
EVENTS, NEWS, KEYS, PARTITIONS = 90_000, 10_000, 50, 4
BATCH = 12_000  # so that there are eight, and one of the news
STEP, WINDOW, LATENESS = timedelta(milliseconds=10), timedelta(seconds=10), timedelta(seconds=5)
BEGIN = datetime(2024, 5, 1, tzinfo=UTC)


class Feed:
    """Sends events in the order of their time, with some that are none, and knows what a program must make of them."""

    def __init__(self):
        self.topic = f"feed-{uuid.uuid4().hex[:8]}"
        self.count = 0
        self.rows, self.late, self.dead = Counter(), Counter(), Counter()
        self.totals = defaultdict(list)
        with Topics() as topics:
            topics.create(self.topic, partitions=PARTITIONS)

    def send(self, count, late=False):
        """Send so many more; if ``late``, some of long ago among them."""
        with Producer() as producer:
            for n in range(self.count, self.count + count):
                key = f"k{n % KEYS}"
                producer.send(self.topic, self.event(n, key, late and n % 2_003 == 2_002), key=key)
        self.count += count

    def event(self, n, key, late):
        if n % 4_001 == 4_000:
            value = f"no event {n}".encode()
            self.dead[value] += 1
            return value
        at = BEGIN if late else BEGIN + n * STEP
        value = json.dumps({"k": key, "n": n, "at": at.isoformat()}).encode()
        self.rows[key, n] += 1
        if late:
            self.late[value] += 1
        else:
            self.totals[key, at - (at - BEGIN) % WINDOW].append(n)
        return value

    @property
    def sums(self):
        """The windows that are closed, once each."""
        end = BEGIN + (self.count - 1) * STEP - LATENESS
        return Counter((k, at, sum(ns), len(ns)) for (k, at), ns in self.totals.items() if at + WINDOW <= end)


def read(topic, format="json"):
    with Consumer(topic, follow=False, format=format) as consumer:
        return list(consumer)


def check(name, feed):
    """Compare everything that a program has written with what it must."""
    out = [(event.key, event.value["n"]) for event in read(f"{name}-out")]
    assert_same(Counter(out), feed.rows)
    by_key = defaultdict(list)
    for key, n in out:
        by_key[key].append(n)
    assert all(ns == sorted(ns) for ns in by_key.values()), "a key's events are out of order"
    rows = [event.value for event in read(f"{name}-sums")]
    sums = Counter((r["k"], datetime.fromisoformat(r["window_start"]), r["total"], r["c"]) for r in rows)
    assert_same(sums, feed.sums)
    assert_same(Counter(event.value for event in read(f"{feed.topic}.dlq", "raw")), feed.dead)
    if feed.late:
        assert_same(Counter(event.value for event in read(f"{name}.late", "raw")), feed.late)


def assert_same(found, wanted):
    lost, extra = wanted - found, found - wanted
    assert not lost and not extra, (
        f"{lost.total()} rows lost, {extra.total()} too many: {list(lost)[:5]} … {list(extra)[:5]}"
    )


def run(start, told, kills=()):
    """Start a program again and again, killed each time, and at last let it end."""
    for kill in kills:
        program = start("sums.py", {**told, "kill": kill})
        assert program.wait() == -signal.SIGKILL, f"{kill} did not strike: {program.text}"
    program = start("sums.py", told)
    assert program.wait() == 0, program.text


def told(feed):
    """What a program is told."""
    name = f"sums-{uuid.uuid4().hex[:8]}"
    return {"name": name, "input": feed.topic, "drain": True, "options": {"max_batch": BATCH}}


def chains(count, times=3, seed=1):
    """Spread all kills, each point so many times, over chains: while much is behind, and when news come."""
    chosen = random.Random(seed)
    kills = {"out": [], "sums": [], "news": []}
    for turn, point in enumerate(POINTS * times):
        stage = "sums" if point.endswith("-asides") else ("out", "sums")[turn % 2]
        kill = {"point": point, "stage": stage, "group": bool(turn // 2 % 2), "delay": chosen.uniform(0, 0.4)}
        kill["batches"] = chosen.randrange(2)
        kills["news" if point.endswith("-asides") else stage].append(kill)
    for some in kills.values():
        chosen.shuffle(some)
    parts = [{name: some[n::count] for name, some in kills.items()} for n in range(count)]
    return [(part["out"] + part["sums"], part["news"]) for part in parts]  # those of the faster stage first


@pytest.mark.timeout(1500)
def test_killed_at_every_point(cluster, start, rounds):
    for behind, news in chains(6)[: rounds(1, 6)]:
        feed = Feed()
        it = told(feed)
        feed.send(EVENTS)
        run(start, it, behind)
        feed.send(NEWS, late=True)
        run(start, it, news)
        check(it["name"], feed)


@pytest.mark.parametrize("group", [False, True])
def test_killed_between_two_partitions_of_a_batch(cluster, start, group):
    """Spark numbers the partitions of a topic anew when it repeats a batch: those written must be known all the same."""
    feed = Feed()
    it = told(feed)
    feed.send(BATCH)
    kill = {"point": "between-partitions", "stage": "out", "group": group, "delay": 0, "batches": 0}
    run(start, it, [kill, {**kill, "stage": "sums"}])
    check(it["name"], feed)


def test_a_writer_that_wakes_up_after_another_run_took_over_is_refused(cluster):
    topic, client = f"markers-{uuid.uuid4().hex[:8]}", connect()
    with Topics() as topics:
        topics.create(topic, partitions=markers.PARTITIONS, compact=True)
    assert markers.recover(client, topic, markers.ROWS, "first") == {}
    early = markers.writer(client, topic, markers.ROWS, "first")
    early.begin_transaction()
    markers.note(early, topic, markers.ROWS, "a", 7)
    early.commit_transaction()
    assert markers.recover(client, topic, markers.ROWS, "second") == {"a": 7}
    with pytest.raises(TransactionError, match="taken over"):
        markers.writer(client, topic, markers.ROWS, "first")
    early.begin_transaction()
    markers.note(early, topic, markers.ROWS, "a", 8)
    with pytest.raises(Exception, match="fenced|newer"):
        early.commit_transaction(10)
    assert markers.recover(client, topic, markers.ROWS, "third") == {"a": 7}
