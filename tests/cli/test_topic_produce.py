import pytest

from headrace.log import Consumer
from tests.cli.outcome import refused, row, told


@pytest.fixture
def produce(cli, topic, tmp_path):
    """Send the lines of a file to the topic."""

    def produce(data, *options):
        (tmp_path / "lines").write_bytes(data)
        return cli("topic", "produce", topic, "lines", *options)

    return produce


def events(topic):
    with Consumer(topic, follow=False) as consumer:
        return list(consumer)


def values(topic):
    return sorted(event.raw_value for event in events(topic))


def test_lines_of_standard_input_become_events(headrace, topic):
    assert row(headrace("topic", "produce", topic, input='{"n":1}\n{"n":2}')) == {
        "topic": topic,
        "sent": 2,
        "refused": 0,
    }
    assert values(topic) == [b'{"n":1}', b'{"n":2}']


def test_lines_of_a_file_become_events(produce, topic):
    assert row(produce(b'{"n":1}\n[2]\n"three"\n4\nnull\n'))["sent"] == 5
    assert values(topic) == [b'"three"', b"4", b"[2]", b"null", b'{"n":1}']


def test_for_people(produce, topic):
    done = produce(b"{}\n", "--format", "text")
    assert (done.stdout, told(done)) == ("", f"Sent 1 event(s) to {topic}.")


def test_a_field_is_the_key(produce, topic):
    produce(b'{"id":"a"}\n{"id":7}\n{"id":{"x":1}}\n{"id":null}\n', "--key", "id")
    assert sorted(str(event.key) for event in events(topic)) == ["7", "None", "a", '{"x":1}']


def test_headers_go_on_every_event(produce, topic):
    produce(b"{}\n{}\n", "--header", "trace=a=1", "--header", "empty=", "--header", "ä=ö")
    assert [event.headers for event in events(topic)] == [{"trace": "a=1", "empty": "", "ä": "ö"}] * 2


def test_empty_lines_and_line_ends_of_windows_are_no_events(produce, topic):
    assert row(produce(b'\r\n{"n":1}\r\n\n  \t \n{"n":2}\r\n\n'))["sent"] == 2
    assert values(topic) == [b'{"n":1}', b'{"n":2}']


def test_nothing_to_send(produce, topic):
    assert row(produce(b"")) == {"topic": topic, "sent": 0, "refused": 0}


def test_raw_lines_are_sent_as_they_are(produce, topic):
    data = [b"\xff\xfe", b"a\0b", b"not json", b'{"n":']
    assert row(produce(b"\n".join(data), "--raw"))["sent"] == 4
    assert values(topic) == sorted(data)


def test_wrong_lines_are_told_by_number_and_the_others_are_sent(produce, topic):
    wrong = {
        b"not json": ["not JSON", "'not json'", "--raw"],
        b'{"n":': ["not JSON", "--raw"],
        b'{"n":"\xff"}': ["not JSON", "UTF-8", "--raw"],
        b'{"n":"\0"}': ["not JSON", "--raw"],
        b"\xef\xbb\xbf{}": ["not JSON", "--raw"],
        b'"' + b"x" * 1_200_000 + b'"': ["1,200,002 bytes", "the log takes 1,000,000", "send the large part elsewhere"],
    }
    done = produce(b'{"n":1}\n\n' + b"\n".join(wrong) + b'\n{"n":2}\n')
    refused(done, 1)
    for number, (line, words) in enumerate(zip(done.stderr.splitlines(), wrong.values(), strict=True), 3):
        assert line.startswith(f"line {number}: ")
        assert all(word in line for word in words)
        assert len(line) < 300
    assert values(topic) == [b'{"n":1}', b'{"n":2}']
    assert f'{{"topic":"{topic}","sent":2,"refused":6}}' in done.stdout


def test_many_wrong_lines_are_counted(produce, topic):
    done = produce(b"wrong\n" * 25 + b"{}\n", "--format", "text")
    refused(done, 1, "line 10:", "… and 15 more", f"Sent 1 event(s) to {topic}, refused 25 line(s).")
    assert "line 11:" not in told(done)


def test_a_line_without_the_field_for_the_key_is_told(produce, topic):
    done = produce(b'{"id":1}\n{"name":"x","at":5}\n[1]\n{}\n', "--key", "id")
    refused(done, 1, "line 2: there is no field 'id' for the key among name, at", "line 3: only objects", "line 4:")
    assert values(topic) == [b'{"id":1}']


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--raw", "--key", "id"], ["--key", "lines sent with --raw have no fields"]),
        (["--header", "trace"], ["--header", "'trace' is not NAME=VALUE"]),
        (["--header", "=x"], ["--header", "'=x' is not NAME=VALUE"]),
    ],
    ids=" ".join,
)
def test_wrong_options_are_refused_before_anything_is_sent(produce, topic, options, words):
    refused(produce(b"{}\n", *options), 2, *words)
    assert values(topic) == []


def test_a_file_that_is_not_there(cli, topic):
    refused(cli("topic", "produce", topic, "nowhere"), 2, "nowhere cannot be read: No such file", "standard input")


def test_a_folder_instead_of_a_file(cli, topic, tmp_path):
    refused(cli("topic", "produce", topic, str(tmp_path)), 2, f"{tmp_path} cannot be read: Is a directory")


def test_a_header_that_is_no_text_is_sent_as_its_bytes(headrace, topic):
    assert row(headrace("topic", "produce", topic, "--header", "x=\udcff", input="{}"))["sent"] == 1
    assert [event.headers for event in events(topic)] == [{"x": "\udcff"}]


@pytest.mark.parametrize("header", ["\udcff=1", "no-value", "=x"])
def test_a_header_that_is_none_is_refused(headrace, topic, header):
    done = headrace("topic", "produce", topic, "--header", header, input='{"a": 1}\n')
    assert done.returncode in (1, 2)
    assert "header" in done.stderr
    assert "Traceback" not in done.stderr
