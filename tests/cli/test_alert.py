"""headrace alert: seen from a terminal."""

import json
import uuid

import pytest

from headrace.alerts.topics import create
from headrace.log import Topics
from tests.alerts.receiver import Hook, Mail, listening, receiving
from tests.alerts.samples import alert, write
from tests.cli.outcome import refused, row, rows, told

SECRET = {"HEADRACE_ALERTS_SECRET": "a secret of enough letters"}


@pytest.fixture
def alerts(cluster):
    name = f"alerts-{uuid.uuid4().hex[:8]}"
    with Topics() as topics:
        create(topics, name)
    write(name, alert("a"), alert("b", severity="critical"), alert("c"), alert("c", state="resolved"))
    return name


def test_list_shows_what_fires_the_worst_first(cli, alerts):
    assert [one["rule"] for one in rows(cli("alert", "list", "--topic", alerts))] == ["b", "a"]
    shown = cli("alert", "list", "--topic", alerts, "--format", "text").stdout
    assert shown.splitlines()[0].split()[:2] == ["severity", "message"]
    assert "retail/b/S01" in shown


def test_where_nothing_happened_that_is_said(cli, cluster):
    done = cli("alert", "list", "--topic", "nothing-here", "--format", "text")
    assert (done.returncode, told(done)) == (0, "Nothing fires.")
    assert told(cli("alert", "history", "--topic", "nothing-here", "--format", "text")) == "Nothing has fired yet."
    assert told(cli("alert", "silences", "--topic", "nothing-here", "--format", "text")) == "Nothing is silenced."


def test_history_shows_what_fired_and_resolved(cli, alerts):
    found = rows(cli("alert", "history", "--topic", alerts))
    assert [(one["rule"], one["state"]) for one in found[:2]] == [("c", "resolved"), ("c", "firing")]
    assert len(rows(cli("alert", "history", "--topic", alerts, "--limit", "1"))) == 1


def test_ack(cli, alerts):
    known = rows(cli("alert", "list", "--topic", alerts))[0]["id"]
    done = row(cli("alert", "ack", known, "--by", "ann", "--comment", "on it", "--topic", alerts))
    assert done == {"acked": known, "alert": "retail/b/S01"}
    assert rows(cli("alert", "list", "--topic", alerts))[0]["acked_by"] == "ann"
    said = cli("alert", "ack", known, "--topic", alerts, "--format", "text")
    assert told(said) == "Acknowledged retail/b/S01."
    refused(cli("alert", "ack", "zzzz", "--topic", alerts), 1, "no alert 'zzzz' fires now", "headrace alert list")


def test_resolve(cli, alerts):
    known = rows(cli("alert", "list", "--topic", alerts))[0]["id"]
    done = row(cli("alert", "resolve", known, "--by", "ann", "--topic", alerts))
    assert done == {"resolved": known, "alert": "retail/b/S01"}
    assert [one["rule"] for one in rows(cli("alert", "list", "--topic", alerts))] == ["a"]
    refused(cli("alert", "resolve", known, "--topic", alerts), 1, "no alert", "headrace alert list")


