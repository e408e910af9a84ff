"""Locks between processes: a file that one process holds until it ends, however it ends."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from headrace.core.errors import ConfigError

_WIDTH = 20  # characters, which no id needs
_PAUSES = (0.05, 0.1, 0.2)  # seconds: who only looks whether a lock is held has it for a moment, too


@contextmanager
def held(path: Path, advice: str = "set HEADRACE_HOME") -> Iterator[bool]:
    """Hold a lock, which then tells the id of our process; False if another process has it.

    Args:
        path: Of the file; its folder is made where there is none.
        advice: What to do where it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "r+")
    except OSError as error:
        raise ConfigError(f"{path.parent} cannot be written: {error.strerror}; {advice}") from None
    with lock:
        if not _taken(lock):
            yield False
            return
        lock.write(f"{os.getpid():<{_WIDTH}}")  # over what was there, of which nothing is lost if it is not ours
        lock.flush()
        yield True


def is_held(path: Path) -> bool:
    """Whether some process holds a lock."""
    try:
        with path.open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def holder(path: Path) -> str:
    """Return the id of the process that holds a lock, or held it last."""
    try:
        return path.read_text().strip() or "?"
    except OSError:
        return "?"


def _taken(lock: IO[str]) -> bool:
    for pause in (*_PAUSES, None):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if pause is not None:
                time.sleep(pause)
    return False
