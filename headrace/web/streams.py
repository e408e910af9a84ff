"""Server-sent events: what a feed has, sent at the pace of who reads it, until either ends."""

import threading
import time
from typing import Any, Protocol

import anyio
from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headrace.core.errors import HeadraceError
from headrace.web.answers import dump

_MOST = 48  # streams at once, each with a thread
_SILENCE = 5.0  # seconds without an event after which a comment shows that the connection stands
_COMMENT = b": still here\n\n"
Told = tuple[str, Any]
"""An event: its name and its data."""


class Feed(Protocol):
    """Where a stream's events come from; used by one thread at a time."""

    def next(self) -> Told | None:
        """Return the next event, or None if there was none for a second."""
        ...

    def close(self) -> None:
        """Let go of what the feed holds."""
        ...


class Streams:
    """Counts the streams that are open, and ends them all with the server."""

    def __init__(self) -> None:
        self._places = threading.Semaphore(_MOST)
        self._counting = threading.Lock()
        self.ending = threading.Event()
        self.open = 0
        self.threads = anyio.CapacityLimiter(_MOST)

    def enter(self) -> None:
        """Take a place, if there is one."""
        if not self._places.acquire(blocking=False):
            raise HTTPException(503, f"there are {_MOST} streams open already; close a page that you do not need")
        self._count(1)

    def leave(self) -> None:
        """Give a place back."""
        self._count(-1)
        self._places.release()

    def _count(self, more: int) -> None:
        with self._counting:
            self.open += more


class EventStream(Response):
    """A feed as an answer.

    The next event is asked for when the last one was taken over by the connection: who reads slowly is fed slowly.
    When the reader goes, the feed is closed.
    """

    media_type = "text/event-stream"

    def __init__(self, feed: Feed, streams: Streams) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._feed = feed
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the reader goes, the feed fails, or the server ends."""
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_until_gone, receive, tasks.cancel_scope)
                await self._send_all(send)
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._close, limiter=self._streams.threads)

    async def _send_all(self, send: Send) -> None:
        spoken = time.monotonic()
        while not self._streams.ending.is_set():
            told = await to_thread.run_sync(self._next, limiter=self._streams.threads)
            if told is not None or time.monotonic() > spoken + _SILENCE:
                spoken = time.monotonic()
                await send({"type": "http.response.body", "body": _written(told), "more_body": True})
            if told is not None and told[0] == "error":
                break
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _close(self) -> None:
        try:
            self._feed.close()
        finally:
            self._streams.leave()

    def _next(self) -> Told | None:
        try:
            return self._feed.next()
        except HeadraceError as error:
            return "error", {"error": str(error)}


def _written(told: Told | None) -> bytes:
    if told is None:
        return _COMMENT
    return b"event: %b\ndata: %b\n\n" % (told[0].encode(), dump(told[1]))


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
