"""A client that the dashboard keeps open between two questions."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Generic, TypeVar

Client = TypeVar("Client")
_PATIENCE = 1.0  # seconds that one who closes waits for who asks


class Kept(Generic[Client]):
    """Keeps one client open, for one who asks at a time.

    Args:
        address: Tells where the broker is now; after a move another client is opened.
        open_at: Opens a client of the broker at an address.
    """

    def __init__(self, address: Callable[[], str], open_at: Callable[[str], AbstractContextManager[Client]]) -> None:
        self._address, self._open_at = address, open_at
        self._lock = threading.Lock()
        self._opened: tuple[str, AbstractContextManager[Client], Client] | None = None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let nobody else ask meanwhile."""
        with self._lock:
            yield

    def client(self) -> Client:
        """Return the client of the broker as it is now; to be asked for within `alone`."""
        address = self._address()
        if self._opened is None or self._opened[0] != address:
            self.drop()
            opened = self._open_at(address)
            self._opened = (address, opened, opened.__enter__())
        return self._opened[2]

    def drop(self) -> None:
        """Let go of the client: it failed, and the next who asks gets another."""
        if self._opened is not None:
            with suppress(Exception):
                self._opened[1].__exit__(None, None, None)
        self._opened = None

    def close(self) -> None:
        """Let go of the client; what is under way is not waited for long."""
        if self._lock.acquire(timeout=_PATIENCE):
            try:
                self.drop()
            finally:
                self._lock.release()
