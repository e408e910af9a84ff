"""Webhooks: signed, bounded, and kept from where they must not go."""

import json
import socket
import threading
import time

import pytest

from headrace.alerts import verify
from headrace.alerts.address import is_public, resolve
from headrace.alerts.message import Message
from headrace.alerts.signature import sign
from headrace.alerts.webhook import DELIVERY, Webhook
from headrace.core.errors import ConfigError, NotifyError
from tests.alerts.receiver import Hook, listening
from tests.alerts.samples import alert

SECRET = "a secret of enough letters"


@pytest.fixture
def hook():
    with listening(Hook()) as hook:
        yield hook


def send(url, **options):
    Webhook(url, SECRET, **{"allow_private": True, **options}).send(Message((alert(),)))


def test_a_webhook_is_signed_over_time_and_body(hook):
    send(hook.url)
    (request,) = hook.wait(1)
    signature = request.headers["X-Headrace-Signature"]
    assert verify(SECRET, signature, request.body)
    assert not verify(SECRET, signature, request.body + b" ")
    assert not verify("another secret", signature, request.body)
    assert not verify(SECRET, signature, request.body, now=time.time() + 301)
    assert request.path == "/hook?a=1"
    told = json.loads(request.body)
    assert (told["firing"], told["resolved"], told["more"]) == (1, 0, 0)
    assert told["alerts"][0]["message"] == "S01: only 0 left"


@pytest.mark.parametrize(
    "header",
    ["", "t=1", "v1=ab", "t=x,v1=ab", "t=1,v1=é", f"t={'9' * 999},v1=a", ",,=", "t=\u0661,v1=a", "t=1,v1=\udcff"],
)
def test_a_wrong_signature_is_not_ours(header):
    assert not verify(SECRET, header, b"{}")


def test_the_time_cannot_be_changed():
    good = sign(SECRET, b"{}", 1000)
    assert verify(SECRET, good, b"{}", now=1000)
    assert not verify(SECRET, good.replace("t=1000", "t=1001"), b"{}", now=1000)


def test_the_same_notification_has_the_same_delivery(hook):
    send(hook.url)
    send(hook.url)
    first, second = hook.wait(2)
    assert first.headers[DELIVERY] == second.headers[DELIVERY]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a00:1",
        "2002:7f00:1::",
        "2001:0:0:0:0:0:80ff:fffe",
        "nonsense",
    ],
)
def test_private_addresses_are_known_in_every_dress(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111"])
def test_addresses_of_the_world_are_public(address):
    assert is_public(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "127.1", "0"])
def test_a_webhook_may_not_reach_this_machine_unless_allowed(hook, host):
    with pytest.raises(NotifyError, match=r"private address.*allow_private|no address"):
        send(f"http://{host}:{hook.port}/", allow_private=False)
    assert hook.came == []


def test_a_host_that_is_public_and_private_at_once_is_refused(monkeypatch):
    both = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in ("1.1.1.1", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
    with pytest.raises(NotifyError, match=r"10\.0\.0\.1, a private address"):
        resolve("two-faced.example", 80, allow_private=False)


def test_the_connection_goes_to_the_address_that_was_checked(hook, monkeypatch):
    """A name that changes its address after the check must not be asked again."""
    asked = []

    def answers(host, port, **_):
        asked.append(host)
        address = "127.0.0.1" if len(asked) == 1 else "127.0.0.2"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    real = socket.getaddrinfo
    either = lambda host, *a, **k: (answers if host == "moves.example" else real)(host, *a, **k)  # noqa: E731 - short
    monkeypatch.setattr(socket, "getaddrinfo", either)
    send(f"http://moves.example:{hook.port}/")
    (request,) = hook.wait(1)
    assert request.headers["Host"] == f"moves.example:{hook.port}"
    assert asked == ["moves.example"]


def test_redirects_are_not_followed(hook):
    with listening(Hook()) as elsewhere:
        hook.status, hook.headers = 302, {"Location": elsewhere.url}
        with pytest.raises(NotifyError, match="answers 302: it wants to be called elsewhere"):
            send(hook.url)
        assert elsewhere.came == []


def test_an_answer_that_refuses_is_told(hook):
    hook.status = 503
    with pytest.raises(NotifyError, match=r"http://127\.0\.0\.1:\d+/… answers 503"):
        send(hook.url)


def test_a_large_answer_is_not_read_to_its_end(hook):
    hook.answer = b"x" * 50_000_000
    send(hook.url)


def test_nobody_there_is_told():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(NotifyError, match=r"did not take it: .*refused"):
        send(f"http://127.0.0.1:{port}/")
    with pytest.raises(NotifyError, match="has no address"):
        send("http://no-such-host.invalid/")


@pytest.mark.parametrize(
    ("drip", "scheme"), [(b"", "http"), (b"H", "http"), (b"HTTP/1.1 200 OK\r\nA: b\r\n", "http"), (b"", "https")]
)
def test_a_server_that_never_ends_its_answer_is_left_in_time(drip, scheme):
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = threading.Event()

        def answer():
            connection, _ = server.accept()
            with connection:
                while not done.wait(0.05):
                    try:
                        connection.sendall(drip)
                    except OSError:
                        return

        thread = threading.Thread(target=answer)
        thread.start()
        begun = time.monotonic()
        with pytest.raises(NotifyError, match="took too long"):
            send(f"{scheme}://127.0.0.1:{server.getsockname()[1]}/", patience=0.5)
        assert time.monotonic() - begun < 5
        done.set()
        thread.join()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://", "must be https://host/path"),
        ("http://host:99999/", "must be https://host/path"),
        ("http://host:x/", "must be https://host/path"),
        ("http://a b/", "must be https://host/path"),
        ("http://host/\r\nX: y", "must be https://host/path"),
        ("ftp://host/", "must be https://host/path"),
        ("http://[::1", "must be https://host/path"),
        ("https://me:secret@host/", "takes no user and password"),
        ("https://host/caf\u00e9", "characters beyond ASCII; write them as %"),
        ("https://host/?a=\u2603", "characters beyond ASCII; write them as %"),
        ("https://caf\u0119.example/", "xn--… in the host"),
        ("https://host\udcff/", "must be https://host/path"),
    ],
)
def test_what_is_no_webhook_is_refused_at_once(url, why):
    with pytest.raises(ConfigError, match=why) as error:
        Webhook(url, SECRET)
    assert "secret@" not in str(error.value)


def test_a_secret_is_needed():
    with pytest.raises(ConfigError, match="at least 16 characters"):
        Webhook("https://example.org/", "short")


def test_neither_secret_nor_path_are_shown(hook):
    target = Webhook("https://example.org:8443/services/T0KEN?key=abc", SECRET)
    assert target.name == "https://example.org:8443/…"
    assert "T0KEN" not in repr(target) and SECRET not in repr(target)
