"""Whatever a program stands on dies under it: it goes on by itself, or says in plain words why it cannot."""

import signal
from collections import Counter

import psutil
import pytest

from headrace.log import Topics
from tests.integration.programs.feed import Feed, check, read, told

pytestmark = [pytest.mark.faults, pytest.mark.timeout(400)]
BATCH = 3_000


def finish(program):
    program.process.send_signal(signal.SIGTERM)
    assert program.wait(60) == 0, program.text


def processes(program, word):
    return [one for one in program.processes() if one.is_running() and word in " ".join(one.cmdline())]


@pytest.mark.whole
def test_the_broker_is_killed_and_comes_back(own, kill, start):
    feed = Feed(own.up())
    feed.send(20_000)
    it = told(feed, options={"max_batch": BATCH}, drain=False)
    program = start("sums.py", it, {"HEADRACE_HOME": str(own.home)})
    program.until(lambda: len(program.batches("sums")) > 1)
    kill(own.nodes()[0])
    own.up()
    feed.send(2_000)
    program.until(lambda: all(sum(program.taken(stage)) == feed.count for stage in ("out", "sums")), 180)
    finish(program)
    again = start("sums.py", {**it, "drain": True}, {"HEADRACE_HOME": str(own.home)})
    assert again.wait() == 0, again.text
    check(it["name"], feed)


@pytest.mark.whole
def test_workers_are_killed_while_they_write(cluster, start):
    feed = Feed()
    feed.send(20_000)
    it = told(feed, options={"max_batch": BATCH})
    program = start("sums.py", it)
    program.until(lambda: len(program.batches("out")) > 1)
    for worker in processes(program, "pyspark.daemon"):
        worker.kill()
    assert program.wait() == 0, program.text
    assert "trying again" in program.text
    check(it["name"], feed)


@pytest.mark.whole
def test_an_executor_of_a_cluster_is_killed(cluster, start):
    feed = Feed()
    feed.send(20_000)
    it = told(feed, options={"max_batch": BATCH, "master": "local-cluster[2,1,1024]"})
    program = start("sums.py", it)
    program.until(lambda: len(program.batches("sums")) > 1)
    executors = processes(program, "CoarseGrainedExecutorBackend")
    assert len(executors) == 2
    executors[0].send_signal(signal.SIGKILL)
    assert program.wait(240) == 0, program.text
    check(it["name"], feed)


@pytest.mark.whole
def test_spark_itself_is_killed(cluster, start):
    feed = Feed()
    feed.send(20_000)
    it = told(feed, options={"max_batch": BATCH})
    program = start("sums.py", it)
    program.until(lambda: len(program.batches("out")) > 1)
    processes(program, "org.apache.spark.deploy.SparkSubmit")[0].kill()
    assert program.wait(60) == 1
    assert "QueryFailedError" in program.text
    assert start("sums.py", it).wait() == 0
    check(it["name"], feed)


@pytest.mark.whole
def test_an_output_topic_is_deleted_and_made_again(cluster, start):
    feed = Feed()
    feed.send(1_000)
    it = told(feed, drain=False)
    program = start("sums.py", it)
    program.until(lambda: sum(program.taken("out")) == feed.count)
    with Topics() as topics:
        topics.delete(f"{it['name']}-out")
        feed.send(1_000)
        program.until(lambda: program.status("out").get("state") == "waiting", 180)
        topics.create(f"{it['name']}-out", partitions=4)
    program.until(lambda: sum(program.taken("out")) == feed.count, 180)
    finish(program)
    numbers = Counter(event.value["n"] for event in read(f"{it['name']}-out"))
    assert numbers == Counter(n for _, n in feed.rows if n >= 1_000)


@pytest.mark.whole
def test_what_cannot_be_helped_ends_the_program_in_plain_words(cluster, start):
    feed = Feed()
    feed.send(1_000)
    it = told(feed, tries=2)
    program = start("sums.py", it)
    assert program.wait() == 0, program.text
    feed.send(1_000)
    offsets = next((program.folder / "checkpoints").glob("*-out/offsets"))
    for path in offsets.iterdir():
        path.unlink()
    offsets.rmdir()
    offsets.write_text("not a folder")
    failed = start("sums.py", it)
    assert failed.wait() == 1
    assert "QueryFailedError" in failed.text
    assert "trying again" in failed.text
    assert "\tat " not in failed.text and "Py4J" not in failed.text, failed.text
    assert failed.gone(), [psutil.Process.cmdline(one) for one in failed.processes()]
