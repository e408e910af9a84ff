import contextlib
import itertools
import signal
import subprocess
import sys
import textwrap
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from headrace.core.errors import (
    BrokerUnavailableError,
    ConfigError,
    DecodeError,
    TopicNameError,
    UnknownTopicError,
)
from headrace.log import Consumer, Groups, Producer, Topics


def fill(topic, values, **options):
    with Producer() as producer:
        for value in values:
            producer.send(topic, value, **options)


def values(topic, **options):
    with Consumer(topic, follow=False, **options) as consumer:
        return [event.value for event in consumer]


def test_without_a_group_everything_is_read_each_time(topic):
    fill(topic, range(100))
    assert sorted(values(topic)) == list(range(100))
    assert sorted(values(topic)) == list(range(100))


def test_groups_fan_out_and_keep_their_own_position(topic, group):
    fill(topic, range(100))
    assert sorted(values(topic, group=group)) == list(range(100))
    assert values(topic, group=group) == []
    assert sorted(values(topic, group=f"{group}-other")) == list(range(100))
    fill(topic, [100])
    assert values(topic, group=group) == [100]


def test_several_topics_are_read_together(topic, cluster):
    other = f"{topic}-other"
    with Topics() as topics:
        topics.create(other, partitions=2)
    fill(topic, [1, 2])
    fill(other, [3])
    assert sorted(values([topic, other])) == [1, 2, 3]


def test_order_is_kept_within_a_partition(topic):
    fill(topic, range(5000), partition=1)
    assert values(topic) == list(range(5000))


def test_members_share_the_partitions_and_a_leaver_hands_over(topic, group):
    fill(topic, range(400))
    seen, both = [], threading.Event()

    with Consumer(topic, group=group) as first:
        seen += [event.value for event in itertools.islice(first, 50)]
        assert len(first.partitions()) == 4
        second = Consumer(topic, group=group)
        taken = []

        def work():
            while not both.is_set() or len(taken) == 0:
                if event := second.poll(0.2):
                    taken.append(event.value)
                if len(second.partitions()) == 2:
                    both.set()

        thread = threading.Thread(target=work)
        thread.start()
        while not both.is_set():
            if event := first.poll(0.2):
                seen.append(event.value)
        for partition in range(4):
            fill(topic, range(400 + 50 * partition, 450 + 50 * partition), partition=partition)
        thread.join()
        assert len(first.partitions()) == 2
        second.close()
        while len(set(seen + taken)) < 600:
            event = first.poll(10)
            assert event is not None, f"stopped at {len(set(seen + taken))}"
            seen.append(event.value)
    assert sorted(seen + taken) == list(range(600))  # a clean rebalance repeats nothing


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("earliest", [0, 1, 2, 3, 4]),
        ("latest", []),
        (3, [3, 4]),
        ({0: 2}, [2, 3, 4]),
        (timedelta(hours=1), [0, 1, 2, 3, 4]),
        (datetime(2024, 1, 1, tzinfo=UTC), [0, 1, 2, 3, 4]),
        (datetime.now(UTC) + timedelta(days=1), []),
    ],
)
@pytest.mark.parametrize("grouped", [False, True])
def test_where_to_begin(topic, group, start, expected, grouped):
    fill(topic, range(5), partition=0)
    with Topics() as topics:
        topics.describe(topic)
    found = values(topic, start=start, group=group if grouped else None)
    assert found == expected


def test_begin_at_a_time_between_two_events(topic):
    fill(topic, ["before"], partition=0)
    with Consumer(topic, follow=False, format="text") as consumer:
        [first] = consumer
    fill(topic, ["after"], partition=0)
    assert values(topic, format="text", start=first.timestamp + timedelta(milliseconds=1)) == ["after"]


def test_a_group_that_has_a_position_does_not_begin_anew(topic, group):
    fill(topic, range(5), partition=0)
    values(topic, group=group)
    assert values(topic, group=group, start=timedelta(hours=1)) == []
    assert values(topic, group=group, start={0: 1}) == []


def test_latest_means_from_now_on(topic):
    fill(topic, ["old"])
    with Consumer(topic, start="latest", format="text") as consumer:
        fill(topic, ["new"])
        assert consumer.poll(10).value == "new"


