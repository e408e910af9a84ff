"""A client of the dashboard's server that can also do what no browser would."""

import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Asks over real HTTP."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self.host, self.port = parts.hostname or "", parts.port or 0
        self.token = token

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send exactly these headers, and Host unless they have it."""
        with closing(http.client.HTTPConnection(self.host, self.port, timeout=60)) as connection:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            given = {"Host": self.name, **(headers or {})}
            if body is not None:
                given.setdefault("Content-Length", str(len(body)))
            for name, value in given.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())

    def get(self, path: str, **query: Any) -> Any:
        """Return what is answered in JSON to one who has the token."""
        answer = self.answer(path, **query)
        assert answer.status == 200, answer
        return answer.json

    def answer(self, path: str, **query: Any) -> Answer:
        where = f"{path}?{urlencode(query)}" if query else path
        return self.ask("GET", where, headers=self.authorised)

    def post(self, path: str, body: Any) -> Answer:
        headers = {**self.authorised, "Content-Type": "application/json"}
        return self.ask("POST", path, json.dumps(body).encode(), headers)

    @property
    def authorised(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def raw(self, request: bytes) -> bytes:
        """Send bytes as they are, and return all that comes back until the server closes."""
        with socket.create_connection((self.host, self.port), timeout=30) as connection:
            connection.sendall(request)
            received = b""
            try:
                while piece := connection.recv(65536):
                    received += piece
            except ConnectionResetError:
                pass
            return received

    @contextmanager
    def stream(self, path: str, **query: Any) -> "Iterator[Iterator[tuple[str, Any]]]":
        """Open a stream of events; leaving the block closes the connection."""
        where = f"{path}?{urlencode(query)}" if query else path
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            connection.request("GET", where, headers=self.authorised)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            assert answer.headers["content-type"].startswith("text/event-stream")
            yield _events(answer)
        finally:
            if connection.sock is not None:
                connection.sock.close()
            connection.close()


def _events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    name = ""
    while line := answer.readline():
        kind, _, rest = line.decode().rstrip("\n").partition(": ")
        if kind == "event":
            name = rest
        elif kind == "data":
            yield name, json.loads(rest)