def test_silence_and_unsilence(cli, alerts):
    done = row(cli("alert", "silence", "a", "--for", "2 hours", "--key", "shop=S01", "--topic", alerts))
    (silence,) = rows(cli("alert", "silences", "--topic", alerts))
    assert (silence["id"], silence["rule"], silence["key"]) == (done["id"], "a", {"shop": "S01"})
    assert rows(cli("alert", "list", "--topic", alerts))[-1]["silenced_until"]
    assert "S01" in cli("alert", "silences", "--topic", alerts, "--format", "text").stdout
    assert row(cli("alert", "unsilence", done["id"], "--topic", alerts)) == {"unsilenced": done["id"]}
    assert rows(cli("alert", "silences", "--topic", alerts)) == []
    refused(cli("alert", "unsilence", done["id"], "--topic", alerts), 1, "there is no silence")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("silence", "a"), ["--for"]),
        (("silence", "a", "--for", "soon"), ["'soon' is not a time span"]),
        (("silence", "a", "--for", "1 hour", "--key", "S01"), ["--key must be column=value"]),
        (("silence", "", "--for", "1 hour"), ["rule must be text that is not empty"]),
        (("ack",), ["ID"]),
        (("resolve",), ["ID"]),
        (("history", "--limit", "0"), ["--limit"]),
        (("list", "--topic", "a b"), ["is not a topic name"]),
        (("backtest", "none.py", "a", "--from", "1 hour"), ["there is no file 'none.py'"]),
        (("backtest", "none.py", "a", "--from", "noon"), ["'noon' is not a place"]),
        (("backtest", "none.py", "a", "--from", "start"), ["--from must be a time"]),
    ],
)
def test_wrong_use_is_told(cli, cluster, arguments, words):
    refused(cli("alert", *arguments), 2, *words)


def test_without_a_broker_the_remedy_is_told(cli, stopped):
    refused(cli("alert", "list", env=stopped), 1, "no broker runs", "headrace up")


def test_a_trial_tells_of_each_target(cli):
    with receiving(Mail()) as mail, listening(Hook(status=500)) as hook:
        env = {"HEADRACE_ALERTS_NOTIFY": f"{mail.url} {hook.url}", **SECRET}
        done = cli("alert", "test", env=env)
        assert done.returncode == 1
        first, second = map(json.loads, done.stdout.splitlines())
        assert first["sent"] and not second["sent"]
        assert "private address" in second["error"] and "allow_private" in second["error"]
        assert "1 of 2 targets did not take" in told(done)
        assert mail.wait(1)[0]["Subject"] == "Headrace: a test notification"


def test_a_trial_reads_the_settings(cli, tmp_path):
    refused(cli("alert", "test"), 2, "nobody is told of alerts", "HEADRACE_ALERTS_NOTIFY")
    with listening(Hook()) as hook:
        (tmp_path / "headrace.toml").write_text(f'[alerts]\nnotify = ["{hook.url}"]\nallow_private = true\n')
        unsigned = cli("alert", "test")
        assert unsigned.returncode == 1 and "webhooks are signed: set a secret" in unsigned.stdout
        done = row(cli("alert", "test", env=SECRET))
        assert done["sent"] and done["target"].startswith("http://127.0.0.1:")
        assert json.loads(hook.wait(1)[0].body)["test"] is True


def test_backtest_tells_when_a_rule_would_have_fired(cli, headrace, tmp_path, cluster):
    topic = f"sales-{uuid.uuid4().hex[:8]}"
    (tmp_path / "program.py").write_text(
        "import headrace as hr\n"
        f"app = hr.App('{topic}')\n"
        f"sales = app.stream('{topic}', schema='shop string, units int, at timestamp', event_time='at')\n"
        "hr.Alert('low', sales, per='shop', when='units < 10')\n"
    )
    headrace("topic", "create", topic)
    events = [{"shop": "a", "units": 3 + 30 * n, "at": f"2024-05-01T10:0{n}:00Z"} for n in range(2)]
    headrace("topic", "produce", topic, input="\n".join(map(json.dumps, events)))
    done = row(cli("alert", "backtest", "program.py", "low", "--from", "1 hour"))
    assert (done["fired"], done["resolved"], done["rows"]) == (1, 1, 2)
    assert done["alerts"][0]["fired"].startswith("2024-05-01T10:00:00")
    done = cli("alert", "backtest", "program.py", "low", "--from", "2024-01-01T00:00Z", "--format", "text")
    assert '{"shop":"a"}' in done.stdout
    assert "low would have fired 1 times; 2 events were read." in done.stderr
    wrong = cli("alert", "backtest", "program.py", "high", "--from", "1 hour")
    refused(wrong, 1, "declares no alert 'high'", "low")
