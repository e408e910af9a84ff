from pathlib import Path

import pytest

from headrace.core.errors import ConfigError
from headrace.core.settings import Settings


@pytest.fixture
def write(tmp_path):
    def write(text: str | bytes) -> Path:
        (tmp_path / "headrace.toml").write_bytes(text.encode() if isinstance(text, str) else text)
        return tmp_path

    return write


def test_without_any_there_are_defaults(tmp_path):
    found = Settings.load(tmp_path, env={})
    assert found == Settings()
    assert (found.home, found.brokers, found.durability) == (Path(".headrace"), None, None)


def test_arguments_win_over_variables_over_the_file(write):
    folder = write('brokers = "file:1"')
    env = {"HEADRACE_BROKERS": "variable:1"}
    assert Settings.load(folder, env={}).brokers == "file:1"
    assert Settings.load(folder, env=env).brokers == "variable:1"
    assert Settings.load(folder, env=env, brokers="argument:1").brokers == "argument:1"
    assert Settings.load(folder, env=env, brokers=None).brokers == "variable:1"


def test_an_empty_variable_is_none(write):
    assert Settings.load(write('brokers = "file:1"'), env={"HEADRACE_BROKERS": ""}).brokers == "file:1"


def test_the_current_folder_and_environment_count_unless_told(write, monkeypatch):
    monkeypatch.chdir(write('durability = "power"'))
    monkeypatch.setenv("HEADRACE_BROKERS", "kafka:9092")
    found = Settings.load()
    assert (found.durability, found.brokers) == ("power", "kafka:9092")


def test_folders_are_relative_to_the_file(write, monkeypatch):
    monkeypatch.setenv("HOME", "/somebody")
    folder = write('home = "data"\njars = "~/jars"')
    found = Settings.load(folder, env={})
    assert (found.home, found.jars) == (folder / "data", Path("/somebody/jars"))
    assert Settings.load(folder, env={"HEADRACE_HOME": "/abs"}).home == Path("/abs")


def test_settings_for_kafka_clients_are_kept_as_they_are(write):
    folder = write('[kafka]\n"security.protocol" = "SSL"\n"socket.timeout.ms" = 5\n"enable.ssl" = true')
    assert Settings.load(folder, env={}).kafka == {
        "security.protocol": "SSL",
        "socket.timeout.ms": 5,
        "enable.ssl": True,
    }


@pytest.mark.parametrize(
    ("given", "kept"),
    [("a:1", "a:1"), (" a:1 , b:65535", "a:1,b:65535"), ("[::1]:9092", "[::1]:9092"), ("10.0.0.1:9", "10.0.0.1:9")],
)
def test_broker_addresses(tmp_path, given, kept):
    assert Settings.load(tmp_path, env={"HEADRACE_BROKERS": given}).brokers == kept


@pytest.mark.parametrize(
    "given", ["nonsense", ":9092", "host:", "host:0", "host:65536", "host:-1", "host:x", "a:1,,b:2", "h:" + "9" * 5000]
)
def test_what_is_no_broker_address_is_refused(tmp_path, given):
    with pytest.raises(ConfigError, match=r"is not a broker address; write HEADRACE_BROKERS.* as host:port"):
        Settings.load(tmp_path, env={"HEADRACE_BROKERS": given})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("home = \n", r"headrace\.toml is not valid TOML: .* line 1.*; correct it"),
        (b"\xff\xfe", r"headrace\.toml is not valid TOML.*; correct it"),
        (
            'hom = "x"\nbroker = "y"',
            "has unknown settings broker, hom; known are home, brokers, jars",
        ),
        ("brokers = 9092", "brokers must be text, not 9092"),
        ('brokers = ["a:1"]', r"brokers must be text, not \['a:1'\]"),
        ("home = true", "home must be text, not True"),
        ('durability = "strong"', "durability must be 'process' or 'power', not 'strong'"),
        ('kafka = "SSL"', "kafka must be a table of client settings .*, not str"),
        ('[kafka]\nsecurity.protocol = "SSL"', "security in it is not text.*; put names with dots into quotes"),
        ("[kafka]\nservers = [1, 2]", "kafka must be a table of client settings"),
        ('home = "~nobody-of-that-name/x"', "the setting home is ~nobody-of-that-name/x, .* write the whole path"),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_wrong(write, text, told):
    folder = write(text)
    with pytest.raises(ConfigError, match=told):
        Settings.load(folder, env={})


@pytest.mark.parametrize(
    "text",
    [
        '[kafka]\nsecurity.protocol = "SASL_SSL"\n"sasl.password" = "pa55"',
        '[kafka]\nsasl.password = "pa55"',
        '[[kafka]]\n"sasl.password" = "pa55"',
        'alerts = "mailto://me:pa55@host"',
    ],
)
def test_a_mistake_does_not_show_a_password(write, text):
    with pytest.raises(ConfigError) as error:
        Settings.load(write(text), env={})
    assert "pa55" not in str(error.value)


def test_settings_do_not_show_passwords(write):
    found = Settings.load(write('[kafka]\n"sasl.password" = "pa55"'), env={})
    assert found.kafka == {"sasl.password": "pa55"}
    assert "pa55" not in repr(found)


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "headrace.toml").mkdir()
    with pytest.raises(ConfigError, match=r"headrace\.toml cannot be read: Is a directory"):
        Settings.load(tmp_path, env={})


def test_who_is_told_of_alerts(write):
    folder = write(
        '[alerts]\nnotify = ["mailto://me:pa55@host", "https://h/"]\nallow_private = true\nevery = "1 minute"'
    )
    found = Settings.load(folder, env={"HEADRACE_ALERTS_SECRET": "shhhh"}).alerts
    assert (found.notify, found.allow_private) == (("mailto://me:pa55@host", "https://h/"), True)
    assert (found.secret, found.gather, found.every) == ("shhhh", "5 seconds", "1 minute")
    assert "pa55" not in repr(found) and "shhhh" not in repr(found)
    told = Settings.load(folder, env={"HEADRACE_ALERTS_NOTIFY": " mailto://a\nmailto://b mailto://a "}).alerts
    assert told.notify == ("mailto://a", "mailto://b") and told.allow_private


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("alerts = 7", r"alerts must be a table, \[alerts\]"),
        ('[alerts]\nnotiffy = ["a"]', "unknown settings notiffy; known are notify, secret"),
        ("[alerts]\nnotify = 7", "must be a list of addresses"),
        ("[alerts]\nnotify = [7]", "must be a list of addresses"),
        ('[alerts]\nallow_private = "no"', "must be true or false"),
        ("[alerts]\nsecret = 7", "secret in .* must be text"),
        ('[alerts]\nevery = "soon"', "'soon' is not a time span"),
    ],
)
def test_wrong_settings_of_alerts_are_refused(write, text, why):
    with pytest.raises(ConfigError, match=why):
        Settings.load(write(text), env={})
    with pytest.raises(ConfigError, match="alerts"):
        Settings.load(write("alerts = 7"), env={"HEADRACE_ALERTS_SECRET": "x"})
