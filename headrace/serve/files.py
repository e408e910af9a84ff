"""The files of a view: who may write them, and what becomes of damaged ones."""

import hashlib
import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path

from headrace.core.lock import held, holder

_BESIDE = ("-wal", "-shm", "")  # the file itself last: a log that outlived its file would be played into the next one
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_LONGEST = 200  # characters of a name to which file systems let us add


def store_path(folder: Path, topic: str) -> Path:
    """Return where the rows of a topic are kept."""
    if len(topic) > _LONGEST:
        topic = f"{topic[:_LONGEST]}-{hashlib.sha256(topic.encode()).hexdigest()[:12]}"
    return folder / f"{topic}.db"


def writing(path: Path) -> AbstractContextManager[bool]:
    """Keep other processes from writing a store; False if one does already."""
    return held(_lock(path), "give folder=, or HEADRACE_HOME")


def writer(path: Path) -> str:
    """Return the id of the process that writes a store, or wrote it last."""
    return holder(_lock(path))


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
