"""The files of a view: who may write them, and what becomes of damaged ones."""

import fcntl
import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.core.errors import ConfigError

_BESIDE = ("-wal", "-shm", "")  # the file itself last: a log that outlived its file would be played into the next one
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_LONGEST = 200  # characters of a name to which file systems let us add


def store_path(folder: Path, topic: str) -> Path:
    """Return where the rows of a topic are kept."""
    if len(topic) > _LONGEST:
        topic = f"{topic[:_LONGEST]}-{hashlib.sha256(topic.encode()).hexdigest()[:12]}"
    return folder / f"{topic}.db"


@contextmanager
def writing(path: Path) -> Iterator[bool]:
    """Keep other processes from writing a store; False if one does already."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = _lock(path).open("a+")
    except OSError as error:
        raise ConfigError(
            f"{path.parent} cannot be written: {error.strerror}; give folder=, or HEADRACE_HOME"
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield True


def writer(path: Path) -> str:
    """Return the id of the process that writes a store, or wrote it last."""
    try:
        return _lock(path).read_text().strip() or "?"
    except OSError:
        return "?"


def damaged(error: sqlite3.Error) -> bool:
    """Whether a file is not what SQLite has written."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


def put_aside(path: Path) -> Path:
    """Rename a damaged store, for whoever wants to know, and return its new name; an earlier one is replaced."""
    aside = path.with_name(f"{path.name}.damaged")
    for beside in _BESIDE:
        if (file := Path(f"{path}{beside}")).exists():
            file.replace(f"{aside}{beside}")
    return aside


def remove(path: Path) -> None:
    """Delete a store."""
    for beside in _BESIDE:
        Path(f"{path}{beside}").unlink(missing_ok=True)


def _lock(path: Path) -> Path:
    return path.with_suffix(".lock")
