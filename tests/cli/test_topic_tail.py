import json
import signal
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headrace.cli.topic_tail import parse_place
from headrace.log import Producer, Topics
from tests.cli.outcome import refused, row, rows

HEADRACE = Path(sys.executable).with_name("headrace")


@pytest.fixture(scope="module")
def filled(cluster):
    """A topic with the numbers 0 to 19, five in each partition, under the keys a and b; four at a time are as old."""
    name = f"filled-{uuid.uuid4().hex[:12]}"
    with Topics() as topics, Producer() as producer:
        topics.create(name, partitions=4)
        for number in range(20):
            producer.send(name, {"n": number}, key="ab"[number % 2], partition=number % 4)
            if number % 4 == 3:
                producer.flush()
    return name


def numbers(done):
    return sorted(event["value"]["n"] for event in rows(done))


def test_an_event_has_its_place_time_key_headers_and_value(headrace, topic):
    with Producer() as producer:
        producer.send(topic, {"n": 1}, key="k", headers={"trace": "t"}, partition=2)
    event = row(headrace("topic", "tail", topic, "--no-follow"))
    age = datetime.now(UTC) - datetime.fromisoformat(event.pop("timestamp"))
    assert timedelta(0) <= age < timedelta(minutes=1)
    assert event == {
        "topic": topic,
        "partition": 2,
        "offset": 0,
        "key": "k",
        "headers": {"trace": "t"},
        "value": {"n": 1},
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--last", "8"], range(12, 20)),
        (["-n", "100"], range(20)),
        (["-n", "0"], []),
        (["--from", "start"], range(20)),
        (["--from", "end"], []),
        (["--from", "3"], range(12, 20)),
        (["--from", "100"], []),
        (["--from", "99999999999999999999"], []),
        (["--from", "1 hour"], range(20)),
        (["--from", "1 hour ago"], range(20)),
        (["--from", "2024-05-01T10:00"], range(20)),
        (["--partition", "1"], [1, 5, 9, 13, 17]),
        (["--partition", "1", "-n", "2"], [13, 17]),
        (["--from", "start", "--partition", "3"], [3, 7, 11, 15, 19]),
        (["--key", "a", "-n", "2"], [16, 18]),
        (["--from", "start", "--key", "b"], range(1, 20, 2)),
        (["--key", "nobody"], []),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_where_to_begin_and_what_to_show(cli, filled, options, expected):
    assert numbers(cli("topic", "tail", filled, "--no-follow", *options)) == list(expected)


@pytest.mark.parametrize("place", ["1960-01-01", "1969-12-31T23:59:59.999Z", "999999 days"])
def test_before_kafkas_time_is_the_start(cli, filled, place):
    assert numbers(cli("topic", "tail", filled, "--no-follow", "--from", place)) == list(range(20))


def test_the_last_ten_are_shown_unless_told(cli, filled):
    found = numbers(cli("topic", "tail", filled, "--no-follow"))
    assert len(found) == 10
    assert set(range(12, 20)) < set(found)


@pytest.mark.parametrize("options", [[], ["--from", "start"], ["--from", "start", "--no-follow"], ["-n", "3"]])
def test_it_ends_after_so_many(cli, filled, options):
    assert len(rows(cli("topic", "tail", filled, "--limit", "2", *options))) == 2


def test_new_events_are_shown_as_they_arrive_until_ctrl_c(topic, tmp_path):
    with Producer() as producer:
        producer.send(topic, {"n": 0})
    command = [HEADRACE, "topic", "tail", topic]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as tail,
        Producer() as producer,
    ):
        assert json.loads(tail.stdout.readline())["value"] == {"n": 0}
        for number in (1, 2):
            producer.send(topic, {"n": number})
            producer.flush()
            assert json.loads(tail.stdout.readline())["value"] == {"n": number}
        tail.send_signal(signal.SIGINT)
        assert tail.wait(timeout=20) == 0
        assert (tail.stdout.read(), tail.stderr.read()) == (b"", b"")


def test_values_of_any_bytes_are_a_line_each(cli, topic):
    given = [b"not json", b"\xff\0\n", None, b'"text"', b""]
    with Producer() as producer:
        for value in given:
            producer.send(topic, value, key=b"k\xff", partition=0)
    found = rows(cli("topic", "tail", topic, "--no-follow"))
    assert [event["value"] for event in found] == ["not json", "�\0\n", None, "text", ""]
    assert {event["key"] for event in found} == {"k�"}


def test_for_people_an_event_is_one_line_that_harms_no_terminal(cli, topic):
    with Producer() as producer:
        producer.send(topic, "a\nb\x1b[31m [bold]x[/bold]", key="k\n\x1b[0m", partition=0)
        producer.send(topic, None, key="gone", partition=0)
        producer.send(topic, "ü\xa0" + "x" * 500, partition=0)
    first, second, third = cli("topic", "tail", topic, "--no-follow", "--format", "text").stdout.splitlines()
    assert first.endswith(r"0@0  k\n\x1b[0m  a\nb\x1b[31m [bold]x[/bold]")
    assert second.endswith("0@1  gone  (deleted)")
    assert third.endswith(r"0@2  -  ü\xa0" + "x" * 500)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--from", "nonsense"], ["--from", "'nonsense' is not a place", "'start', 'end', an offset, a time"]),
        (["--from", ""], ["--from", "'' is not a place"]),
        (["--from", "-1"], ["--from", "'-1' is not a place"]),
        (["--from", "2024-13-01"], ["--from", "'2024-13-01' is not a place"]),
        (["--from", "0001-01-01"], ["--from", "'0001-01-01' is not a place"]),
        (["--limit", "0"], ["--limit", "greater than or equal to 1"]),
        (["--limit", "many"], ["--limit"]),
        (["--last", "-1"], ["--last", "greater than or equal to 0"]),
        (["--partition", "-1"], ["--partition", "greater than or equal to 0"]),
        (["--partition", "99"], ["has partitions 0 to 3, not 99"]),
        (["--partition", "99", "--from", "start"], ["has partitions 0 to 3, not 99"]),
    ],
    ids=lambda value: "",
)
def test_wrong_options_are_refused(cli, filled, options, words):
    refused(cli("topic", "tail", filled, "--no-follow", *options), 2, *words)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("start", "earliest"),
        ("latest", "latest"),
        ("0", 0),
        ("17", 17),
        ("5 minutes", timedelta(minutes=5)),
        ("5 min ago", timedelta(minutes=5)),
        ("2024-05-01T10:00Z", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("2024-05-01", datetime(2024, 5, 1).astimezone()),
    ],
)
def test_places_as_people_write_them(given, place):
    assert parse_place(given) == place


def test_a_time_that_no_calendar_has_hides_nothing(cli, cluster, group):
    name = group
    foreign = {"message.timestamp.type": "CreateTime", "message.timestamp.after.max.ms": str(2**63 - 1)}
    with Topics() as topics:
        topics.create(name, partitions=1, config=foreign)
    with Producer() as producer:
        producer._produce(name, b'{"n": 1}', timestamp=2**60)
        producer.send(name, {"n": 2})
    for form in ("json", "text"):
        done = cli("topic", "tail", name, "--from", "start", "--no-follow", "--format", form)
        assert done.returncode == 0
        assert done.stdout.count('"n"') == 2
