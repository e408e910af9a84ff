import json
import os
import re
import subprocess
import sys
import urllib.request
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
def demo(home):
    """A demo that runs while it is looked at."""
    command = [Path(sys.executable).with_name("headrace"), "demo", "--seconds", "5", "--rate", "50"]
    env = {**os.environ, "HEADRACE_HOME": str(home)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env, cwd=home) as demo:
        yield demo


@pytest.fixture(scope="module")
def dashboard(demo):
    """Its address and token, as it tells them."""
    for line in demo.stderr:
        if found := re.match(r"Dashboard: (http://127\.0\.0\.1:\d+/)#token=(\S+)", line):
            return found.groups()
    raise AssertionError("the demo told no dashboard")


@pytest.mark.parametrize("option", ["--seconds", "--rate", "--port"])
@pytest.mark.parametrize("value", ["-5", "many"])
def test_wrong_options_are_refused(cli, option, value):
    refused(cli("demo", option, value), 2, option)


def test_the_dashboard_is_there_first_with_the_page_of_the_mesh(dashboard):
    url, token = dashboard
    asked = urllib.request.Request(f"{url}api/reports", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked, timeout=10) as answer:
        assert [report["name"] for report in json.load(answer)] == ["retail"]


def test_there_is_one_demo_at_a_time(dashboard, headrace, home):
    done = headrace("demo", env={"HEADRACE_HOME": str(home)})
    assert (done.returncode, done.stderr) == (1, f"Error: a demo runs already in {home}; end that one first\n")


def test_it_shows_revenue_and_leaves_nothing_running(demo, dashboard, home):
    shown, told = demo.communicate(timeout=300)
    assert (demo.returncode, "Traceback" in told) == (0, False), told
    last = shown.splitlines()[-1]
    line = r"\d\d:\d\d UTC [\d,]+\.\d\d € of [\d,]+ invoices \| ([\d,]+) invoices read, (\d+) queries, lag [\d,]+"
    read, queries = re.fullmatch(line, last).groups()
    assert int(read.replace(",", "")) > 0
    assert int(queries) > 9
    assert "The broker is stopped; invoices and results stay until the next demo." in told
    assert Cluster(Settings.load(home=home / "demo")).running() is None
    assert not [p for p in psutil.process_iter(["cmdline"]) if str(home) in " ".join(p.info["cmdline"] or [])]
