"""Kafka's classes as Java lays them out in memory, kept in a file: with it a broker starts in a third of the time.

Java writes such a file when a program ends that was told to. So the first broker leaves one behind, and all later
ones of this user begin with it. Java itself checks whether it suits; where it does not, a broker starts as before.
"""

import hashlib
import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

from headrace.core.errors import ConfigError
from headrace.core.jars import cache_folder
from headrace.core.java import Java
from headrace.log.broker.node import Node

_PREFIX, _DRAFT = "kafka-", "classes.jsa"
_QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")  # Java warns of each class that it cannot keep


def reading(java: Java, classpath: str) -> list[str]:
    """Return the options of a Java that takes classes from the archive, none where there is no archive."""
    path = _path(java, classpath)
    return [f"-XX:SharedArchiveFile={path}", *_QUIET] if path and path.exists() else []


def writing(java: Java, classpath: str, node: Node) -> list[str]:
    """Return the options of a broker that leaves the archive in its folder when it ends."""
    draft = node.folder / _DRAFT
    draft.unlink(missing_ok=True)
    return [f"-XX:ArchiveClassesAtExit={draft}", *_QUIET] if _path(java, classpath) else []


def left(node: Node) -> bool:
    """Whether a broker has left a whole archive: its beginning is written last."""
    try:
        with (node.folder / _DRAFT).open("rb") as draft:
            return any(draft.read(4))
    except OSError:
        return False


def adopt(java: Java, classpath: str, node: Node) -> None:
    """Move what a broker has left to where all find it, in place of what is there; nothing depends on it."""
    draft, path = node.folder / _DRAFT, _path(java, classpath)
    if path is None:
        return
    whole = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(draft, whole)  # may be from another disk
        for old in path.parent.glob(f"{_PREFIX}*{path.suffix}"):
            old.unlink()
        whole.replace(path)
    for left in (draft, whole):
        with suppress(OSError):
            left.unlink()


def _path(java: Java, classpath: str) -> Path | None:
    """Return where the archive lies for one Java and one Kafka; None where the user has no place for it."""
    told = os.fsencode("\n".join((str(java.path.resolve()), java.release, classpath)))
    with suppress(ConfigError):
        return cache_folder() / f"{_PREFIX}{hashlib.sha256(told).hexdigest()[:16]}.jsa"
    return None
