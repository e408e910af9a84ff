import subprocess
import sys
import textwrap
import threading
import time

import pytest

from headrace.core.errors import ConfigError, JobExpiredError, TopicNameError, UnknownTopicError
from headrace.log import Consumer, Producer, Queue, Topics


def fill(topic, values, **options):
    with Producer(config={"batch.num.messages": 1}) as producer:
        for value in values:
            producer.send(topic, value, **options)


def dead(topic):
    with Consumer(f"{topic}.dlq", follow=False) as consumer:
        return [(event.value, event.headers) for event in consumer]


def take(queue, count, timeout=20):
    """Take jobs, acknowledging each, until there are ``count``."""
    jobs = []
    deadline = time.monotonic() + timeout
    while len(jobs) < count and time.monotonic() < deadline:
        if job := queue.get(0.5):
            job.ack()
            jobs.append(job)
    return jobs


def test_jobs_are_acknowledged_one_by_one_and_not_seen_again(topic, group):
    fill(topic, range(20))
    with Queue(topic, group) as queue:
        assert sorted(job.value for job in take(queue, 20)) == list(range(20))
        assert queue.get(1) is None
    with Queue(topic, group) as queue:
        assert queue.get(3) is None


def test_each_group_gets_every_job(topic, group):
    fill(topic, range(5))
    for name in (group, f"{group}-2"):
        with Queue(topic, name) as queue:
            assert sorted(job.value for job in take(queue, 5)) == list(range(5))


def test_a_released_job_comes_again_at_once_with_its_count(topic, group):
    fill(topic, ["a"])
    with Queue(topic, group, format="text") as queue:
        first = queue.get(20)
        assert (first.value, first.deliveries) == ("a", 1)
        first.release()
        again = queue.get(5)
        assert (again.value, again.deliveries) == ("a", 2)
        again.ack()
        assert queue.get(1) is None


def test_a_job_left_in_hand_is_released_when_the_next_is_asked_for(topic, group):
    fill(topic, ["a"])
    with Queue(topic, group, format="text") as queue:
        queue.get(20)
        assert queue.get(5).deliveries == 2


def test_a_job_is_settled_once(topic, group):
    fill(topic, [1, 2])
    with Queue(topic, group) as queue:
        first = queue.get(20)
        first.ack()
        with pytest.raises(JobExpiredError, match="was settled already"):
            first.ack()
        forgotten = queue.get(20)
        queue.get(1)
        with pytest.raises(JobExpiredError, match="the next job was asked for"):
            forgotten.ack()


def test_a_rejected_job_becomes_a_dead_letter_with_the_reason(topic, group):
    with Producer() as producer:
        producer.send(topic, {"n": 1}, key="k", headers={"trace": "t1"}, partition=2)
    with Queue(topic, group) as queue:
        queue.get(20).reject("no such customer")
        assert queue.get(1) is None
    [(value, headers)] = dead(topic)
    assert value == {"n": 1}
    assert headers == {
        "trace": "t1",
        "headrace-reason": "no such customer",
        "headrace-topic": topic,
        "headrace-partition": "2",
        "headrace-offset": "0",
        "headrace-deliveries": "1",
    }


def test_after_the_last_try_a_released_job_becomes_a_dead_letter(topic, group):
    fill(topic, ["a"])
    with Queue(topic, group, format="text", max_deliveries=3) as queue:
        for expected in (1, 2, 3):
            job = queue.get(20)
            assert job.deliveries == expected
            job.release("the printer is off")
        assert queue.get(1) is None
    with Consumer(f"{topic}.dlq", follow=False, format="text") as consumer:
        [letter] = consumer
    assert letter.value == "a"
    assert letter.headers["headrace-reason"] == "the printer is off (try 3 of 3)"


def test_a_job_held_too_long_goes_to_another_worker_and_its_acknowledgement_is_refused(topic, group):
    fill(topic, ["slow"])
    with Queue(topic, group, format="text", timeout="2 seconds") as slow:
        held = slow.get(20)
        with Queue(topic, group, format="text", timeout="2 seconds") as quick:
            job = quick.get(20)
            assert (job.value, job.deliveries) == ("slow", 2)
            job.ack()
        with pytest.raises(JobExpiredError, match=r"held longer than the queue's timeout of 0:00:02"):
            held.ack()
        fill(topic, ["next"])
        assert slow.get(20).value == "next"  # back in the group


def test_jobs_fetched_along_with_slow_ones_are_given_back_before_they_expire(topic, group):
    with Producer() as producer:  # one batch, which a worker takes whole
        for number in range(6):
            producer.send(topic, number, partition=0)
    seen = []
    with Queue(topic, group, timeout="2 seconds", max_deliveries=2) as queue:
        while len(seen) < 6:
            job = queue.get(20)
            assert job.deliveries == 1  # never handed out before, however often it was fetched
            time.sleep(0.5)  # the work
            job.ack()
            seen.append(job.value)
    assert sorted(seen) == list(range(6))
    assert dead(topic) == []


WORKER = """
import sys
from headrace.log import Queue
topic, group, act = sys.argv[1:]
with Queue(topic, group, max_deliveries=3) as queue:
    for job in queue:
        print(job.value, job.deliveries, flush=True)
        if act == "hold":
            sys.stdin.read()  # for ever
"""


def worker(topic, group, act):
    command = [sys.executable, "-c", textwrap.dedent(WORKER), topic, group, act]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.faults
def test_a_killed_workers_jobs_are_redelivered_at_once(topic, group):
    fill(topic, range(10))
    with worker(topic, group, "hold") as victim:
        held = victim.stdout.readline()
        assert held
        victim.kill()
    begun = time.monotonic()
    with Queue(topic, group, max_deliveries=3) as queue:
        jobs = take(queue, 10)
    assert sorted(job.value for job in jobs) == list(range(10))
    assert {job.value: job.deliveries for job in jobs}[int(held.split()[0])] == 2
    assert time.monotonic() - begun < 15  # not the time-out of thirty seconds


