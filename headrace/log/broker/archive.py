"""Kafka's classes as Java lays them out in memory, kept in a file: with it a broker starts in half the time.

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

_PREFIX, _SUFFIX = "kafka-", ".jsa"
_NAMES = f"{_PREFIX}*{_SUFFIX}"
_QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")  # Java warns of each class that it cannot keep


def reading(java: Java, classpath: str) -> list[str]:
    """Return the options of a Java that takes classes from the archive, none where there is no archive."""
    with suppress(ConfigError, OSError):
        for path in cache_folder().glob(f"{_name(java, classpath)}.*{_SUFFIX}"):
            if path.suffixes[0] == f".{path.stat().st_size}":
                return [f"-XX:SharedArchiveFile={path}", "-XX:+VerifySharedSpaces", *_QUIET]
    return []


def writing(java: Java, classpath: str, node: Node) -> list[str]:
    """Return the options of a broker that leaves an archive in its folder when it ends."""
    for old in node.folder.glob(_NAMES):
        old.unlink()
    return [f"-XX:ArchiveClassesAtExit={node.folder / _name(java, classpath)}{_SUFFIX}", *_QUIET]


def adopt(node: Node) -> None:
    """Move what a broker has left to where all find it, in place of what is there; nothing depends on it."""
    for draft in node.folder.glob(_NAMES):
        with suppress(ConfigError, OSError):
            if _whole(draft):
                _move(draft, cache_folder() / f"{draft.stem}.{draft.stat().st_size}{_SUFFIX}")
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _move(draft: Path, path: Path) -> None:
    copy = path.with_name(f".{draft.name}.{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(draft, copy)  # may be to another disk
        for old in path.parent.glob(_NAMES):
            old.unlink(missing_ok=True)
        copy.replace(path)
    finally:
        copy.unlink(missing_ok=True)


def _whole(draft: Path) -> bool:
    """Whether Java had the time to write all of it: the beginning comes last."""
    with draft.open("rb") as file:
        return any(file.read(4))


def _name(java: Java, classpath: str) -> str:
    """Return the name of the archive for one Java and one Kafka; its size follows, as Java dies of one cut off."""
    told = "\n".join((str(java.path.resolve()), java.release, classpath))
    return f"{_PREFIX}{hashlib.sha256(os.fsencode(told)).hexdigest()[:16]}"
