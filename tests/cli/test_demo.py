import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from headrace.core.settings import Settings
from headrace.log.broker.cluster import Cluster
from tests.cli.outcome import refused


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("demo home")


@pytest.fixture(scope="module")
def alone(home):
    """A demo that starts a broker of its own, and goes on while other tests run."""
    command = [Path(sys.executable).with_name("headrace"), "demo", "--seconds", "6"]
    env = {**os.environ, "HEADRACE_HOME": str(home)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env, cwd=home) as demo:
        yield demo


@pytest.mark.usefixtures("alone")
def test_a_broker_that_ran_before_goes_on_running(headrace, cluster):
    done = headrace("demo", "--seconds", "1")
    assert done.returncode == 0
    assert "The broker goes on running; 'headrace down' stops it." in done.stderr
    assert cluster.running()


@pytest.mark.parametrize("option", ["--seconds", "--rate"])
@pytest.mark.parametrize("value", ["0", "-5", "many"])
def test_wrong_options_are_refused(cli, option, value):
    refused(cli("demo", option, value), 2, option)


def test_it_shows_four_partitions_and_a_reader_that_catches_up(alone, home):
    shown, told = alone.communicate(timeout=60)
    assert (alone.returncode, "Traceback" in told) == (0, False), told
    lines = [re.findall(r"(\d): +([\d,]+) read, lag +([\d,]+)", line) for line in shown.splitlines()]
    assert all([partition for partition, _, _ in line] == ["0", "1", "2", "3"] for line in lines)
    assert any(lag != "0" for _, _, lag in lines[1])
    assert sum(int(read.replace(",", "")) for _, read, _ in lines[-1]) > 500
    assert "revenue" in shown
    assert "Stopped the broker" in told
    assert Cluster(Settings.load(home=home)).running() is None
    assert not [p for p in psutil.process_iter(["cmdline"]) if str(home) in " ".join(p.info["cmdline"] or [])]
