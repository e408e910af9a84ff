"""The broker's process: started so that it outlives us, found again, stopped."""

import json
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from psutil import Process

from headrace.core.errors import BrokerStartError
from headrace.log.broker.node import Node

__all__ = ["Process", "alive", "died", "find", "is_ready", "log_start", "mark_ready", "start", "stop"]
_PATIENCE = 20  # seconds a broker may take to stop before it is killed


def start(node: Node, command: Sequence[str]) -> Process:
    """Start a broker in a session of its own, so that neither Ctrl-C nor our end reaches it."""
    logged = node.log.stat().st_size if node.log.exists() else 0
    with node.output.open("wb") as output:
        # The shell puts the broker in the background and ends: the broker is nobody's child and no zombie of ours.
        launched = subprocess.run(
            ["/bin/sh", "-c", '"$@" >&2 & echo $!', "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            start_new_session=True,
            check=True,
        )
    try:
        process = Process(int(launched.stdout))
        _write(node, {"pid": process.pid, "created": process.create_time(), "log_from": logged})
    except psutil.NoSuchProcess:
        raise BrokerStartError(f"broker {node.id} ended at once: {node.output.read_text('utf-8', 'replace')}") from None
    except OSError as error:
        process.kill()
        raise BrokerStartError(f"{_pid_file(node)} cannot be written: {error.strerror}; make room for it") from None
    return process


def find(node: Node) -> Process | None:
    """Return the running broker of ``node``, whether or not its pid file tells the truth."""
    told = _told(node)
    with suppress(psutil.Error, ValueError, TypeError):
        process = Process(told.get("pid"))
        if process.create_time() == told.get("created") and alive(process):
            return process
    return _search(node)


def log_start(node: Node) -> int:
    """Return where in the broker's log its last run begins."""
    start = _told(node).get("log_from")
    return start if isinstance(start, int) else 0


def mark_ready(node: Node) -> None:
    """Note that the running broker answers."""
    if running := find(node):
        _write(node, {**_told(node), "pid": running.pid, "created": running.create_time(), "ready": True})


def is_ready(node: Node) -> bool:
    """Whether the broker runs and was seen to answer."""
    return find(node) is not None and _told(node).get("ready") is True


def died(node: Node) -> bool:
    """Whether a broker was started here and is gone without `stop`."""
    return _pid_file(node).exists() and find(node) is None


def stop(nodes: Sequence[Node]) -> list[Node]:
    """Stop the running brokers of ``nodes`` and return which those were; one that hangs is killed."""
    running = [(node, process) for node in nodes if (process := find(node))]
    for _, process in running:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGTERM)
    _, hanging = psutil.wait_procs([process for _, process in running], timeout=_PATIENCE)
    for process in hanging:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(hanging, timeout=_PATIENCE)
    for node in nodes:
        _pid_file(node).unlink(missing_ok=True)
    return [node for node, _ in running]


def alive(process: Process) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _search(node: Node) -> Process | None:
    """Look through all processes: whoever started the broker may have died before it could write the pid file."""
    path = str(node.properties)
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"]
        if command and command[-2:] == ["kafka.Kafka", path] and alive(process):
            return process
    return None


def _write(node: Node, told: dict[str, Any]) -> None:
    draft = _pid_file(node).with_suffix(".new")
    draft.write_text(json.dumps(told), "utf-8")
    draft.replace(_pid_file(node))


def _told(node: Node) -> dict[str, Any]:
    try:
        told = json.loads(_pid_file(node).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _pid_file(node: Node) -> Path:
    return node.folder / "process.json"
