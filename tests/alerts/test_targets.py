"""Targets of apprise: no way around what holds for webhooks, and nothing secret told."""

import pytest

from headrace.alerts.message import Message
from headrace.alerts.targets import target_of, targets_of, try_all
from headrace.core.errors import ConfigError, NotifyError
from tests.alerts.receiver import Hook, Mail, listening, receiving

SECRET = "a secret of enough letters"
TOKEN = "AbCdEfGhIjKlMnO"


@pytest.fixture
def hook():
    with listening(Hook()) as hook:
        yield hook


def send(url, allow_private=False):
    target_of(url, SECRET, allow_private).send(Message((), test=True))


@pytest.mark.parametrize(
    "url",
    [
        ",json://127.0.0.1:{port}/x",
        "x json://127.0.0.1:{port}/x",
        ";form://127.0.0.1:{port}/x",
        "\0json://127.0.0.1:{port}/x",
        "\u00a0xml://127.0.0.1:{port}/x",
        "JSON://127.0.0.1:{port}/x",
        "jsons://127.0.0.1:{port}/x",
        "form://127.0.0.1:{port}/x",
        "nonsense://x,json://127.0.0.1:{port}/x",
        "mailto://a json://127.0.0.1:{port}/x",
    ],
)
@pytest.mark.parametrize("allow_private", [False, True])
def test_unsigned_webhooks_are_refused_however_they_are_written(hook, url, allow_private):
    with pytest.raises(ConfigError):
        send(url.format(port=hook.port), allow_private)
    assert hook.came == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
@pytest.mark.parametrize(
    "url",
    [
        "gotify://{host}:{port}/" + TOKEN,
        "apprise://{host}:{port}/token",
        "mmost://{host}:{port}/3ccdd113474722377935511fc85d3dd4",
        "ntfy://{host}:{port}/topic",
    ],
)
def test_services_may_not_reach_this_machine_unless_allowed(hook, host, url):
    with pytest.raises(NotifyError, match=r"private address.*allow_private"):
        send(url.format(host=host, port=hook.port))
    assert hook.came == []


def test_services_reach_this_machine_where_that_is_allowed(hook):
    send(f"gotify://127.0.0.1:{hook.port}/{TOKEN}", allow_private=True)
    assert len(hook.wait(1)) == 1


def test_redirects_are_not_followed(hook):
    with listening(Hook()) as elsewhere:
        hook.status, hook.headers = 307, {"Location": elsewhere.url}
        for more in ("", "?redirect=yes"):
            with pytest.raises(NotifyError):
                send(f"gotify://127.0.0.1:{hook.port}/{TOKEN}{more}", allow_private=True)
        assert (len(hook.came), elsewhere.came) == (2, [])


def test_mail_may_go_to_a_relay_on_this_machine():
    with receiving(Mail()) as mail:
        send(mail.url)
        assert len(mail.wait(1)) == 1


@pytest.mark.parametrize("url", ["ntfy://topic-of-a-cloud", "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/"])
def test_what_is_no_host_is_not_taken_for_one(url):
    assert target_of(url, None, False).name


@pytest.mark.parametrize(
    "url",
    ["mailto:user:pa55word@host", "user:pa55word@host", "mailto:/user:pa55word@host", "pa55word", "a pa55word://"],
)
def test_what_is_not_understood_is_not_shown(url):
    (told,) = try_all([url], SECRET, allow_private=False)
    assert (told["sent"], "pa55word" in str(told)) == (False, False)
    assert "must be text like 'mailto://…'" in told["error"]


def ids(*urls):
    return list(targets_of(urls, SECRET, allow_private=False))


def test_a_corrected_password_is_no_other_target():
    for url in ("mailto://me:{}@example.org?to=you@example.org", "mailto://me@example.org?to=a@b.org&pass={}"):
        assert ids(url.format("wrong")) == ids(url.format("r%40ght")) == ids(f" {url.format('right')} ")


def test_other_targets_are_others():
    urls = [
        "mailto://me:pa55@example.org?to=you@example.org",
        "mailto://me:pa55@example.org?to=him@example.org",
        "mailto://him:pa55@example.org?to=you@example.org",
        "mailto://me:pa55@mail.example.org?to=you@example.org",
        "https://example.org/a",
        "https://example.org/b",
    ]
    assert len(set(ids(*urls))) == len(urls)
