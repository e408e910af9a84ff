import time

import pytest

from headrace.core.errors import ConfigError, TopicExistsError, TopicNameError, UnknownTopicError
from headrace.log import Consumer, Producer, Topics


def test_a_topic_is_created_described_and_deleted(cluster, group):
    with Topics() as topics:
        topics.create(group, partitions=3, retention="2 days", segment_bytes="16 MB")
        found = topics.describe(group)
        assert [p.id for p in found.partitions] == [0, 1, 2]
        assert found.config == {"retention.ms": "172800000", "segment.bytes": "16000000"}
        assert group in [topic.name for topic in topics.list()]
        topics.delete(group)
        assert group not in [topic.name for topic in topics.list()]


def test_describe_tells_offsets_and_bytes_on_disk(topic):
    with Topics() as topics, Producer() as producer:
        before = topics.describe(topic)
        for number in range(1000):
            producer.send(topic, {"n": number, "filler": "x" * 100}, partition=number % 2)
        producer.flush()
        after = topics.describe(topic)
    assert [(p.earliest, p.latest) for p in after.partitions] == [(0, 500), (0, 500), (0, 0), (0, 0)]
    assert after.events == 1000
    assert after.size > before.size
    assert after.partitions[0].size > after.partitions[3].size


def test_kafkas_own_topics_are_listed_only_if_asked_for(topic, group):
    with Consumer(topic, group=group, follow=False) as consumer:
        list(consumer)
    with Topics() as topics:
        assert "__consumer_offsets" not in [t.name for t in topics.list()]
        assert "__consumer_offsets" in [t.name for t in topics.list(internal=True)]


def test_compacted_topics_are_tables(topic, group):
    with Topics() as topics:
        topics.create(group, partitions=1, compact=True, retention="1 day")
        found = {found.name: len(found.partitions) for found in topics.compacted()}
        assert found[group] == 1
        assert topic not in found
        topics.configure(topic, compact=True)
        assert topic in [found.name for found in topics.compacted()]


def test_settings_are_changed_and_restored(topic):
    with Topics() as topics:
        topics.configure(topic, retention="1 hour", compact=True)
        assert topics.describe(topic).config == {"cleanup.policy": "compact,delete", "retention.ms": "3600000"}
        topics.configure(topic, {"retention.ms": "", "cleanup.policy": ""})
        assert topics.describe(topic).config == {}


def test_a_topic_grows(topic):
    with Topics() as topics:
        topics.grow(topic, 6)
        assert len(topics.describe(topic).partitions) == 6
        with pytest.raises(ConfigError, match="adding partitions"):
            topics.grow(topic, 2)


def test_compaction_keeps_the_last_event_of_each_key_and_forgets_tombstones(cluster, group):
    with Topics() as topics, Producer() as producer:
        topics.create(
            group,
            partitions=1,
            compact=True,
            segment_time="100 ms",
            tombstone_retention="1 ms",
            config={"min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "200"},
        )
        for number in range(50):
            producer.send(group, {"n": number}, key=f"k{number % 5}")
        producer.send(group, None, key="k0")
        for _ in range(600):  # the cleaner works in rounds of its own; each new segment lets it go on
            producer.send(group, {"n": -1}, key="tick")
            producer.flush()
            with Consumer(group, follow=False) as consumer:
                rows = [(event.key, event.value) for event in consumer if event.key != "tick"]
            if rows == [("k1", {"n": 46}), ("k2", {"n": 47}), ("k3", {"n": 48}), ("k4", {"n": 49})]:
                return
    pytest.fail(f"not compacted: {rows}")


@pytest.mark.parametrize("limit", [{"retention_bytes": "1 MiB"}, {"retention": "1 second"}])
def test_retention_deletes_the_oldest_by_size_and_by_time(cluster, group, limit):
    with Topics() as topics, Producer(config={"compression.type": "none"}) as producer:
        topics.create(group, partitions=1, segment_bytes="1 MiB", **limit)
        for _ in range(40):
            producer.send(group, "x" * 200_000)
        producer.flush()
        deadline = time.monotonic() + 60
        while (found := topics.describe(group).partitions[0]).earliest == 0 and time.monotonic() < deadline:
            time.sleep(0.2)  # the broker looks every few seconds
    assert found.latest == 40
    assert 0 < found.earliest <= 40


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a b", "ä", "x" * 250, "new\nline", "a\0b"])
def test_wrong_names_are_refused_before_the_broker_sees_them(cluster, name):
    with Topics() as topics:
        for act in (topics.create, topics.describe, topics.delete, topics.configure):
            with pytest.raises(TopicNameError, match="is not a topic name; use 1 to 249 letters"):
                act(name)


def test_the_longest_name_is_accepted(cluster):
    with Topics() as topics:
        topics.create("x" * 249, partitions=1)
        topics.delete("x" * 249)


def test_an_unknown_topic_is_told_with_what_may_be_meant(topic):
    with Topics() as topics, pytest.raises(UnknownTopicError, match=f"Did you mean '{topic}'"):
        topics.describe(topic + "s")


def test_creating_twice_is_refused_unless_it_is_fine(topic):
    with Topics() as topics:
        with pytest.raises(TopicExistsError, match="it exists"):
            topics.create(topic)
        topics.create(topic, exist_ok=True)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"partitions": 0}, "at least 1 partition"),
        ({"partitions": -4}, "at least 1 partition"),
        ({"replication": 5}, "replication"),
        ({"retention": "soon"}, "is not a time span"),
        ({"retention_bytes": "much"}, "is not a size"),
        ({"config": {"no.such.setting": "1"}}, "no.such.setting"),
        ({"config": {"retention.ms": "never"}}, "retention.ms"),
        ({"retain": "1 day"}, "unknown topic settings retain"),
    ],
)
def test_wrong_settings_are_refused(cluster, group, wrong, told):
    with Topics() as topics, pytest.raises(ConfigError, match=told):
        topics.create(group, **wrong)
