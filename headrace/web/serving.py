"""The dashboard as a running server: in this thread, or in one of its own."""

import logging
import socket
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Self

import psutil
import uvicorn

from headrace.core.errors import ConfigError, HeadraceError
from headrace.core.settings import Settings
from headrace.web.files import STATIC
from headrace.web.home import announce, held, token_of
from headrace.web.patience import Patient
from headrace.web.safety import HEADERS
from headrace.web.server import create

if TYPE_CHECKING:
    from headrace.web.site import Site

LOOPBACK = "127.0.0.1"
_NAMES = ("localhost", "127.0.0.1", "[::1]")  # by which a machine knows itself
_CONNECTIONS = 256
_PATIENCE = 10.0  # seconds for the server to start, and for what is under way when it ends


class _Server(uvicorn.Server):
    """Ends streams, which would last for ever, before it waits for what is under way."""

    site: "Site"

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        self.site.streams.ending.set()
        await super().shutdown(sockets)


class Serving:
    """The dashboard of a home: its server, its token and its address.

    Either `run` it, until Ctrl-C or SIGTERM, or use it as a context manager: then it serves from a thread.

    Args:
        settings: Where the log and the programs are.
        host: The address to listen on; only this machine reaches the default.
        port: A free one unless given.
        reports: Folders of reports.
        static: The folder of the pages.

    Raises:
        AlreadyRunningError: This home has a dashboard already.
        ConfigError: The address cannot be listened on, or a report is none.

    Attributes:
        url: Where it is.
        token: What requests must know.

    Example:
        >>> with Serving(Settings.load()) as ui:  # doctest: +SKIP
        ...     print(ui.link)
    """

    def __init__(
        self,
        settings: Settings,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        reports: Iterable[str | Path] = (),
        static: Path = STATIC,
    ) -> None:
        self._home = settings.home.absolute()
        with ExitStack() as stack:
            stack.enter_context(held(self._home))
            self._socket = stack.enter_context(_listening(host, port))
            self.token = token_of(self._home)
            number: int = self._socket.getsockname()[1]
            self.url = f"http://{_shown(host)}:{number}/"
            app = create(settings, token=self.token, hosts=names(host), reports=reports, static=static)
            self._server = _Server(_config(app))
            self._server.site = app.state.site
            self._stack = stack.pop_all()
        self._thread = threading.Thread(target=self._serve, name="headrace-ui", daemon=True)

    @property
    def link(self) -> str:
        """Return the address with the token, which the page takes out of it at once."""
        return f"{self.url}#token={self.token}"

    def run(self) -> None:
        """Serve until a signal ends it."""
        with self._stack:
            announce(self._home, self.url)
            self._server.run(sockets=[self._socket])

    def __enter__(self) -> Self:
        self._thread.start()
        deadline = time.monotonic() + _PATIENCE
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self.close()
                raise HeadraceError("the dashboard did not start; the log 'headrace.web' says why")
            time.sleep(0.01)
        announce(self._home, self.url)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server and everything it follows."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(2 * _PATIENCE)
        self._stack.close()

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])


def names(host: str) -> set[str]:
    """Return the names by which a server that listens on ``host`` may be called.

    On all addresses of a machine, these are its own addresses and its own name: whoever makes a name of theirs point
    here is refused.
    """
    known = {*_NAMES, _shown(host)}
    if not _is_any(host):
        return known
    found = [address.address for addresses in psutil.net_if_addrs().values() for address in addresses]
    return known | {_shown(each) for each in found if _is_address(each)} | {socket.gethostname(), socket.getfqdn()}


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


def _listening(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, address = sorted(found, key=lambda one: one[0] != socket.AF_INET)[0]
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"{host!r} is no address of this machine: {error}") from None
    server = socket.socket(family, socket.SOCK_STREAM)
    try:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(address)
        server.listen()  # at once: a port that others could still take is none
    except (OSError, OverflowError) as error:
        server.close()
        raise ConfigError(
            f"the dashboard cannot listen on port {port} of {host}: {error}; choose another, or none for a free one"
        ) from None
    return server


def _config(app: object) -> uvicorn.Config:
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return uvicorn.Config(
        app,  # type: ignore[arg-type] # an ASGI application
        http=Patient,  # of h11, which has a limit of headers, and no parser in C
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # what a header says of the sender is anybody's word
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        h11_max_incomplete_event_size=2 * HEADERS,  # of what comes in pieces; the rest is counted by `Safety`
        timeout_graceful_shutdown=int(_PATIENCE),
    )


def _shown(host: str) -> str:
    """Return an address as it stands in a URL."""
    if _is_any(host):
        return LOOPBACK
    return f"[{host}]" if ":" in host else host


def _is_any(host: str) -> bool:
    return _is_address(host) and ip_address(host).is_unspecified


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
