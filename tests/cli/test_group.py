import pytest

from headrace.log import Consumer, Producer
from tests.cli.outcome import refused, row, rows, told


@pytest.fixture
def reader(topic, group):
    """A group that has read three events of the topic and then stopped, with one more to come."""
    with Producer() as producer:
        for number in range(3):
            producer.send(topic, {"n": number}, partition=number)
    with Consumer(topic, group=group, follow=False) as consumer:
        assert len(list(consumer)) == 3
    with Producer() as producer:
        producer.send(topic, {"n": 3}, partition=0)
    return group


def offsets(cli, group):
    return {place["partition"]: place["offset"] for place in row(cli("group", "describe", group))["offsets"]}


def test_groups_are_listed_with_their_lag(headrace, reader):
    found = {group["name"]: group for group in rows(headrace("group", "list"))}
    assert found[reader] == {"name": reader, "state": "empty", "members": 0, "lag": 1}


def test_describe_tells_of_each_partition(cli, reader, topic):
    found = row(cli("group", "describe", reader))
    assert (found["name"], found["state"], found["members"], found["lag"]) == (reader, "empty", 0, 1)
    first = {"topic": topic, "partition": 0, "offset": 1, "end": 2, "lag": 1, "member": None}
    assert found["offsets"][0] == first
    assert [place["lag"] for place in found["offsets"]] == [1, 0, 0, 0][: len(found["offsets"])]


def test_for_people(cli, reader, topic):
    assert reader in cli("group", "list", "--format", "text").stdout
    lines = cli("group", "describe", reader, "--format", "text").stdout.splitlines()
    assert lines[0].split() == ["name", reader]
    assert lines[5].split() == [topic, "0", "1", "2", "1", "-"]


def test_names_that_look_like_markup_are_shown_as_they_are(cli, topic):
    name = "a[bold]\\[b]"
    cli("group", "seek", name, "--topic", topic, "--to", "start", "--yes")
    assert name in cli("group", "list", "--format", "text").stdout
    cli("group", "delete", name, "--yes")


def test_a_group_reads_again_or_skips(cli, reader, topic):
    assert row(cli("group", "seek", reader, "--topic", topic, "--to", "start", "--yes")) == {
        "moved": reader,
        "topic": topic,
        "to": "start",
    }
    assert set(offsets(cli, reader).values()) == {0}
    cli("group", "seek", reader, "--topic", topic, "--to", "end", "--yes")
    assert offsets(cli, reader) == {0: 2, 1: 1, 2: 1, 3: 0}
    cli("group", "seek", reader, "--topic", topic, "--to", "1", "--yes")
    assert offsets(cli, reader) == {0: 1, 1: 1, 2: 1, 3: 0}


def test_a_group_goes_to_a_time(cli, reader, topic):
    assert row(cli("group", "seek", reader, "--topic", topic, "--to", "1 hour", "--yes"))["moved"] == reader
    assert offsets(cli, reader) == {0: 0, 1: 0, 2: 0, 3: 0}


def test_a_group_is_deleted(cli, reader):
    assert row(cli("group", "delete", reader, "--yes")) == {"deleted": reader}
    refused(cli("group", "describe", reader), 1, f"there is no group '{reader}'", "headrace group list")


@pytest.mark.parametrize("command", ["describe", "delete"])
def test_an_unknown_group_is_told(cli, cluster, command):
    yes = ["--yes"] if command == "delete" else []
    refused(cli("group", command, "nobody", *yes), 1, "there is no group 'nobody'", "headrace group list")


def test_without_a_terminal_moving_and_deleting_need_yes(cli, reader, topic):
    before = offsets(cli, reader)
    seek = cli("group", "seek", reader, "--topic", topic, "--to", "start")
    refused(seek, 2, f"Move {reader} to start in {topic}?", "--yes")
    refused(cli("group", "delete", reader), 2, f"Delete the group {reader}", "--yes")
    assert offsets(cli, reader) == before


def test_a_group_with_members_stays(cli, topic, group):
    with Producer() as producer:
        producer.send(topic, {})
    with Consumer(topic, group=group) as consumer:
        assert consumer.poll(30)
        refused(cli("group", "delete", group, "--yes"), 1, group, "the group has members; stop them first")
        refused(
            cli("group", "seek", group, "--topic", topic, "--to", "end", "--yes"), 1, group, "stop its members first"
        )
        assert row(cli("group", "describe", group))["members"] == 1


@pytest.mark.parametrize("place", ["nonsense", "", "-5", "0001-01-01"])
def test_a_wrong_place_is_refused(cli, topic, place):
    done = cli("group", "seek", "g", "--topic", topic, f"--to={place}", "--yes")
    refused(done, 2, "--to", f"'{place}' is not a place", "'start', 'end', an offset")


def test_moving_for_people(cli, reader, topic):
    done = cli("group", "seek", reader, "--topic", topic, "--to", "end", "--yes", "--format", "text")
    assert told(done) == f"Moved {reader} to end in {topic}."
    assert told(cli("group", "delete", reader, "--yes", "--format", "text")) == f"Deleted {reader}."


@pytest.mark.parametrize(
    ("command", "name"), [("describe", "\udcff"), ("delete", "\udcff"), ("seek", "\udcff"), ("seek", "")]
)
def test_a_name_that_no_group_can_have_is_refused(headrace, topic, command, name):
    options = {"describe": [], "delete": ["--yes"], "seek": ["--topic", topic, "--to", "start", "--yes"]}
    done = headrace("group", command, name, *options[command])
    assert done.returncode in (1, 2)
    assert repr(name) in told(done)
