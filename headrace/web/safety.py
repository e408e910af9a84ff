"""What stands before every request: who may ask, from where, and how much; and what every answer forbids."""

import hmac
import logging
from collections.abc import Collection, Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.web.answers import refusal

logger = logging.getLogger("headrace.web")
HEADERS = 16_384  # bytes of a request's headers and of what its address asks
LARGEST = 2_000_000  # bytes of a request's body: an event, written as JSON
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_ALWAYS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}
_UNSTORED = {b"cache-control": b"no-store"}
_NEITHER_OURS = (b"cross-site", b"same-site")
Headers = Iterable[tuple[bytes, bytes]]
Refusal = tuple[int, str]
_OTHERS: Refusal = (403, "pages of other sites may not use this server")


class Safety:
    """Lets through only what comes from the dashboard's own pages, or from programs that have the token.

    - ``Host`` must be one of ours: a foreign name that was made to point here is refused (DNS rebinding).
    - ``Origin``, where it is told, must be this very server; pages of others may not even ask.
    - Everything but the pages needs ``Authorization: Bearer TOKEN``, which no browser sends by itself.
    - Headers, addresses and bodies have a most.

    Args:
        app: What comes behind.
        token: The secret.
        hosts: Names, or names with a port, by which this server may be called.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Collection[str]) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then pass on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, _with_headers(send, secret(scope["path"])))
        else:  # there are no web sockets here
            await receive()
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (refused := self._refused(scope)) is not None:
            status, why = refused
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}  # noqa: PLR2004 - asks for the token
            await refusal(status, why, {**headers, "Connection": "close"})(scope, receive, send)
            return
        body = _Body(receive)
        answer = _Begun(send)
        try:
            await self._app(scope, body, answer)
        except Exception as error:
            if not body.too_large:
                logger.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            if answer.begun:
                raise
            too_large = (413, f"the request is too large; its body may have {LARGEST:,} bytes")
            failed = (500, f"Headrace failed: {type(error).__name__}; what the dashboard printed says where")
            status, why = too_large if body.too_large else failed
            await refusal(status, why, {"Connection": "close"})(scope, receive, send)

    def _refused(self, scope: Scope) -> Refusal | None:
        """Return with which status, and why, a request goes no further."""
        return _stranger(scope["headers"], self._hosts) or _too_large(scope) or self._uninvited(scope)

    def _uninvited(self, scope: Scope) -> Refusal | None:
        if not secret(scope["path"]):
            return None
        if any(site in _NEITHER_OURS for site in _all(scope["headers"], b"sec-fetch-site")):
            return _OTHERS
        if not self._knows_token(_all(scope["headers"], b"authorization")):
            return 401, "the token is missing or wrong; it is in ui.token in Headrace's home folder"
        return None

    def _knows_token(self, given: list[bytes]) -> bool:
        kind, _, token = (given[0] if len(given) == 1 else b"").partition(b" ")
        return hmac.compare_digest(token.strip(), self._token) and kind.lower() == b"bearer"


def _stranger(headers: Headers, ours: Collection[str]) -> Refusal | None:
    hosts, origins = _all(headers, b"host"), _all(headers, b"origin")
    if len(hosts) != 1 or not _is_ours(hosts[0], ours):
        return 421, "this server is not known by that name; open the address that 'headrace status' tells"
    if origins and origins not in ([b"http://" + hosts[0]], [b"https://" + hosts[0]]):
        return _OTHERS
    return None


def _is_ours(host: bytes, ours: Collection[str]) -> bool:
    given = host.decode("latin-1").lower()
    name, _, port = given.rpartition(":")
    return given in ours or (port.isdecimal() and name in ours)


def _too_large(scope: Scope) -> Refusal | None:
    headers: Headers = scope["headers"]
    if sum(len(name) + len(value) for name, value in headers) + len(scope["query_string"]) > HEADERS:
        return 431, f"the request's headers are too large; they may have {HEADERS:,} bytes"
    if len(scope["raw_path"]) > HEADERS // 4:
        return 414, "the request's address is too long"
    if any(not length.isdigit() or int(length[:20]) > LARGEST for length in _all(headers, b"content-length")):
        return 413, f"the request is too large; its body may have {LARGEST:,} bytes"
    return None


def secret(path: str) -> bool:
    """Whether what lies under a path is told only to those who know the token."""
    return path in ("/api", "/metrics") or path.startswith(("/api/", "/metrics/"))


class _Body:
    """Hands a request's body on, up to the most that it may have."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._size = 0
        self.too_large = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > LARGEST:
            self.too_large = True
            raise ValueError("the body is too large")
        return message


class _Begun:
    """Hands an answer on, and knows whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def __call__(self, message: Message) -> None:
        self.begun = True
        await self._send(message)


def _with_headers(send: Send, unstored: bool) -> Send:
    forbidding = {**_ALWAYS, **(_UNSTORED if unstored else {})}

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own: Headers = message.get("headers", [])
            kept = [(name, value) for name, value in own if name.lower() not in forbidding]
            message = {**message, "headers": [*kept, *forbidding.items()]}
        await send(message)

    return sending


def _all(headers: Headers, name: bytes) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name]
