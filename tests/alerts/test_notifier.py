"""People are told: by mail and by webhook, together, not too often, and in the end always."""

import json
import logging
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from headrace.alerts import AlertLog, Notifier
from headrace.alerts.pending import Pending
from headrace.alerts.targets import target_of, targets_of, try_all
from headrace.core.errors import ConfigError
from tests.alerts.receiver import Hook, Mail, listening, receiving, text_of
from tests.alerts.samples import alert, write

SECRET = "a secret of enough letters"
NOTIFYING = Path(__file__).with_name("notifying.py")


@pytest.fixture
def mail():
    with receiving(Mail()) as mail:
        yield mail


@pytest.fixture
def hook():
    with listening(Hook()) as hook:
        yield hook


@pytest.fixture
def notify(alerts):
    """Start a notifier of the test's topic."""
    with ExitStack() as stack:
        yield lambda *targets, gather="300 ms", every="0 seconds": stack.enter_context(
            Notifier(None, targets, topic=alerts, secret=SECRET, allow_private=True, gather=gather, every=every)
        )


def rules_of(hook):
    return [one["rule"] for request in hook.came for one in json.loads(request.body)["alerts"]]


def until(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def test_an_alert_is_told_by_mail_and_by_webhook(alerts, notify, mail, hook):
    notify(mail.url, hook.url)
    write(alerts, alert(severity="critical", message="only <3> & left"))
    (letter,) = mail.wait(1)
    assert letter["Subject"] == "Headrace: 1 firing: low"
    assert letter["To"] == "ops@example.org"
    assert "only &lt;3&gt; &amp; left" in text_of(letter) or "only <3> & left" in text_of(letter)
    told = json.loads(hook.wait(1)[0].body)
    assert [one["alert"] for one in told["alerts"]] == ["retail/low/S01"]
    write(alerts, alert(state="resolved"))
    assert mail.wait(2)[1]["Subject"] == "Headrace: 1 resolved: low"
    assert json.loads(hook.wait(2)[1].body)["resolved"] == 1


def test_a_hundred_alerts_at_once_are_few_messages(alerts, notify, mail, hook):
    notify(mail.url, hook.url, gather="1 second")
    write(alerts, *(alert(key=f"S{n:02}", since=n % 60) for n in range(100)))
    until(lambda: sum(json.loads(r.body)["firing"] for r in hook.came) == 100)
    assert len(hook.came) <= 3
    mail.wait(1)
    assert "shows them all" in text_of(mail.came[0])
    assert len(mail.came) <= 3


def test_messages_come_no_more_often_than_told(alerts, notify, hook):
    notify(hook.url, gather="0 seconds", every="2 seconds")
    begun = time.monotonic()
    for n in range(20):
        write(alerts, alert(key=f"S{n}"))
        time.sleep(0.1)
    until(lambda: sum(json.loads(r.body)["firing"] for r in hook.came) == 20)
    assert len(hook.came) <= 2 + (time.monotonic() - begun) / 2


def test_a_repeat_is_told_once(alerts, notify, hook):
    notify(hook.url, gather="0 seconds")
    write(alerts, alert("a"))
    hook.wait(1)
    write(alerts, alert("a"))
    write(alerts, alert("b"))
    hook.wait(2)
    assert [one["rule"] for r in hook.came for one in json.loads(r.body)["alerts"]] == ["a", "b"]


def test_what_was_before_the_notifier_is_history(alerts, notify, hook):
    write(alerts, alert("old"))
    notify(hook.url)
    write(alerts, alert("new"))
    assert [one["rule"] for one in json.loads(hook.wait(1)[0].body)["alerts"]] == ["new"]


def test_a_target_that_is_away_gets_it_when_it_is_back_and_others_do_not_wait(alerts, notify, mail, caplog):
    caplog.set_level(logging.WARNING, "headrace.alerts")
    away = Hook()
    with listening(away):
        pass
    notifier = notify(away.url, mail.url)
    write(alerts, alert("first"))
    mail.wait(1)
    until(lambda: any(one["error"] for one in notifier.status()))
    write(alerts, alert("second"))
    mail.wait(2)
    assert "did not take it" in caplog.text and "trying again in" in caplog.text
    with listening(away):
        until(lambda: {one["rule"] for r in away.came for one in json.loads(r.body)["alerts"]} == {"first", "second"})
        assert len(mail.came) == 2
        until(lambda: not any(one["error"] for one in notifier.status()))


def test_a_mail_server_that_is_away_gets_it_when_it_is_back(alerts, notify):
    mail = Mail()
    with receiving(mail):
        pass
    notifier = notify(mail.url)
    write(alerts, alert("late"))
    until(lambda: notifier.status()[0]["error"])
    with receiving(mail):
        assert mail.wait(1)[0]["Subject"] == "Headrace: 1 firing: late"


def test_pauses_grow(alerts, notify, hook, caplog):
    caplog.set_level(logging.WARNING, "headrace.alerts")
    hook.status = 500
    notify(hook.url)
    write(alerts, alert())
    hook.wait(3)
    until(lambda: caplog.text.count("trying again") >= 3)
    pauses = [record.args[1] for record in caplog.records]
    assert pauses[:3] == [1, 2, 4]


def test_one_that_is_killed_loses_nothing(alerts):
    hook = Hook()
    with listening(hook):
        pass
    command = [sys.executable, str(NOTIFYING), alerts, hook.url, "0 seconds"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "ready\n"
        write(alerts, alert("while it could not be told"))
        time.sleep(2)  # it tries, in vain
        first.kill()
    write(alerts, alert("while nobody was there"))
    with listening(hook), subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as second:
        until(lambda: len({one["id"] for r in hook.came for one in json.loads(r.body)["alerts"]}) == 2, 60)
        second.kill()


def test_of_two_with_the_same_target_one_tells(alerts, notify, hook):
    notify(hook.url, gather="0 seconds")
    notify(hook.url, gather="0 seconds")
    for n in range(5):
        write(alerts, alert(key=f"S{n}"))
    until(lambda: sum(json.loads(r.body)["firing"] for r in hook.came) >= 5)
    time.sleep(1)
    assert sum(json.loads(r.body)["firing"] for r in hook.came) == 5


def test_what_is_silenced_is_not_told_until_the_silence_is_over(alerts, log, notify, hook):
    notify(hook.url, gather="0 seconds")
    known = log.silence("a", span="1 hour", by="ann")
    write(alerts, alert("a"))
    write(alerts, alert("b"))
    hook.wait(1)
    assert [one["rule"] for one in json.loads(hook.came[0].body)["alerts"]] == ["b"]
    log.unsilence(known)
    assert [one["rule"] for one in json.loads(hook.wait(2)[1].body)["alerts"]] == ["a"]


def test_what_was_silenced_is_told_by_whoever_runs_when_the_silence_is_over(alerts, log, notify, hook):
    first = notify(hook.url, gather="0 seconds")
    known = log.silence("a", span="1 hour", by="ann")
    write(alerts, alert("a"), alert("b"))
    hook.wait(1)
    first.stop()
    log.unsilence(known)
    notify(hook.url, gather="0 seconds")
    notify(hook.url, gather="0 seconds")
    hook.wait(2)
    write(alerts, alert("c"))
    hook.wait(3)
    assert rules_of(hook) == ["b", "a", "c"]


def test_that_something_resolved_is_not_told_to_those_who_never_heard_of_it(alerts, log, notify, hook):
    notify(hook.url, gather="0 seconds")
    known = log.silence("a", span="1 hour", by="ann")
    write(alerts, alert("a"), alert("b"))
    hook.wait(1)
    with AlertLog(topic=alerts) as other:
        group = f"{alerts}.notify.{next(iter(targets_of([hook.url], SECRET, True)))}"
        until(lambda: other.current() and other.held(group))
    write(alerts, alert("a", state="resolved"))
    log.unsilence(known)
    write(alerts, alert("c"))
    hook.wait(2)
    assert rules_of(hook) == ["b", "c"]


def test_a_storm_keeps_nobody_from_hearing_of_the_worst():
    pending = Pending()
    for n in range(6000):
        pending.add(alert(key=str(n)), n)
    worst = alert("worst", severity="critical")
    assert not pending.has_room(alert(key="another")) and pending.has_room(worst)
    pending.add(worst, 6000)
    assert worst in [one for one, _ in pending] and (pending.more, len(pending)) == (1000, 6001)


def test_what_is_silenced_is_not_counted_in_a_storm_either(alerts, log, notify, hook, monkeypatch):
    monkeypatch.setattr("headrace.alerts.pending._MOST", 3)
    known = log.silence("a", span="1 hour", by="ann")
    notify(hook.url, gather="1 second")
    write(alerts, *(alert("a", key=f"S{n}") for n in range(9)), alert("b", severity="critical"))
    (told,) = (json.loads(request.body) for request in hook.wait(1))
    assert (told["more"], [one["rule"] for one in told["alerts"]]) == (0, ["b"])
    log.unsilence(known)
    until(lambda: len(rules_of(hook)) == 10)


def test_it_stops_at_once_even_while_it_cannot_tell(alerts, notify):
    hook = Hook()
    with listening(hook):
        pass
    notifier = notify(hook.url)
    write(alerts, alert())
    until(lambda: notifier.status()[0]["error"])
    begun = time.monotonic()
    notifier.stop()
    assert time.monotonic() - begun < 3


def test_what_has_come_is_told_before_it_stops(alerts, notify, hook):
    notifier = notify(hook.url, gather="1 hour")
    write(alerts, alert())
    until(lambda: notifier.status()[0]["waiting"])
    notifier.stop()
    assert [one["rule"] for one in json.loads(hook.wait(1)[0].body)["alerts"]] == ["low"]


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("nonsense://x", "apprise does not understand the target 'nonsense'"),
        ("", "must be text like"),
        (7, "must be text like"),
        ("json://example.org/path", "unsigned webhook; write https://"),
        ("x" * 100_000, "must be text like"),
        (f"mailto://{'x' * 100_000}", "apprise does not understand the target 'mailto'"),
        ("https://", "must be https://host/path"),
    ],
)
def test_a_target_that_is_none_is_refused_at_once(target, why):
    with pytest.raises(ConfigError, match=why) as error:
        target_of(target, SECRET, False)
    assert len(str(error.value)) < 400


def test_passwords_are_not_shown():
    target = target_of("mailto://me:pa55word@example.org?to=you@example.org", None, False)
    assert "pa55word" not in target.name and "example.org" in target.name


def test_a_trial_says_what_happened_to_each(mail, hook):
    hook.status = 404
    urls = [mail.url, hook.url, "nonsense://secret"]
    first, second, third = try_all(urls, SECRET, allow_private=True)
    assert (first["sent"], first["error"]) == (True, None)
    assert not second["sent"] and "answers 404" in second["error"]
    assert not third["sent"] and "does not understand" in third["error"]
    assert mail.wait(1)[0]["Subject"] == "Headrace: a test notification"
    assert json.loads(hook.came[0].body)["test"] is True
    (private,) = try_all([hook.url], SECRET, allow_private=False)
    assert "private address" in private["error"]
