"""Signed webhooks: one request, to the address that was checked, bounded in time and size."""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

import orjson

from headrace.alerts.address import resolve
from headrace.alerts.message import Message
from headrace.alerts.signature import HEADER, sign
from headrace.core.errors import ConfigError, NotifyError

DELIVERY = "X-Headrace-Delivery"
_PORTS = {"http": 80, "https": 443}
_PATIENCE = 10.0  # seconds for the whole of a request
_MOST_READ = 64 * 1024  # bytes of an answer that are looked at
_LEAST_SECRET = 16
_TAKEN = range(200, 300)
_MOVED = range(300, 400)


@dataclass(frozen=True)
class Webhook:
    """A target that takes notifications by HTTP.

    Attributes:
        url: ``https://…`` or ``http://…``.
        secret: Signs what is sent.
        allow_private: Whether the host may have a private address.
        patience: Seconds for a request.
    """

    url: str = field(repr=False)
    secret: str = field(repr=False)
    allow_private: bool = False
    patience: float = _PATIENCE

    def __post_init__(self) -> None:
        _ = self._parts
        if not isinstance(self.secret, str) or len(self.secret) < _LEAST_SECRET:
            raise ConfigError(
                f"webhooks are signed: set a secret of at least {_LEAST_SECRET} characters in [alerts], "
                "or HEADRACE_ALERTS_SECRET, and give it to the receiver too"
            )

    @property
    def name(self) -> str:
        """Return the target without what may be secret of it."""
        return f"{self._parts.scheme}://{self._parts.hostname}{f':{p}' if (p := self._parts.port) else ''}/…"

    def send(self, message: Message) -> None:
        """Send a notification.

        Raises:
            NotifyError: It was not taken.
        """
        parts, body = self._parts, orjson.dumps(message.payload(), default=str)
        port = parts.port or _PORTS[parts.scheme]
        deadline = time.monotonic() + self.patience
        addresses = resolve(str(parts.hostname), port, self.allow_private)
        try:
            status, reason = self._post(addresses, body, message.delivery, deadline)
        except (OSError, http.client.HTTPException) as error:
            late = "took too long" if time.monotonic() >= deadline else str(error) or type(error).__name__
            raise NotifyError(f"{self.name} did not take it: {late}") from None
        if status in _MOVED:
            raise NotifyError(f"{self.name} answers {status}: it wants to be called elsewhere, which is not done")
        if status not in _TAKEN:
            raise NotifyError(f"{self.name} answers {status} {reason[:100]}")

    @property
    def _parts(self) -> SplitResult:
        try:
            parts = urlsplit(self.url)
            good = parts.scheme in _PORTS and parts.hostname and (parts.port is None or parts.port > 0)
        except ValueError:
            good = False
        if not good or not self.url.isprintable() or " " in self.url:
            raise ConfigError("a webhook must be https://host/path or http://host/path; one of [alerts] notify is not")
        if not self.url.isascii():
            raise ConfigError("a webhook has characters beyond ASCII; write them as %… in the path, xn--… in the host")
        if parts.username is not None or parts.password is not None:
            raise ConfigError("a webhook takes no user and password; what is sent is signed with the secret instead")
        return parts

    def _post(
        self, addresses: Sequence[tuple[str, int]], body: bytes, delivery: str, deadline: float
    ) -> tuple[int, str]:
        parts = self._parts
        connection = http.client.HTTPConnection(str(parts.hostname), addresses[0][1], timeout=self.patience)
        connection.sock = _connected(addresses, deadline)
        bomb = threading.Timer(max(0.1, deadline - time.monotonic()), _cut, (connection,))  # whatever drips on
        bomb.daemon = True
        bomb.start()
        try:
            if parts.scheme == "https":
                connection.sock = wrapped = ssl.create_default_context().wrap_socket(
                    connection.sock, server_hostname=parts.hostname, do_handshake_on_connect=False
                )
                wrapped.do_handshake()
            connection.request("POST", self._path(parts), body, self._headers(parts, body, delivery))
            answer = connection.getresponse()
            if time.monotonic() >= deadline:
                raise TimeoutError  # it was cut off in the middle of its headers
            with suppress(OSError, http.client.HTTPException):  # what it says beyond that does not matter
                answer.read(_MOST_READ)
            return answer.status, "".join(letter for letter in answer.reason if letter.isprintable())
        finally:
            bomb.cancel()
            connection.close()

    def _headers(self, parts: SplitResult, body: bytes, delivery: str) -> dict[str, str]:
        host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else str(parts.hostname)
        return {
            "Host": host if parts.port is None else f"{host}:{parts.port}",
            "Content-Type": "application/json",
            "User-Agent": "headrace",
            "Connection": "close",
            HEADER: sign(self.secret, body, int(time.time())),
            DELIVERY: delivery,
        }

    @staticmethod
    def _path(parts: SplitResult) -> str:
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _connected(addresses: Sequence[tuple[str, int]], deadline: float) -> socket.socket:
    """Connect to the first of the addresses that answers."""
    for address in addresses[:-1]:
        with suppress(OSError):
            return socket.create_connection(address, max(0.1, (deadline - time.monotonic()) / 2))
    return socket.create_connection(addresses[-1], max(0.1, deadline - time.monotonic()))


def _cut(connection: http.client.HTTPConnection) -> None:
    """End a connection under whoever reads from it; what is encrypted would end itself in another way."""
    with suppress(OSError, AttributeError):
        socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)
