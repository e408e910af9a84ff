import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import headrace as package
from headrace.log import Producer
from tests.cli.outcome import refused, rows

HEADRACE = Path(sys.executable).with_name("headrace")
NAMED = {  # what each command is called with, given the name of a topic
    "topic create": lambda name: ("topic", "create", name),
    "topic describe": lambda name: ("topic", "describe", name),
    "topic config": lambda name: ("topic", "config", name),
    "topic delete": lambda name: ("topic", "delete", name, "--yes"),
    "topic produce": lambda name: ("topic", "produce", name),
    "topic tail": lambda name: ("topic", "tail", name),
    "table get": lambda name: ("table", "get", name, "a"),
    "table query": lambda name: ("table", "query", name, "select 1"),
    "group seek": lambda name: ("group", "seek", "g", "--topic", name, "--to", "start", "--yes"),
}
UNNAMED = {
    "topic list": ("topic", "list"),
    "table list": ("table", "list"),
    "group list": ("group", "list"),
    "group describe": ("group", "describe", "g"),
    "group delete": ("group", "delete", "g", "--yes"),
    "dlq list": ("dlq", "list"),
    "dlq show": ("dlq", "show", "orders"),
    "dlq replay": ("dlq", "replay", "orders", "1", "--yes"),
}
ASKING = [make("orders") for make in NAMED.values()] + list(UNNAMED.values())  # all that need a broker


@pytest.fixture(scope="module")
def unanswered(tmp_path_factory):
    """All commands, asking where nobody answers; they take ten seconds to give up, in which other tests run."""
    commands = [("status",), ("doctor", "--format", "text"), *ASKING]
    env = {**os.environ, "HEADRACE_BROKERS": "127.0.0.1:1"}
    options = {"input": "{}\n", "capture_output": True, "text": True, "env": env, "cwd": tmp_path_factory.mktemp("cwd")}
    with ThreadPoolExecutor(len(commands)) as pool:
        yield [pool.submit(subprocess.run, (HEADRACE, *command), **options) for command in commands]


@pytest.mark.usefixtures("unanswered")
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_all_commands(cli, flag):
    done = cli(flag)
    assert done.returncode == 0
    for command in (
        "demo",
        "up",
        "down",
        "status",
        "doctor",
        "topic",
        "group",
        "run",
        "explain",
        "query",
        "dlq",
        "ui",
        "--version",
        "HEADRACE_BROKERS",
    ):
        assert command in done.stdout


@pytest.mark.parametrize(
    ("noun", "verbs"),
    [
        ("topic", ["create", "list", "describe", "delete", "produce", "tail", "config"]),
        ("group", ["list", "describe", "seek", "delete"]),
        ("query", ["list", "describe", "stop", "restart"]),
        ("table", ["list", "get", "query"]),
        ("dlq", ["list", "show", "replay"]),
    ],
)
def test_help_of_a_noun_lists_its_verbs(cli, noun, verbs):
    assert all(verb in cli(noun, "--help").stdout for verb in verbs)


@pytest.mark.parametrize(
    "command", ["demo", "up", "down", "status", "doctor", "run", "explain", "ui", "query list", *NAMED, *UNNAMED]
)
def test_every_command_explains_itself(cli, command):
    done = cli(*command.split(), "--help")
    assert done.returncode == 0
    assert f"Usage: headrace {command}" in done.stdout


def test_the_version(headrace):
    done = headrace("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"headrace {package.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nope"], ["No such command 'nope'", "headrace -h"]),
        (["topic", "nope"], ["No such command 'nope'", "headrace topic -h"]),
        (["--nope"], ["No such option: --nope"]),
        (["status", "--nope"], ["No such option: --nope"]),
        (["topic", "describe"], ["Missing argument", "NAME"]),
        (["topic", "describe", "a", "b"], ["unexpected extra argument"]),
        (["group", "seek", "g", "--to", "start"], ["Missing option '--topic'"]),
    ],
)
def test_wrong_usage(cli, arguments, words):
    refused(cli(*arguments), 2, *words)


@pytest.mark.parametrize("arguments", [[], ["topic"], ["group"]])
def test_without_a_command_there_is_help(cli, arguments):
    done = cli(*arguments)
    assert done.returncode == 2
    assert "Usage: headrace" in done.stdout


@pytest.mark.parametrize("command", [["up"], ["down"], ["status"], ["doctor"], *ASKING], ids=" ".join)
def test_a_wrong_format_is_refused(cli, command):
    refused(cli(*command, "--format", "xml"), 2, "--format", "'xml'", "'text', 'json'")


@pytest.mark.parametrize("command", ASKING, ids=" ".join)
def test_without_a_broker_it_is_told_how_to_get_one(cli, stopped, command):
    done = cli(*command, env=stopped)
    refused(done, 1, f"no broker runs in {stopped['HEADRACE_HOME']}", "headrace up", "HEADRACE_BROKERS")
    assert not Path(stopped["HEADRACE_HOME"]).exists()