def test_seek_by_offset_and_time_while_reading(topic):
    fill(topic, range(10), partition=0)
    fill(topic, range(10, 20), partition=1)
    with Consumer(topic, follow=False) as consumer:
        seen = []
        for event in consumer:
            seen.append(event.value)
            if len(seen) == 20:
                consumer.seek(8, partition=0)
        assert seen[20:] == [8, 9]
        consumer.seek(timedelta(hours=1), partition=1)
        assert [event.value for event in consumer] == list(range(10, 20))
        consumer.seek("earliest")
        assert sorted(event.value for event in consumer) == list(range(20))
        consumer.seek("latest")
        assert list(consumer) == []


def test_lag_counts_what_was_not_handed_out(topic, group):
    fill(topic, range(10), partition=0)
    fill(topic, range(4), partition=3)
    with Consumer(topic, group=group) as consumer:
        assert consumer.lag() == {(topic, 0): 10, (topic, 1): 0, (topic, 2): 0, (topic, 3): 4}
        for _ in range(14):
            before = sum(consumer.lag().values())
            consumer.poll(10)
            assert sum(consumer.lag().values()) == before - 1


def test_what_was_handled_is_committed_and_the_event_in_hand_comes_again_after_a_failure(topic, group):
    fill(topic, range(10), partition=0)
    seen = []
    with pytest.raises(ValueError, match="six"), Consumer(topic, group=group) as consumer:
        for event in consumer:
            if event.value == 6:
                raise ValueError("six")
            seen.append(event.value)
    with Consumer(topic, group=group) as consumer:
        for event in consumer:
            seen.append(event.value)
            if event.value == 8:
                break  # handled, then enough
    assert seen == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert values(topic, group=group) == [9]


def test_manual_commits_are_the_only_ones(topic, group):
    fill(topic, range(3000), partition=0)
    with Consumer(topic, group=group, commit="manual") as consumer:
        for event in consumer:
            if event.value == 2500:
                consumer.commit()
            if event.value == 2999:
                break
    assert values(topic, group=group, commit="manual")[0] == 2501


