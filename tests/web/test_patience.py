"""Whoever holds a connection without using it loses it, and nobody else notices."""

import socket
import time
from contextlib import ExitStack

import pytest

from headrace.log import Producer
from headrace.web.patience import Patient
from headrace.web.serving import _CONNECTIONS
from tests.web.conftest import until
from tests.web.test_tail import streams

HALF = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
WHOLE = HALF + b"\r\n"


@pytest.fixture
def hurried(monkeypatch):
    monkeypatch.setattr(Patient, "asking", 1.0)
    monkeypatch.setattr(Patient, "taking", 1.0)


def ended(connection):
    """Wait until the other side has closed, and return what it said before."""
    connection.settimeout(30)
    heard = b""
    try:
        while piece := connection.recv(65536):
            heard += piece
    except ConnectionResetError:
        pass
    return heard


@pytest.mark.parametrize("said", [b"", b"G", HALF], ids=["nothing", "a letter", "half a head"])
def test_connections_without_a_request_do_not_shut_others_out(alone, hurried, said):
    with ExitStack() as held:
        for _ in range(_CONNECTIONS):
            connection = held.enter_context(socket.create_connection((alone.host, alone.port), timeout=30))
            connection.sendall(said)
        until(lambda: alone.ask("GET", "/").status == 200, 20)
        assert ended(connection) == b""


def test_a_head_that_comes_drop_by_drop_is_not_waited_for(alone, hurried):
    with socket.create_connection((alone.host, alone.port)) as connection, pytest.raises(OSError, match=r"eset|roken"):
        for _ in range(200):
            connection.sendall(b"G")
            time.sleep(0.05)


def test_the_next_request_of_a_connection_is_not_waited_for_either(alone, hurried):
    with socket.create_connection((alone.host, alone.port), timeout=30) as connection:
        connection.sendall(WHOLE + HALF)
        assert ended(connection).startswith(b"HTTP/1.1 200")


def test_an_answer_may_take_longer_than_a_request(alone, hurried):
    with alone.stream("/api/live") as events:
        assert [name for _, (name, _) in zip(range(8), events, strict=False)]


def test_a_reader_that_stops_reading_loses_its_place(ui, topic, hurried):
    until(lambda: streams(ui) == 0)
    with Producer() as producer:
        for _ in range(2_000):
            producer.send(topic, {"text": "x" * 10_000})
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((ui.host, ui.port))
        head = f"GET /api/topics/{topic}/tail?from=%7B%7D HTTP/1.1\r\nHost: {ui.name}\r\n"
        connection.sendall(f"{head}Authorization: Bearer {ui.token}\r\n\r\n".encode())
        until(lambda: streams(ui) == 1)
        until(lambda: streams(ui) == 0)
