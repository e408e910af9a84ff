"""Why a broker ended, in the user's words, from its log."""

import re
from collections.abc import Iterable
from pathlib import Path

from headrace.core.errors import BrokerStartError
from headrace.log.broker import process
from headrace.log.broker.node import Node

_ORDINARY = re.compile(r"\d{4}-|\s|$")  # a line with its time, or within a trace; others name an exception
_TAIL = 200_000  # bytes of the log in which the reason stands
_REASONS = {
    "No space left on device": "its disk is full; free some room, or set HEADRACE_HOME to a folder on another disk",
    "Read-only file system": "its data folder is read-only; set HEADRACE_HOME to a folder that can be written",
    "Permission denied": "its data folder may not be written by this user; correct the permissions",
    "Failed to acquire lock on file .lock": "another Kafka process uses its data folder; end that one first",
    "OutOfMemoryError": "Java ran out of memory; close other programs",
    "Could not reserve enough space": "this machine has too little free memory; close other programs",
    "Invalid cluster.id": "its data folder belongs to another cluster; move it away",
}


class PortTakenError(BrokerStartError):
    """Another program holds a port that the broker was to have."""


def diagnose(nodes: Iterable[Node]) -> BrokerStartError | None:
    """Return the error that fits the first of ``nodes`` that ended, or None if all run."""
    for node in nodes:
        if process.find(node) is None:
            return _error(node)
    return None


def last_lines(node: Node, count: int = 5) -> list[str]:
    """Return what the broker's last run said at its end: its errors and their causes, or else its last lines."""
    lines = _last_run(node).splitlines()
    loud = [line for line in lines if " ERROR " in line or " FATAL " in line or not _ORDINARY.match(line)]
    return (loud or lines)[-count:]


def _error(node: Node) -> BrokerStartError:
    told = _last_run(node)
    if "Address already in use" in told or "BindException" in told:
        return PortTakenError(f"a port of broker {node.id} is in use; its log is {node.log}")
    for sign, reason in _REASONS.items():
        if sign in told:
            return BrokerStartError(f"broker {node.id} did not start: {reason}. Its log is {node.log}.")
    end = "\n  ".join(last_lines(node))
    return BrokerStartError(f"broker {node.id} did not start. The end of its log {node.log}:\n  {end}")


def _last_run(node: Node) -> str:
    return _read(node.log, process.log_start(node)) + _read(node.output, 0)


def _read(path: Path, start: int) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL, start if start <= size else 0))  # smaller than it was: rolled over
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