def test_a_kill_loses_nothing(topic, group, brokers):
    fill(topic, range(1000), partition=0)
    program = textwrap.dedent(f"""
        import os, signal
        from headrace.log import Consumer
        soon = {{"auto.commit.interval.ms": 1, "session.timeout.ms": 1500, "heartbeat.interval.ms": 500}}
        with Consumer({topic!r}, group={group!r}, config=soon) as consumer:
            for event in consumer:
                if event.value == 700:
                    os.kill(os.getpid(), signal.SIGKILL)
                print(event.value, flush=True)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    handled = [int(line) for line in done.stdout.split()]
    assert handled == list(range(700))
    rest = values(topic, group=group)
    assert set(handled) | set(rest) == set(range(1000))


def test_one_partition(topic):
    for partition in range(4):
        fill(topic, [partition], partition=partition)
    assert sorted(values(topic, partitions=[1, 3])) == [1, 3]


def test_what_cannot_be_decoded_harms_no_other(topic):
    fill(topic, ["{not json", b"\xff\xfe", {"fine": True}, "", None], partition=0)
    with Consumer(topic, follow=False) as consumer:
        events = list(consumer)
    for event in (events[0], events[1], events[3]):
        with pytest.raises(DecodeError, match=rf"{topic}\[0\]@{event.offset}.*not JSON.*format='text' or 'raw'"):
            event.value  # noqa: B018
    assert events[1].raw_value == b"\xff\xfe"
    assert [events[2].value, events[4].value] == [{"fine": True}, None]
    assert values(topic, format="raw") == [b"{not json", b"\xff\xfe", b'{"fine":true}', b"", None]


def test_repeating_and_empty_headers(topic):
    with Producer() as producer:
        producer._produce(topic, b"1", headers=[("h", b"one"), ("h", b"two"), ("none", None)])
    with Consumer(topic, follow=False) as consumer:
        [event] = consumer
    assert event.headers == {"h": "two"}


def test_an_event_says_where_it_is_from(topic):
    fill(topic, [1], key="ann", partition=2)
    with Consumer(topic, follow=False) as consumer:
        [event] = consumer
    assert repr(event) == f"Event({topic}[2]@0, key='ann')"


def test_uncommitted_transactions_are_not_seen(topic, group):
    with Producer(transactional_id=group) as producer:
        with pytest.raises(KeyError), producer.transaction():
            producer.send(topic, "no", partition=0)
            producer.flush()
            raise KeyError
        fill(topic, ["yes"], partition=0)
    assert values(topic, format="text") == ["yes"]


def test_wrong_topics(topic):
    with pytest.raises(UnknownTopicError, match="Did you mean"):
        Consumer(f"{topic}s")
    with pytest.raises(TopicNameError):
        Consumer("../x")


def test_nobody_at_the_address():
    with pytest.raises(BrokerUnavailableError, match="no broker answers"):
        Consumer("orders", brokers="127.0.0.1:1")


@pytest.mark.parametrize(
    "options",
    [
        {"start": "beginning"},
        {"start": -1},
        {"start": True},
        {"start": {0: -5}},
        {"start": None},
        {"commit": "sometimes"},
        {"format": "avro"},
        {"group": ""},
        {"group": "g", "partitions": [0]},
        {"partitions": [99]},
        {"config": {"no.such.setting": 1}},
    ],
)
def test_wrong_settings_are_refused(topic, options):
    with pytest.raises(ConfigError):
        Consumer(topic, **options)


def test_commit_needs_a_group(topic):
    with Consumer(topic) as consumer, pytest.raises(ConfigError, match="needs a group"):
        consumer.commit()
    with Consumer(topic, partitions=[1]) as consumer, pytest.raises(ConfigError, match="does not read partition 3"):
        consumer.seek(0, partition=3)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(("start", "expected"), [("latest", 0), (3, 2), ({0: 4}, 1), (999, 0), ("earliest", 5)])
def test_lag_before_the_first_event_counts_from_where_reading_begins(topic, group, start, expected, grouped):
    fill(topic, range(5), partition=0)
    with Consumer(topic, group=group if grouped else None, start=start) as consumer:
        assert consumer.lag()[topic, 0] == expected
        consumer.seek("earliest")
        assert consumer.lag()[topic, 0] == 5
        consumer.seek(2)
        assert consumer.lag()[topic, 0] == 3
        assert consumer.poll(10).value == 2
        assert consumer.lag()[topic, 0] == 2


def test_a_commit_after_a_seek_commits_the_new_place(topic, group):
    fill(topic, range(5), partition=0)
    with Consumer(topic, group=group, commit="manual") as consumer:
        consumer.poll(10)
        consumer.seek(3, partition=0)
        consumer.commit()
    assert values(topic, group=group) == [3, 4]


def test_partitions_of_which_nothing_was_committed_count_as_lag(topic, group):
    for partition in (0, 1):
        fill(topic, range(5), partition=partition)
    with Consumer(topic, group=group, commit="manual") as consumer:
        consumer.poll(10)
        consumer.commit()
    with Groups() as groups:
        assert groups.describe(group).lag == 9


def test_an_offset_beyond_the_end_is_the_end(topic):
    fill(topic, range(5), partition=0)
    assert values(topic, start=1000) == []


def test_no_topics():
    with pytest.raises(ConfigError, match="at least one topic"):
        Consumer([])


def test_polling_inside_a_loop_hands_out_each_event_once(topic):
    fill(topic, range(20), partition=0)
    seen = []
    with Consumer(topic, follow=False) as consumer:
        for event in consumer:
            seen.append(event.value)
            if event.value % 5 == 0 and (more := consumer.poll(5)):
                seen.append(more.value)
    assert seen == list(range(20))


def test_ctrl_c_at_any_moment_commits_only_what_was_handled(topic, group):
    """The signal meets the consumer in its own code as well as in the loop's body."""
    fill(topic, range(60_000), partition=0)
    handled, deadline = -1, time.monotonic() + 60
    for number in itertools.count():
        timer = threading.Timer(0.4 + 0.013 * number, signal.raise_signal, [signal.SIGINT])
        with contextlib.suppress(KeyboardInterrupt), Consumer(topic, group=group) as consumer:
            timer.start()
            for event in consumer:
                assert event.value <= handled + 1, f"skipped from {handled} to {event.value}"
                handled = event.value
                if handled == 59_999:
                    timer.cancel()
                    return
        assert time.monotonic() < deadline, f"only {handled} handled"


def test_a_consumer_goes_on_after_an_interrupted_fetch(topic, group):
    fill(topic, range(1000), partition=0)
    with Consumer(topic, group=group, follow=False) as consumer:
        seen = [consumer.poll(10).value]
        consumer._client.consume(10, 5)  # as if Ctrl-C had come before these were ours
        consumer._torn = True
        seen += [event.value for event in consumer]
    assert seen == list(range(1000))


def test_closing_twice_is_closing_once(topic, group):
    consumer = Consumer(topic, group=group)
    consumer.close()
    consumer.close()


def test_a_start_in_a_partition_that_is_not_there(topic):
    with pytest.raises(ConfigError, match="start names partition 7"):
        Consumer(topic, start={7: 0})
