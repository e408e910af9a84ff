"""Processes in which queries run, kept for the next ones."""

import atexit
import os
import signal
import subprocess
import sys
from collections import deque
from multiprocessing import Pipe
from typing import Any

from headrace.core.errors import ViewError
from headrace.serve import guard
from headrace.serve.runner import Task

_KEPT = 4  # processes that wait for queries; more are started when more are asked for at once, and end after that


class _Runner:
    """A process that runs one query after the other; to start it takes a tenth of a second.

    Attributes:
        free: Whether it has answered; if not, its answer would be taken for that of the next query.
    """

    def __init__(self) -> None:
        self.free = True
        self._connection, its = Pipe()
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "headrace.serve.runner", str(its.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                start_new_session=True,  # Ctrl-C is for us: it ends when we do
            )

    def run(self, task: Task) -> guard.Result:
        """Return what the query selects, or raise what it raised there."""
        self.free = False
        try:
            self._connection.send(task)
            answer: guard.Result | Exception = self._connection.recv()
        except (EOFError, ConnectionError):
            raise _ended(self._process.wait(), task.bounds.seconds) from None
        self.free = True
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def alive(self) -> bool:
        """Whether it is there still."""
        return self._process.poll() is None

    def end(self) -> None:
        """End it, whatever it does."""
        self._connection.close()
        self._process.kill()
        self._process.wait()


_idle: deque[_Runner] = deque()
os.register_at_fork(after_in_child=_idle.clear)  # they answer to one process


def run(task: Task) -> list[dict[str, Any]]:
    """Return what a query selects.

    Raises:
        ViewTimeoutError: It takes longer than it may.
        ViewError: It does not only read, takes too much, or cannot be understood.
    """
    runner = _taken()
    try:
        names, rows = runner.run(task)
    finally:
        if runner.free and len(_idle) < _KEPT:
            _idle.append(runner)
        else:
            runner.end()
    return [dict(zip(names, row, strict=True)) for row in rows]


def _taken() -> _Runner:
    while True:
        try:
            runner = _idle.pop()
        except IndexError:
            return _Runner()
        if runner.alive:
            return runner
        runner.end()


def _ended(status: int, seconds: float) -> ViewError:
    if status == -signal.SIGALRM:
        return guard.too_long(seconds)
    return ViewError(f"the query cannot be run: its process ended with the status {status}")


@atexit.register
def _end_all() -> None:
    while _idle:
        _idle.pop().end()
