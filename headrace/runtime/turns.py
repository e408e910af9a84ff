"""Who can wait takes turns: of several programs in one process, those in a hurry find a core that is free.

Spark takes no core away from a task that has one. Of two cores, both may be at batches of ten seconds' events when one
in a hurry begins, and it would wait for their end. So only half of the cores work for stages that can wait.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache

_HURRY = timedelta(seconds=2)  # between two batches of a stage that is still in a hurry
_PATIENCE = 10.0  # seconds for a turn: a batch that hangs holds up no other for longer


def hurries(pause: timedelta) -> bool:
    """Whether a stage with such a pause between its batches goes before others."""
    return pause <= _HURRY


@contextmanager
def turn(pause: timedelta, cores: int) -> Iterator[None]:
    """Wait until it is the turn of a stage with such a pause, and hold its place; in a hurry, at once."""
    places = _places(cores)
    ours = not hurries(pause) and places.acquire(timeout=_PATIENCE)
    try:
        yield
    finally:
        if ours:
            places.release()


@cache
def _places(cores: int) -> threading.BoundedSemaphore:
    """Return the places of those that can wait, for all programs of the process."""
    return threading.BoundedSemaphore(max(1, cores // 2))
