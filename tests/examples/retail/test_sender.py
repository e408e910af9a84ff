"""The sender: in step with the clock, at a rate that can be turned, and with a past that stays in the past."""

import subprocess
import sys
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from examples.retail.simulator import World
from examples.retail.simulator.__main__ import main
from examples.retail.simulator.sender import Dial, checked_rate, create_topics, send_history, send_live
from headrace.core.errors import ConfigError
from headrace.log import Consumer, Producer, Topics

ROOT = Path(__file__).parents[3]
TOPICS = ("till-invoices", "supplies", "reservations", "shops-open")


def read(topic, since):
    with Consumer(topic, start=since, follow=False) as consumer:
        return list(consumer)


def test_it_sends_in_step_with_the_clock_at_a_rate_that_is_turned_on_the_way(cluster):
    create_topics()
    began, ended, told = datetime.now(UTC), threading.Event(), []

    def tell(count, rate):
        told.append((count, rate))
        if datetime.now(UTC) - began > timedelta(seconds=6):
            ended.set()

    def rate():
        return 20 if datetime.now(UTC) - began < timedelta(seconds=3) else 400

    with Producer() as producer:
        count = send_live(producer, World(5, datetime.now(UTC)), rate, ended, tell)
    assert {rate for _, rate in told} == {20, 400}
    events = [event for topic in TOPICS for event in read(topic, began)]
    assert len(events) == count
    invoices = [event for event in read("till-invoices", began) if event.value["shop"] == "WEB"]
    lags = [event.timestamp - datetime.fromisoformat(event.value["at"]) for event in invoices]
    assert max(lags) < timedelta(seconds=3)  # the web shop has no till that is slow
    seconds = Counter(event.timestamp > began + timedelta(seconds=3) for event in read("till-invoices", began))
    assert 4 * seconds[False] < seconds[True]


def test_the_past_is_sent_now_and_stays_in_the_past(cluster):
    create_topics()
    began = datetime.now(UTC)
    with Producer() as producer:
        count = send_history(producer, World(6, began).history(timedelta(hours=2), rate=5))
    events = read("till-invoices", began)
    assert len(events) + len(read("supplies", began)) == count
    assert min(datetime.fromisoformat(event.value["at"]) for event in events) < began - timedelta(minutes=90)
    assert all(datetime.fromisoformat(event.value["sent_at"]) >= began for event in events)


def test_the_past_is_sent_once_however_often_the_command_is_run(cluster):
    create_topics()
    with Topics() as topics:
        for name in ("till-invoices", "supplies"):
            topics.delete(name)
    command = [sys.executable, "-m", "examples.retail.simulator", "--rate", "5", "--history", "2 hours", "--seconds=1"]
    first, again = (
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True) for _ in range(2)
    )
    assert "events of the past 2 hours" in first.stdout
    assert again.stdout.startswith("the past is not sent: the topics have events already")
    supplies = [event.value for event in read("supplies", "earliest")]
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    old = [(row["shop"], row["product"]) for row in supplies if datetime.fromisoformat(row["at"]) < hour_ago]
    assert old
    assert len(old) == len(set(old))


def test_a_dial_is_turned_by_a_small_file_and_ignores_what_is_no_rate(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("examples.retail.simulator.sender._LOOK", 0)
    path = tmp_path / "below" / "rate"
    dial = Dial(path, 50)
    assert dial.rate == 50
    Dial(path, 1).turn(700)
    assert dial.rate == 700
    for wrong in (b"many", b"-1", b"nan", b"\xff\xfe", b"9" * 5000, b""):
        path.write_bytes(wrong)
        assert dial.rate == 700
    assert "is no rate; give invoices per second from 0" in capsys.readouterr().out
    path.write_text("0")
    assert dial.rate == 0
    path.unlink()
    assert dial.rate == 0


def test_what_was_turned_for_an_earlier_run_does_not_hold_for_the_next(tmp_path):
    (tmp_path / "rate").write_text("9999")
    assert Dial(tmp_path / "rate", 50).rate == 50


@pytest.mark.parametrize("given", ["fast", "-5", "1e9", "inf", "nan", ""])
def test_a_rate_that_cannot_be_is_refused_with_what_can(given, capsys):
    with pytest.raises(ConfigError, match="from 0 to 100,000, or max"):
        checked_rate(given)
    assert main([f"--rate={given}"]) == 1
    assert "is no rate" in capsys.readouterr().err


def test_the_command_sends_until_it_is_told_to_end(cluster, tmp_path):
    command = [sys.executable, "-m", "examples.retail.simulator", "--rate", "max", "--seconds", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("sent ")
    assert "all are acknowledged" in done.stdout
    dial = tmp_path / "rate"
    subprocess.run([*command[:3], "--turn", "250", "--dial", dial], cwd=ROOT, timeout=60, check=True)
    assert dial.read_text() == "250.0\n"
