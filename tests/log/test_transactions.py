"""Transactions: seen whole or not at all, with what was read in them."""

import contextlib
import itertools
import threading
import time

import pytest

from headrace.core.errors import ConfigError, TransactionError
from headrace.log import Consumer, Counts, Producer, Topics
from tests.log.test_producer import read


def test_a_transaction_is_seen_whole_or_not_at_all(topic, group):
    with Producer(transactional_id=group) as producer:
        with producer.transaction():
            producer.send(topic, "a", partition=0)
            producer.send(topic, "b", partition=1)
        with pytest.raises(ZeroDivisionError), producer.transaction():
            producer.send(topic, "never", partition=0)
            producer.flush()  # in the log, but not to be seen
            1 / 0  # noqa: B018
        with producer.transaction():
            producer.send(topic, "c", partition=0)
    assert sorted(event.value for event in read(topic, format="text")) == ["a", "b", "c"]
    everything = read(topic, format="text", config={"isolation.level": "read_uncommitted"})
    assert "never" in [event.value for event in everything]


def test_transactions_are_committed_and_aborted_in_turn_without_harm(topic, group):
    with Producer(transactional_id=group) as producer:
        for number in range(20):
            with contextlib.suppress(ZeroDivisionError), producer.transaction():
                for partition in range(4):
                    producer.send(topic, number, partition=partition)
                time.sleep(0.001 * (number % 7))  # abort at different points of the client's conversation
                1 / (number % 2)
    assert sorted(event.value for event in read(topic)) == sorted(list(range(1, 20, 2)) * 4)


def test_a_second_producer_of_the_same_name_fences_the_first(topic, group):
    first = Producer(transactional_id=group)
    with first.transaction():
        first.send(topic, 1, partition=0)
    with Producer(transactional_id=group) as second, second.transaction():
        second.send(topic, 2, partition=0)
    with pytest.raises(TransactionError, match="took over"), first.transaction():
        first.send(topic, 3, partition=0)
    assert [event.value for event in read(topic)] == [1, 2]


def test_reading_and_writing_in_one_transaction_happens_exactly_once(topic, group, cluster):
    results = f"{topic}-sums"
    with Topics() as topics:
        topics.create(results, partitions=1)
    with Producer() as producer:
        for number in range(100):
            producer.send(topic, number, partition=0)  # so that they come in this order

    def sums(fail_at=None):
        """Add up in tens; each run goes on where the last committed transaction ended."""
        with Producer(transactional_id=group) as producer, Consumer(topic, group=group, commit="manual") as consumer:
            while ahead := sum(consumer.lag().values()):
                with producer.transaction(consumer):
                    for event in [consumer.poll(30) for _ in range(min(ahead, 10))]:
                        producer.send(results, event.value)
                        if event.value == fail_at:
                            raise KeyError(fail_at)

    for crash in (5, 37, 99):
        with pytest.raises(KeyError):
            sums(fail_at=crash)
    sums()
    assert sorted(event.value for event in read(results)) == list(range(100))


def test_transactions_need_a_name_and_sends_need_a_transaction(topic, group):
    with Producer() as producer, pytest.raises(ConfigError, match="transactional_id"), producer.transaction():
        pass
    with Producer(transactional_id=group) as producer, pytest.raises(TransactionError, match="inside"):
        producer.send(topic, 1)
    with (
        Producer(transactional_id=group) as producer,
        Consumer(topic, group=group) as consumer,
        pytest.raises(ConfigError, match="manual"),
        producer.transaction(consumer),
    ):
        pass


def test_a_producer_that_was_fenced_stays_so(topic, group):
    first, second = Producer(transactional_id=group), Producer(transactional_id=group)
    for producer in (first, second):
        with producer.transaction():
            producer.send(topic, 1)
    for _ in range(2):
        with pytest.raises(TransactionError, match="took over"), first.transaction():
            first.send(topic, 2)
    with second.transaction():
        second.send(topic, 3)
    first.discard()
    second.close()


def test_aborted_events_do_not_count_as_delivered(topic, group):
    with Producer(transactional_id=group) as producer:
        with contextlib.suppress(KeyError), producer.transaction():
            for number in range(5):
                producer.send(topic, number)
            raise KeyError
        with producer.transaction():
            producer.send(topic, 5)
        assert producer.counts == Counts(sent=6, delivered=1, failed=5, waiting=0, dropped=0)


def test_a_transaction_whose_partition_went_to_another_member_is_aborted(topic, group, cluster):
    results = f"{topic}-results"
    with Topics() as topics:
        topics.create(results, partitions=1)
    with Producer() as producer:
        for number in range(40):
            producer.send(topic, number, partition=number % 4)

    def take(consumer, count):
        return list(itertools.islice(iter(lambda: consumer.poll(30), None), count))

    done = threading.Event()
    with Producer(transactional_id=group) as one, Consumer(topic, group=group, commit="manual") as first:
        with pytest.raises(TransactionError, match="went to another member"), one.transaction(first):
            for event in take(first, 40):
                one.send(results, event.value)
            second = Consumer(topic, group=group, commit="manual")

            def join():
                while not done.is_set():
                    second.poll(0.1)

            joining = threading.Thread(target=join)
            joining.start()
            deadline = time.monotonic() + 30
            while len(first.partitions()) == 4 and time.monotonic() < deadline:
                first.poll(0.1)
            done.set()
            joining.join()
        second.close()
        with one.transaction(first):
            for event in take(first, 40):
                one.send(results, event.value)
    assert sorted(event.value for event in read(results)) == list(range(40))


def test_an_aborted_transaction_reads_the_same_again_wherever_it_began(topic, group):
    with (
        Producer(transactional_id=group) as producer,
        Consumer(topic, group=group, commit="manual", start="latest") as consumer,
    ):
        consumer.lag()  # waits for the partitions: from now on
        with Producer() as other:
            for number in range(3):
                other.send(topic, number, partition=0)
        for _ in range(3):
            with contextlib.suppress(KeyError), producer.transaction(consumer):
                assert consumer.poll(10).value == 0
                raise KeyError
        with producer.transaction(consumer):
            assert [consumer.poll(10).value for _ in range(3)] == [0, 1, 2]
