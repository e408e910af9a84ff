"""Connections that are not used are closed: there are only so many, and whoever holds one needs no token for that."""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol


class Patient(H11Protocol):
    """HTTP as uvicorn speaks it, but not with those who say nothing, or take nothing of what is said to them.

    Attributes:
        asking: Seconds for the whole head of a request to arrive, after the connection or the answer before.
        taking: Seconds in which the other side must take something of what waits to be sent.
    """

    asking: ClassVar[float] = 10.0
    taking: ClassVar[float] = 60.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Begin."""
        super().connection_made(transport)
        self._head = self._cut_after(self.asking)
        self._flow = self._head

    def handle_events(self) -> None:
        """Take in what has come; a request ends the wait for one."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._head.cancel()

    def on_response_complete(self) -> None:
        """Wait for the next request, and for the last of the answer to be taken."""
        self._head.cancel()
        self._head = self._cut_after(self.taking if self.transport.get_write_buffer_size() else self.asking)
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Wait until something is taken."""
        super().pause_writing()
        self._flow = self._cut_after(self.taking)

    def resume_writing(self) -> None:
        """Go on."""
        self._flow.cancel()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._head.cancel()
        self._flow.cancel()
        super().connection_lost(exc)

    def _cut_after(self, seconds: float) -> asyncio.TimerHandle:
        return self.loop.call_later(seconds, self.transport.abort)  # to close would wait for what is not taken
