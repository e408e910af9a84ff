import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.log import Producer, Topics
from tests.cli.outcome import refused, row, rows, told


@pytest.fixture
def name(group):
    """The name of a topic that nobody has created."""
    return group.replace("group", "topic")


def names(cli):
    return [topic["name"] for topic in rows(cli("topic", "list"))]


def test_a_topic_is_created_listed_described_configured_and_deleted(headrace, cluster, name):
    created = row(headrace("topic", "create", name, "-p", "3", "--retention", "2 days", "--compact"))
    assert created == {"created": name, "partitions": 3}
    listed = {topic["name"]: topic for topic in rows(headrace("topic", "list"))}
    assert listed[name] == {"name": name, "partitions": 3, "events": 0, "size": listed[name]["size"]}
    described = row(headrace("topic", "describe", name))
    assert described["config"] == {"cleanup.policy": "compact,delete", "retention.ms": "172800000"}
    configured = row(headrace("topic", "config", name, "--no-compact", "--config", "retention.ms="))
    assert configured == {"cleanup.policy": "delete"}
    assert row(headrace("topic", "delete", name, "--yes")) == {"deleted": name}
    assert name not in names(headrace)


def test_describe_tells_of_each_partition(cli, topic):
    with Producer() as producer:
        producer.send(topic, {"n": 1}, partition=2)
    found = row(cli("topic", "describe", topic))
    size = found["offsets"][2].pop("size")
    assert 0 < size <= found["size"]
    assert found["offsets"][2] == {
        "partition": 2,
        "leader": 1,
        "replicas": [1],
        "in_sync": [1],
        "earliest": 0,
        "latest": 1,
    }
    assert (found["name"], found["events"], found["config"]) == (topic, 1, {})


def test_every_setting_has_a_word(cli, cluster, name):
    words = ["--retention", "1 day", "--retention-bytes", "1 GiB", "--compact", "--tombstone-retention", "2 h"]
    words += ["--segment-bytes", "16 MB", "--segment-time", "1 week", "--config", "min.insync.replicas=1"]
    assert cli("topic", "create", name, *words).returncode == 0
    assert row(cli("topic", "config", name)) == {
        "cleanup.policy": "compact,delete",
        "delete.retention.ms": "7200000",
        "min.insync.replicas": "1",
        "retention.bytes": "1073741824",
        "retention.ms": "86400000",
        "segment.bytes": "16000000",
        "segment.ms": "604800000",
    }


def test_a_topic_grows(cli, topic):
    assert cli("topic", "config", topic, "--partitions", "6").returncode == 0
    assert len(row(cli("topic", "describe", topic))["offsets"]) == 6


def test_kafkas_own_topics_are_listed_only_if_asked_for(cli, cluster, group, topic):
    cli("group", "seek", group, "--topic", topic, "--to", "start", "--yes")
    assert "__consumer_offsets" not in names(cli)
    assert "__consumer_offsets" in [found["name"] for found in rows(cli("topic", "list", "--internal"))]


def test_for_people(cli, cluster, name):
    assert told(cli("topic", "create", name, "--format", "text")) == f"Created {name} with 4 partition(s)."
    assert told(cli("topic", "config", name, "--format", "text")) == f"{name} has the broker's defaults."
    changed = cli("topic", "config", name, "--retention", "1 hour", "--format", "text")
    assert changed.stdout.split() == ["retention.ms", "3600000"]
    described = cli("topic", "describe", name, "--format", "text").stdout
    assert described.split()[:6] == ["name", name, "partitions", "4", "events", "0"]
    assert "retention.ms  3600000" in described
    assert told(cli("topic", "delete", name, "--yes", "--format", "text")) == f"Deleted {name}."


def test_a_long_name_stays_in_one_line_for_programs_that_read_tables(cli, cluster):
    long = "long-" + "x" * 244
    cli("topic", "create", long, "-p", "1")
    assert long in cli("topic", "list", "--format", "text").stdout
    cli("topic", "delete", long, "--yes")


def test_creating_twice_is_refused(cli, topic):
    refused(cli("topic", "create", topic), 1, f"creating the topic '{topic}' failed: it exists", "topic describe")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--partitions", "0"], ["--partitions", "greater than or equal to 1"]),
        (["--partitions", "-1"], ["--partitions", "greater than or equal to 1"]),
        (["--partitions", "four"], ["--partitions"]),
        (["--replication", "0"], ["--replication", "greater than or equal to 1"]),
        (["--replication", "3"], ["replication factor of 3 cannot be reached", "only 1 broker"]),
        (["--retention", "soon"], ["'soon' is not a time span", "'7 days'"]),
        (["--retention", "5 fortnights"], ["unknown unit 'fortnights'", "use ms, seconds"]),
        (["--retention-bytes", "much"], ["'much' is not a size", "'1 GB'"]),
        (["--retention-bytes", "9" * 30], ["is too large; the most is 9223372036854775807 bytes"]),
        (["--segment-bytes", "1 B"], ["segment.bytes"]),
        (["--config", "retention.ms"], ["--config", "'retention.ms' is not NAME=VALUE"]),
        (["--config", "no.such.setting=1"], ["no.such.setting"]),
        (["--config", "retention.ms=never"], ["retention.ms", "never"]),
    ],
    ids=" ".join,
)
def test_wrong_options_are_refused_and_nothing_is_created(cli, cluster, name, options, words):
    refused(cli("topic", "create", name, *options), 2, *words)
    with Topics() as topics:
        assert name not in [topic.name for topic in topics.list()]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--partitions", "0"], ["--partitions", "greater than or equal to 1"]),
        (["--partitions", "2"], ["currently has 4 partition(s)", "would not be an increase"]),
        (["--retention", "soon"], ["'soon' is not a time span"]),
        (["--config", "=5"], ["--config", "'=5' is not NAME=VALUE"]),
        (["--config", "retention.ms=never"], ["retention.ms", "never"]),
    ],
    ids=" ".join,
)
def test_wrong_changes_are_refused(cli, topic, options, words):
    refused(cli("topic", "config", topic, *options), 2, *words)
    assert row(cli("topic", "config", topic)) == {}


def test_without_a_terminal_deleting_needs_yes(cli, topic):
    refused(cli("topic", "delete", topic), 2, f"Delete {topic} with about 0 events?", "--yes")
    assert topic in names(cli)


@pytest.mark.parametrize(("answer", "code", "left"), [("n", 1, True), ("", 1, True), ("y", 0, False)])
def test_at_a_terminal_deleting_asks(topic, cli, answer, code, left):
    keyboard, terminal = pty.openpty()
    os.write(keyboard, f"{answer}\n".encode())
    command = [Path(sys.executable).with_name("headrace"), "topic", "delete", topic]
    done = subprocess.run(command, stdin=terminal, capture_output=True, text=True, check=False)
    os.close(keyboard)
    os.close(terminal)
    assert f"Delete {topic} with about 0 events? [y/N]" in done.stdout
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert (topic in names(cli)) is left


@pytest.mark.parametrize("option", [["--partitions", "1000000"], ["--config", "x=\udcff"]], ids=repr)
@pytest.mark.parametrize("command", ["create", "config"])
def test_what_the_client_refuses_is_told(cli, topic, name, command, option):
    refused(cli("topic", command, topic if command == "config" else name, *option), 2)
