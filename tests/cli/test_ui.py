import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.outcome import refused, row
from tests.web.client import Client

HEADRACE = Path(sys.executable).with_name("headrace")


@pytest.fixture
def home(tmp_path):
    return {"HEADRACE_HOME": str(tmp_path / "home")}


def start(home, *arguments):
    command = [HEADRACE, "ui", *arguments]
    return subprocess.Popen(
        command, env={**os.environ, **home}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_dashboard_runs_until_it_is_told_to_end(cli, home, tmp_path, end):
    folder = tmp_path / "home"
    with start(home) as process:
        told = json.loads(process.stdout.readline())
        token = Path(told["token_file"]).read_text()
        assert stat.S_IMODE(Path(told["token_file"]).stat().st_mode) == 0o600
        assert Client(told["url"], token).get("/api/overview")["health"] == "empty"
        status = cli("status", env=home)
        assert json.loads(status.stdout)["ui"] == {"url": told["url"], "pid": process.pid}
        assert f"dashboard {told['url']}" in " ".join(cli("status", "--format", "text", env=home).stderr.split())
        refused(cli("ui", env=home), 1, "runs already", told["url"])
        process.send_signal(end)
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")
    assert not (folder / "ui.json").exists()
    assert json.loads(cli("status", env=home).stdout)["ui"] is None


def test_a_stream_that_is_open_does_not_keep_it_from_ending(home):
    with start(home) as process:
        told = json.loads(process.stdout.readline())
        client = Client(told["url"], Path(told["token_file"]).read_text())
        with client.stream("/api/live") as events:
            next(events)
            process.terminate()
            assert process.wait(20) == 0


def test_a_dashboard_that_was_killed_is_not_told_any_more(cli, home):
    with start(home) as process:
        process.stdout.readline()
        process.kill()
    assert json.loads(cli("status", env=home).stdout)["ui"] is None
    with start(home) as process:
        assert json.loads(process.stdout.readline())["url"]
        process.terminate()


def test_people_get_the_address_with_the_token_and_programs_do_not(home, tmp_path):
    with start(home, "--format", "text") as process:
        line = process.stderr.readline()
        token = (tmp_path / "home" / "ui.token").read_text()
        assert line.startswith("Dashboard: http://127.0.0.1:")
        assert line.endswith(f"/#token={token}\n")
        process.terminate()
    with start(home) as process:
        assert token not in process.stdout.readline()  # the same one as before
        assert (tmp_path / "home" / "ui.token").read_text() == token
        process.terminate()


def test_the_browser_is_shown_a_file_that_others_cannot_read(home, tmp_path):
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.new && mv {opened}.new {opened}\n')
    browser.chmod(0o755)
    with start({**home, "BROWSER": str(browser)}, "--open") as process:
        process.stdout.readline()
        while not opened.exists():
            assert process.poll() is None
        token = (tmp_path / "home" / "ui.token").read_text()
        assert token not in opened.read_text()
        page = Path(opened.read_text().removeprefix("file://"))
        assert f"#token={token}" in page.read_text()
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        process.terminate()
    assert not page.exists()


def test_reports_are_served(home, tmp_path):
    report = tmp_path / "sales"
    report.mkdir()
    (report / "report.json").write_text('{"title": "Sales"}')
    (report / "report.js").write_text("export {};")
    with start(home, "--report", str(report)) as process:
        told = json.loads(process.stdout.readline())
        client = Client(told["url"], Path(told["token_file"]).read_text())
        assert client.get("/api/reports") == [{"name": "sales", "title": "Sales"}]
        process.terminate()


def test_other_addresses_only_if_told_and_with_a_warning(home):
    with start(home, "--host", "0.0.0.0") as process:
        told = json.loads(process.stdout.readline())
        assert "is not encrypted" in process.stderr.readline()
        client = Client(told["url"], Path(told["token_file"]).read_text())
        assert client.get("/api/overview")["health"] == "empty"
        answer = client.ask("GET", "/", headers={"Host": f"evil.example:{client.port}"})
        assert answer.status == 421
        process.terminate()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--port", "70000"), ["--port"]),
        (("--host", "no such host"), ["is no address of this machine"]),
        (("--host", "192.0.2.1"), ["cannot listen on port 0 of 192.0.2.1"]),
        (("--report", "nowhere"), ["nowhere is no report: it has no report.json"]),
    ],
)
def test_wrong_use_is_told(cli, home, arguments, words):
    refused(cli("ui", *arguments, env=home), 2, *words)


def test_status_of_a_broker_has_the_dashboard_too(cli, cluster):
    assert "ui" in row(cli("status"))
