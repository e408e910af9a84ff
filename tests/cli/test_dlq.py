import pytest

from headrace.log import Consumer, Producer, Topics
from headrace.log.dead_letters import DeadLetters
from tests.cli.outcome import refused, row, rows, told


@pytest.fixture
def dead(topic, brokers):
    """Three letters; the topic of letters."""
    with Producer() as producer:
        for n in range(3):
            producer.send(topic, {"n": n}, key=str(n), partition=0)
    aside = DeadLetters(topic, brokers)
    with Consumer(topic, follow=False) as consumer:
        for event in consumer:
            aside.put(event, f"reason {event.value['n']}")
    aside.close()
    return aside.topic


def events(topic):
    with Consumer(topic, follow=False) as consumer:
        return [event.value["n"] for event in consumer]


def test_letters_are_listed(headrace, dead, topic):
    found = next(one for one in rows(headrace("dlq", "list")) if one["topic"] == dead)
    assert (found["source"], found["events"]) == (topic, 3)


def test_letters_are_shown_with_reason_and_source(cli, dead, topic):
    found = rows(cli("dlq", "show", dead, "--limit", "2"))
    assert [(one["offset"], one["reason"], one["value"]) for one in found] == [
        (1, "reason 1", {"n": 1}),
        (2, "reason 2", {"n": 2}),
    ]
    assert found[0]["source"] == {"topic": topic, "partition": 0, "offset": 1}
    shown = cli("dlq", "show", topic, "--limit", "2", "--format", "text")
    assert "reason 2" in shown.stdout
    assert f"{topic} 0:2" in shown.stdout
    assert "There are more" in told(shown)


def test_letters_are_replayed_once_unless_asked(cli, dead, topic):
    assert row(cli("dlq", "replay", topic, "0", "0:2", "--yes")) == {"topic": dead, "replayed": 2}
    assert events(topic) == [0, 1, 2, 0, 2]
    refused(cli("dlq", "replay", dead, "0", "--yes"), 1, "replayed already", "--again")
    assert row(cli("dlq", "replay", dead, "0", "--yes", "--again"))["replayed"] == 1
    assert row(cli("dlq", "replay", dead, "--all", "--yes"))["replayed"] == 1
    assert row(cli("dlq", "replay", dead, "--all", "--yes"))["replayed"] == 0
    assert events(topic) == [0, 1, 2, 0, 2, 0, 1]
    assert "yes" in cli("dlq", "show", dead, "--format", "text").stdout


def test_a_letter_is_mended(cli, dead, topic):
    done = cli("dlq", "replay", dead, "1", "--value", '{"n": 11}', "--yes", "--format", "text")
    assert told(done) == f"Replayed 1 letter(s) of {dead}."
    assert events(topic) == [0, 1, 2, 11]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("replay", "t"), ["say which letters, by their offsets, or --all"]),
        (("replay", "t", "1", "--all"), ["say which letters, by their offsets, or --all"]),
        (("replay", "t", "--all", "--again"), ["--all goes with neither --value nor --again"]),
        (("replay", "t", "one"), ["'one' is no place"]),
        (("replay", "t", "a:1"), ["'a:1' is no place"]),
        (("replay", "t", "1"), ["There is no terminal to ask at; say --yes"]),
        (("show", "../x"), ["is not a topic name"]),
        (("show", "t", "--limit", "0"), ["--limit"]),
    ],
)
def test_wrong_use_is_told(cli, cluster, arguments, words):
    refused(cli("dlq", *arguments), 2, *words)


def test_letters_that_are_not_there_are_told(cli, dead):
    refused(cli("dlq", "replay", dead, "99", "--yes"), 1, "there is no letter at offset 99 of partition 0")
    refused(cli("dlq", "show", "no-such-topic"), 1, "there is no topic 'no-such-topic.dlq'")


def test_an_empty_ledger_says_so(cli, topic):
    with Topics() as topics:
        topics.create(f"{topic}.late", partitions=1)
    assert told(cli("dlq", "show", f"{topic}.late", "--format", "text")) == f"No letters in {topic}.late."
