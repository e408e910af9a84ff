"""Brokers killed while events flow: nothing acknowledged is lost, nothing comes twice, keys keep their order."""

import itertools
import threading
import time
from collections import defaultdict

import pytest

from headrace.log import Consumer, Groups, Producer, Topics

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]
KEYS = 20


class Sender(threading.Thread):
    """Sends numbered events of several keys without a pause, and notes which were acknowledged."""

    def __init__(self, address, topic):
        super().__init__()
        self.address, self.topic = address, topic
        self.acknowledged = []
        self.ended = threading.Event()
        self.failure = None

    def run(self):
        try:
            # A full buffer drains by a few thousand between two kills: its last events wait for many rounds.
            patient = {"linger.ms": 1, "delivery.timeout.ms": 600_000}
            with Producer(self.address, on_delivery=self.note, config=patient) as producer:
                for number in itertools.count():
                    if self.ended.is_set():
                        return
                    producer.send(self.topic, number, key=f"k{number % KEYS}")
                    if number % 50 == 0:
                        time.sleep(0.001)  # some 20,000 a second: a kill always meets events on their way
        except BaseException as failure:
            self.failure = failure

    def note(self, delivery):
        assert delivery.error is None, delivery
        self.acknowledged.append(delivery.offset)

    def until(self, count):
        """Wait until ``count`` more events are acknowledged."""
        goal = len(self.acknowledged) + count
        deadline = time.monotonic() + 60
        while len(self.acknowledged) < goal:
            assert self.failure is None, self.failure
            assert time.monotonic() < deadline, "production does not go on"
            time.sleep(0.005)

    def stop(self):
        self.ended.set()
        self.join(120)
        assert not self.is_alive()
        assert self.failure is None, self.failure


def check(sender):
    """Everything sent was acknowledged, lies in the log once, and in the order of its key."""
    with Consumer(sender.topic, follow=False, brokers=sender.address) as consumer:
        events = [(event.key, event.value) for event in consumer]
    assert len(events) == len(sender.acknowledged)
    assert sorted(value for _, value in events) == list(range(len(events)))
    by_key = defaultdict(list)
    for key, value in events:
        by_key[key].append(value)
    assert all(values == sorted(values) for values in by_key.values())
    assert set(by_key) == {f"k{n}" for n in range(KEYS)}


def test_a_broker_killed_again_and_again_during_production(own, kill, rounds):
    address = own.up()
    with Topics(address) as topics:
        topics.create("orders", partitions=3)
    sender = Sender(address, "orders")
    sender.start()
    for _ in range(rounds(5, 20)):
        sender.until(2000)
        kill(own.nodes()[0])
        assert own.up() == address
    sender.until(2000)
    sender.stop()
    check(sender)


@pytest.mark.whole
def test_three_brokers_any_one_of_which_may_die(own, kill, rounds):
    address = own.up(brokers=3)
    with Topics(address) as topics:
        topics.create("orders", partitions=6)
        topic = topics.describe("orders")
    assert {len(p.replicas) for p in topic.partitions} == {3}
    sender = Sender(address, "orders")
    sender.start()
    seen, ended = [], threading.Event()

    def follow():
        with Consumer("orders", group="audit", brokers=address, config={"auto.commit.interval.ms": 100}) as consumer:
            while not ended.is_set():
                if event := consumer.poll(0.2):
                    seen.append(event.value)

    reader = threading.Thread(target=follow)
    reader.start()
    try:
        for number in range(rounds(3, 6)):
            sender.until(2000)
            read_so_far = len(seen)
            kill(own.nodes()[number % 3])
            sender.until(2000)  # with two of three brokers
            deadline = time.monotonic() + 60
            while len(seen) < read_so_far + 2000:
                assert time.monotonic() < deadline, "consumption does not go on"
                time.sleep(0.005)
            assert own.up() == address
            wait_in_sync(address, "orders")
        sender.stop()
        deadline = time.monotonic() + 60
        while len(set(seen)) < len(sender.acknowledged) and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        sender.ended.set()
        ended.set()
        reader.join(60)
    check(sender)
    assert set(seen) == set(range(len(sender.acknowledged)))
    with Groups(address) as groups:
        assert groups.describe("audit").lag == 0


def wait_in_sync(address, topic):
    deadline = time.monotonic() + 60
    with Topics(address) as topics:
        while any(len(p.in_sync) < 3 for p in topics.describe(topic).partitions):
            assert time.monotonic() < deadline, "a restarted broker does not catch up"
            time.sleep(0.1)


@pytest.mark.whole
def test_transactions_survive_the_broker(own, kill):
    address = own.up()
    with Topics(address) as topics:
        topics.create("orders", partitions=2)
    with Producer(address, transactional_id="till") as producer:
        for number in range(6):
            with producer.transaction():
                producer.send("orders", number, partition=0)
                if number in (1, 4):
                    kill(own.nodes()[0])
                    own.up()
                producer.send("orders", number, partition=1)
    with Consumer("orders", follow=False, brokers=address) as consumer:
        found = [(event.partition, event.value) for event in consumer]
    assert sorted(found) == [(partition, number) for partition in (0, 1) for number in range(6)]