@pytest.mark.parametrize("command", [["up"], ["down"], ["status"], ["demo"], *ASKING], ids=" ".join)
def test_an_address_that_is_none_is_refused(cli, command):
    done = cli(*command, env={"HEADRACE_BROKERS": "nonsense"})
    refused(done, 2, "'nonsense' is not a broker address", "HEADRACE_BROKERS", "host:port")


@pytest.mark.parametrize("name", ["", "../x", "x" * 250])
@pytest.mark.parametrize("command", NAMED)
def test_a_wrong_topic_name_is_refused(cli, cluster, command, name):
    shown = name[:60] if len(name) > 60 else repr(name)
    refused(cli(*NAMED[command](name)), 2, shown, "is not a topic name", "use 1 to 249 letters, digits")


@pytest.mark.parametrize("command", sorted(set(NAMED) - {"topic create"}))
def test_an_unknown_topic_is_told_with_how_to_create_it(cli, topic, command):
    name = topic + "x"
    words = f"there is no topic '{name}'", f"Did you mean '{topic}'", f"headrace topic create {name}"
    refused(cli(*NAMED[command](name)), 1, *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("home = \n", ["headrace.toml is not valid TOML", "line 1", "correct it"]),
        ('hom = "x"', ["unknown settings hom", "known are home, brokers"]),
        ("brokers = 9092", ["brokers must be text, not 9092"]),
        ('durability = "strong"', ["'process' or 'power', not 'strong'"]),
        ('[kafka]\nsecurity.protocol = "SSL"', ["kafka must be a table", "put names with dots into quotes"]),
        ('[kafka]\n"no.such.setting" = 1', ["no.such.setting", "[kafka] in headrace.toml"]),
        ('[kafka]\n"security.protocol" = "NOPE"', ["NOPE", "security.protocol", "[kafka] in headrace.toml"]),
    ],
)
def test_a_wrong_headrace_toml_is_told(cli, cluster, tmp_path, text, words):
    (tmp_path / "headrace.toml").write_text(text)
    refused(cli("topic", "list"), 2, *words)


@pytest.mark.parametrize("command", [["up"], ["down"], ["status"], ["demo"], *ASKING], ids=" ".join)
def test_every_command_minds_headrace_toml(cli, tmp_path, command):
    (tmp_path / "headrace.toml").write_text("= 5")
    refused(cli(*command), 2, "headrace.toml is not valid TOML")


def test_where_an_error_arose_is_shown_only_if_asked_for(headrace, stopped):
    refused(headrace("topic", "list", env=stopped), 1, "no broker runs")
    done = headrace("--debug", "topic", "list", env=stopped)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("Error: no broker runs")


def test_what_nobody_foresaw_is_one_line_too(cluster, tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [HEADRACE, "status"], stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False
        )
    assert done.returncode == 1
    assert done.stderr == (
        "Error: Headrace failed: OSError: [Errno 28] No space left on device. Run 'headrace --debug …' to see where.\n"
    )


def test_output_that_is_no_terminal_is_json_unless_told(cli, cluster):
    assert json.loads(cli("status").stdout)["brokers"]
    assert "running" in cli("status", "--format", "text").stdout.splitlines()[1]


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_reader_that_has_seen_enough_ends_tail_without_complaint(topic, tmp_path, form):
    with Producer() as producer:
        for number in range(3):
            producer.send(topic, {"n": number}, partition=0)
    command = [HEADRACE, "topic", "tail", topic, "--from", "start", "--format", form]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as tail:
        assert b'"n":0' in tail.stdout.readline()
        tail.stdout.close()  # as head -1 does; no event comes any more
        assert tail.wait(timeout=20) in (0, 1)
        assert tail.stderr.read() == b""


@pytest.mark.parametrize("arguments", [["--version"], ["topic", "list"], ["doctor", "--format", "text"]], ids=" ".join)
def test_a_reader_that_is_gone_is_no_reason_to_complain(cluster, topic, tmp_path, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([HEADRACE, *arguments], stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_commands_work_on_any_cluster_by_its_address(cli, brokers, topic, stopped):
    found = rows(cli("topic", "list", env={**stopped, "HEADRACE_BROKERS": brokers}))
    assert topic in [row["name"] for row in found]


def test_an_address_where_nobody_answers_is_told(unanswered):
    for done in (asked.result() for asked in unanswered):
        if done.args[1] == "doctor":
            assert "FAIL  broker    no broker answers at 127.0.0.1:1" in done.stdout
            continue
        refused(done, 1, "o broker answers at 127.0.0.1:1", "HEADRACE_BROKERS")
