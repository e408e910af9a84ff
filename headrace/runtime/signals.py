"""Ctrl-C and SIGTERM as an event."""

import signal
import threading
from types import FrameType
from typing import Any


class Signals:
    """Turns Ctrl-C and SIGTERM into an event, in the main thread of a process."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> threading.Event:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._ask)
        return self._asked

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self._asked.is_set():  # asked twice: at once
            raise KeyboardInterrupt
        self._asked.set()

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
