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
    command = [Path(sys.executable).with_name("headrace"), "demo", "--seconds", "5"]
    env = {**os.environ, "HEADRACE_HOME": str(home)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env, cwd=home) as demo:
        yield demo


@pytest.mark.usefixtures("alone")
def test_a_broker_that_ran_before_goes_on_running(headrace, cluster):
    done = headrace("demo", "--seconds", "1", timeout=170)
    assert done.returncode == 0
    assert "The broker goes on running; 'headrace down' stops it." in done.stderr
    assert cluster.running()


@pytest.mark.parametrize("option", ["--seconds", "--rate"])
@pytest.mark.parametrize("value", ["0", "-5", "many"])
def test_wrong_options_are_refused(cli, option, value):
    refused(cli("demo", option, value), 2, option)


def test_it_shows_the_revenue_of_shops_in_windows(alone, home):
    shown, told = alone.communicate(timeout=170)
    assert (alone.returncode, "Traceback" in told) == (0, False), told
    last = shown.splitlines()[-1]
    assert re.match(
        r"revenue from \d\d:\d\d:\d0 to \d\d:\d\d:\d0, \d+ shops \| best: (web|shop-\d\d) [\d,]+\.\d\d", last
    ), shown
    read, written = re.search(r"([\d,]+) invoices read, ([\d,]+) updates written", last).groups()
    assert int(read.replace(",", "")) > 0
    assert int(written.replace(",", "")) > 0
    assert "Stopped the broker" in told
    assert Cluster(Settings.load(home=home)).running() is None
    assert not [p for p in psutil.process_iter(["cmdline"]) if str(home) in " ".join(p.info["cmdline"] or [])]