@pytest.mark.faults
def test_a_job_that_kills_its_workers_becomes_a_dead_letter(topic, group):
    fill(topic, ["1"])
    for expected in (1, 2, 3):
        with worker(topic, group, "hold") as victim:
            assert victim.stdout.readline() == f"1 {expected}\n"
            victim.kill()
    with Queue(topic, group, max_deliveries=3) as queue:
        assert queue.get(10) is None
    [(value, headers)] = dead(topic)
    assert value == 1
    assert "delivered 3 times and never settled" in headers["headrace-reason"]


@pytest.mark.faults
def test_none_is_handled_after_it_was_acknowledged_while_workers_are_killed(topic, group):
    """Two workers share 400 jobs; each writes down what it has acknowledged; one after another is killed."""
    program = textwrap.dedent("""
        import sys
        from headrace.log import Queue
        with Queue(sys.argv[1], sys.argv[2], max_deliveries=20) as queue:
            for job in queue:
                print("begin", job.value, flush=True)
                job.ack()
                print("acked", job.value, flush=True)
    """)
    fill(topic, range(400))
    lines, lock = [], threading.Lock()

    def follow(process):
        for line in process.stdout:
            if len(words := line.split()) == 2:  # the last line of one killed may be torn
                with lock:
                    lines.append(words)

    def start():
        command = [sys.executable, "-c", program, topic, group]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        thread = threading.Thread(target=follow, args=(process,), daemon=True)
        thread.start()
        return process, thread

    def begun():
        with lock:
            return len({line[1] for line in lines if line[0] == "begin"})

    everyone = [start(), start()]
    deadline = time.monotonic() + 100
    for victim, goal in enumerate((50, 120, 200, 280, 400)):
        while begun() < goal and time.monotonic() < deadline:
            time.sleep(0.005)
        everyone[victim][0].kill()
        everyone += [start()] if goal < 400 else []
    for process, thread in everyone:
        process.kill()
        process.wait()
        thread.join()
        process.stdout.close()
    with Queue(topic, group, max_deliveries=20) as queue:  # what a worker had begun when it was killed
        while job := queue.get(5):
            lines.append(["begin", str(job.value)])
            job.ack()
    acknowledged = set()
    for word, number in lines:
        assert word == "acked" or number not in acknowledged, f"job {number} was handled after its acknowledgement"
        acknowledged |= {number} if word == "acked" else set()
    assert {number for word, number in lines if word == "begin"} == {str(n) for n in range(400)}


def test_acknowledgements_without_confirmation_are_kept_on_a_clean_end(topic, group):
    fill(topic, range(50))
    with Queue(topic, group, confirm=False) as queue:
        assert len(take(queue, 50)) == 50
    with Queue(topic, group) as queue:
        assert queue.get(3) is None


def test_values_that_are_not_json_can_be_rejected(topic, group):
    fill(topic, [b"\xff", '{"fine": 1}'])
    fine = []
    with Queue(topic, group) as queue:
        while job := queue.get(5):
            try:
                fine.append(job.value)
                job.ack()
            except ValueError as error:
                job.reject(str(error))
    assert fine == [{"fine": 1}]
    with Consumer(f"{topic}.dlq", follow=False, format="raw") as consumer:
        [letter] = consumer
    assert letter.value == b"\xff"
    assert "not JSON" in letter.headers["headrace-reason"]


@pytest.mark.parametrize(
    "options",
    [
        {"max_deliveries": 0},
        {"max_deliveries": 25},
        {"timeout": "soon"},
        {"timeout": "1 ms"},
        {"timeout": "2 days"},
        {"format": "avro"},
        {"group": ""},
    ],
)
def test_wrong_settings_are_refused(topic, group, options):
    with pytest.raises(ConfigError):
        Queue(topic, **{"group": group, **options})


def test_wrong_topics(topic, group):
    with pytest.raises(UnknownTopicError):
        Queue(f"{topic}s", group)
    with pytest.raises(TopicNameError):
        Queue("../x", group)
    with Topics() as topics:
        assert f"{topic}s.dlq" not in [t.name for t in topics.list()]


def test_jobs_of_one_batch_that_were_never_handed_out_are_not_buried(topic, group):
    with Producer() as producer:
        for number in range(30):
            producer.send(topic, number, partition=0)
    seen = []
    for _ in range(3):  # each worker takes all, handles a few, and gives the others back unseen, again and again
        with Queue(topic, group, timeout="1 second", max_deliveries=2) as queue:
            for _ in range(5):
                job = queue.get(10)
                time.sleep(0.3)  # the work
                job.ack()
                seen.append(job.value)
    with Queue(topic, group, timeout="10 seconds", max_deliveries=2) as queue:
        seen += [job.value for job in take(queue, 15)]
    assert sorted(seen) == list(range(30))
    assert dead(topic) == []


def test_a_job_of_nearly_a_megabyte_with_repeated_headers_can_be_rejected(topic, group):
    with Producer() as producer:
        producer.send(topic, "x" * 999_800, headers=[("a", "1"), ("a", "2"), ("n", None)])
    with Queue(topic, group, format="text") as queue:
        queue.get(20).reject("r" * 100_000)
    with Consumer(f"{topic}.dlq", follow=False, format="text") as consumer:
        [letter] = consumer
    assert len(letter.value) == 999_800
    assert letter.raw_headers[:3] == [("a", b"1"), ("a", b"2"), ("n", None)]
    assert letter.headers["headrace-reason"] == "r" * 2000
