import json
from pathlib import Path

import pytest

from tests.cli.outcome import refused, row, told


def test_status_tells_what_runs(cli, cluster, brokers):
    report = row(cli("status"))
    (broker,) = report["brokers"]
    assert report["home"] == str(cluster.home)
    assert report["durability"] == "process"
    assert (broker["id"], broker["state"], broker["address"]) == (1, "running", brokers)
    assert broker["pid"] > 1
    assert broker["memory"] > 50_000_000
    assert broker["uptime"] > 0
    assert broker["size"] > 0
    assert Path(broker["data"]).is_dir()
    assert Path(broker["log"]).is_file()


def test_status_for_people(cli, cluster, brokers):
    done = cli("status", "--format", "text")
    titles, values = done.stdout.splitlines()
    assert titles.split() == ["id", "state", "address", "pid", "memory", "uptime", "size"]
    assert values.split()[:3] == ["1", "running", brokers]
    assert "durability process" in told(done)


@pytest.mark.parametrize("form", ["json", "text"])
def test_status_without_a_broker(cli, stopped, form):
    done = cli("status", "--format", form, env=stopped)
    refused(done, 1, f"No broker runs in {stopped['HEADRACE_HOME']}", "headrace up")
    if form == "json":
        assert json.loads(done.stdout) == {
            "home": stopped["HEADRACE_HOME"],
            "durability": None,
            "brokers": [],
            "ui": None,
        }


def test_status_of_a_cluster_that_was_configured(cli, brokers, stopped):
    report = row(cli("status", env={**stopped, "HEADRACE_BROKERS": brokers}))
    assert report == {"brokers": [{"pid": None, "address": brokers, "state": "running"}], "ui": None}


def test_up_finds_the_broker_that_runs(headrace, cluster):
    first, second = row(headrace("up")), row(headrace("up"))
    assert first["brokers"][0]["pid"] == second["brokers"][0]["pid"] == row(headrace("status"))["brokers"][0]["pid"]
    assert list(first) == ["home", "durability", "brokers"]


def test_up_for_people(cli, cluster, brokers):
    done = cli("up", "--format", "text")
    assert f"{brokers} (already running)" in done.stdout
    assert str(cluster.home) in done.stdout
    assert "headrace down" in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--brokers", "0"], ["--brokers", "greater than or equal to 1"]),
        (["--brokers", "10"], ["--brokers", "less than or equal to 9"]),
        (["--brokers", "many"], ["--brokers"]),
        (["--brokers", "3"], ["holds a cluster of 1 broker(s), not 3", "HEADRACE_HOME", "headrace down --erase"]),
        (["--durability", "strong"], ["--durability", "'process', 'power'"]),
        (["--durability", "power"], ["runs with durability 'process'", "headrace down"]),
    ],
)
def test_up_with_wrong_options(cli, cluster, options, words):
    refused(cli("up", *options), 2, *words)
    assert cluster.running()


def test_up_where_another_cluster_is_configured(cli, stopped):
    done = cli("up", env={**stopped, "HEADRACE_BROKERS": "kafka:9092"})
    refused(done, 2, "HEADRACE_BROKERS is kafka:9092", "unset it")
    assert not Path(stopped["HEADRACE_HOME"]).exists()


def test_up_in_a_home_that_is_a_file(cli, tmp_path):
    (tmp_path / "file").touch()
    done = cli("up", env={"HEADRACE_HOME": "file"})
    refused(done, 1, f"the home folder {tmp_path}/file cannot be written", "HEADRACE_HOME")


def test_up_without_java(cli, tmp_path, stopped):
    done = cli("up", env={**stopped, "JAVA_HOME": str(tmp_path)})
    refused(done, 1, f"JAVA_HOME is {tmp_path}", "Install Java 17 or 21")


def test_up_without_jars(cli, tmp_path, stopped):
    done = cli("up", env={**stopped, "HEADRACE_JARS": str(tmp_path)})
    refused(done, 1, f"HEADRACE_JARS is {tmp_path}", "kafka_2.13-4.3.1.jar", "Copy them there")


def test_up_without_a_network(cli, tmp_path, stopped):
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "https_proxy"), "http://127.0.0.1:9")
    done = cli("up", env={**stopped, **proxies, "NO_PROXY": "", "XDG_CACHE_HOME": str(tmp_path)})
    refused(done, 1, ".jar could not be fetched", "Check the network", "HEADRACE_JARS")


def test_down_where_nothing_runs(cli, stopped):
    assert row(cli("down", env=stopped)) == {"stopped": [], "erased": False}
    assert "No broker was running in" in told(cli("down", "--format", "text", env=stopped))


def test_down_erases_only_if_told_so(cli, tmp_path):
    remembered = tmp_path / "home" / "cluster.json"
    remembered.parent.mkdir()
    remembered.write_text('{"cluster_id": "x", "durability": "process", "brokers": []}')
    env = {"HEADRACE_HOME": "home"}
    refused(cli("down", "--erase", env=env), 2, f"Delete all topics and events in {tmp_path}/home?", "--yes")
    assert remembered.exists()
    assert row(cli("down", "--erase", "--yes", env=env)) == {"stopped": [], "erased": True}
    assert not remembered.exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"brokers": 5}', "\0"])
@pytest.mark.parametrize("command", ["up", "down", "status"])
def test_a_home_that_was_tampered_with_is_told(cli, tmp_path, command, text):
    (tmp_path / "cluster.json").write_text(text)
    done = cli(command, env={"HEADRACE_HOME": str(tmp_path)})
    refused(done, 2, "cluster.json cannot be understood", f"move {tmp_path} away")
