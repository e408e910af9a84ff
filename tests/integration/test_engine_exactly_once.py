"""Programs killed at every point of a batch: the committed output is that of a run that nobody disturbed."""

import random
import shutil
import signal
import uuid
from collections import Counter

import pytest

from headrace.core.errors import TransactionError
from headrace.log import Topics
from headrace.log.connection import connect
from headrace.spark import markers
from tests.integration.programs.feed import Feed, assert_same, check, read, told
from tests.integration.programs.killing import POINTS

pytestmark = [pytest.mark.faults, pytest.mark.timeout(400)]
EVENTS, NEWS = 90_000, 10_000
BATCH = 12_000  # so that there are eight, and one of the news


def run(start, told, kills=()):
    """Start a program again and again, killed each time, and at last let it end; return its last start."""
    for kill in kills:
        program = start("sums.py", {**told, "kill": kill})
        assert program.wait() == -signal.SIGKILL, f"{kill} did not strike: {program.text}"
    program = start("sums.py", told)
    assert program.wait() == 0, program.text
    return program


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
@pytest.mark.whole
def test_killed_at_every_point(cluster, start, rounds):
    for behind, news in chains(6)[: rounds(1, 6)]:
        feed = Feed()
        it = told(feed, options={"max_batch": BATCH})
        feed.send(EVENTS)
        run(start, it, behind)
        feed.send(NEWS, late=True)
        run(start, it, news)
        check(it["name"], feed)


@pytest.mark.parametrize("group", [pytest.param(False, marks=pytest.mark.whole), True])
def test_killed_between_two_partitions_of_a_batch(cluster, start, group):
    """Spark numbers the partitions anew when it repeats a batch: those written must be known all the same."""
    feed = Feed()
    it = told(feed, options={"max_batch": BATCH}, small=0)  # workers write it
    feed.send(BATCH)
    kill = {"point": "between-partitions", "stage": "out", "group": group, "delay": 0, "batches": 0}
    run(start, it, [kill, {**kill, "stage": "sums"}])
    check(it["name"], feed)


@pytest.mark.whole
def test_from_the_beginning_after_its_checkpoints_were_deleted(cluster, start):
    """What the markers say of batches of the same numbers must not count."""
    feed = Feed()
    feed.send(1_000)
    it = told(feed)
    program = run(start, it)
    shutil.rmtree(program.folder / "checkpoints")
    run(start, it)
    out = Counter((event.key, event.value["n"]) for event in read(f"{it['name']}-out"))
    assert_same(out, feed.rows + feed.rows)


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
    with pytest.raises(Exception, match=r"fenced|newer"):
        early.commit_transaction(10)
    assert markers.recover(client, topic, markers.ROWS, "third") == {"a": 7}
