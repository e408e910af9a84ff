import pytest

from tests.cli.outcome import rows, told


@pytest.fixture
def surroundings(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()


def failures(done):
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    lines = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    return {name: told for state, name, told in lines if state == "FAIL"}


def test_a_machine_that_has_everything(headrace, cluster, brokers):
    checks = rows(headrace("doctor"))
    assert [check["name"] for check in checks] == ["settings", "Python", "Java", "jars", "memory", "disk", "broker"]
    assert all(check["ok"] for check in checks)
    assert f"1 at {brokers}" in checks[-1]["told"]


def test_a_machine_that_has_everything_for_people(cli, cluster):
    done = cli("doctor", "--format", "text")
    assert done.returncode == 0
    assert all(line.startswith("ok ") for line in done.stdout.splitlines())
    assert told(done) == "Everything is there."


def test_a_broker_that_does_not_run_is_no_fault(cli, cluster, stopped):
    broker = rows(cli("doctor", env=stopped))[-1]
    assert broker["ok"]
    assert "'headrace up' starts one" in broker["told"]


def test_jars_that_are_not_there_yet_are_no_fault(cli, stopped, tmp_path):
    jars = rows(cli("doctor", env={**stopped, "XDG_CACHE_HOME": str(tmp_path)}))[3]
    assert jars["ok"]
    assert f"will be fetched into {tmp_path}/headrace/jars by 'headrace up'" in jars["told"]


@pytest.mark.parametrize(
    ("env", "name", "words"),
    [
        ({"JAVA_HOME": "/nowhere"}, "Java", ["JAVA_HOME is /nowhere", "Install Java 17 or 21"]),
        ({"HEADRACE_JARS": "/nowhere"}, "jars", ["HEADRACE_JARS is /nowhere", "correct it or unset it"]),
        ({"HEADRACE_JARS": "empty"}, "jars", ["jars are not in it", "Copy them there"]),
        ({"XDG_CACHE_HOME": "file"}, "jars", ["file cannot be written", "set XDG_CACHE_HOME"]),
        ({"XDG_CACHE_HOME": "~nobody-of-that-name"}, "jars", ["set XDG_CACHE_HOME"]),
        ({"HEADRACE_HOME": "file"}, "disk", ["file cannot be written", "set HEADRACE_HOME"]),
    ],
    ids=lambda value: "",
)
@pytest.mark.usefixtures("cluster", "surroundings")
def test_what_is_wrong_is_told_with_what_to_do(cli, env, name, words):
    found = failures(cli("doctor", "--format", "text", env=env))
    assert list(found) == [name]
    assert all(word in found[name] for word in words)


def test_wrong_settings_are_told(cli, tmp_path):
    (tmp_path / "headrace.toml").write_text('hom = "x"')
    found = failures(cli("doctor", "--format", "text"))
    assert "unknown settings hom" in found["settings"]
