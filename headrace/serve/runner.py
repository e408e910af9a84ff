"""The process in which SQL from outside runs: what it takes is taken from nobody else, and it can be ended at any step.

SQLite looks at no clock while it prepares a statement or is inside of a function, and counts memory by process. So a
query has a process, which has a limit of memory and ends itself when time is up.
"""

import signal
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from headrace.serve import guard
from headrace.serve.columns import COLLATION, compare_decimals, expression

_GRACE = 1.0  # seconds beyond its own for a query to stop at a step, which spares the process
_LONGEST = 1e6  # seconds


@dataclass(frozen=True, slots=True)
class Task:
    """A query.

    Attributes:
        path: Of the store.
        typed: Whether text that SQLite knows no type of may be a time.
        sql: What to run.
        params: For each ``?`` in it.
        bounds: What it may take.
    """

    path: Path
    typed: bool
    sql: str
    params: Sequence[Any]
    bounds: guard.Bounds


def connected(path: Path) -> sqlite3.Connection:
    """Open a store so that it can only be read."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        detect_types=sqlite3.PARSE_DECLTYPES,
    )
    try:
        connection.create_collation(COLLATION, compare_decimals)
        guard.close_off(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def main() -> None:
    """Run queries that come over the connection whose number is given, until it is closed."""
    guard.limit_memory()
    with Connection(int(sys.argv[1])) as asker, suppress(EOFError, ConnectionError):
        while True:
            task: Task = asker.recv()
            asker.send(_result(task))


def _result(task: Task) -> guard.Result | Exception:
    signal.setitimer(signal.ITIMER_REAL, _GRACE + max(0.0, min(task.bounds.seconds, _LONGEST)))
    try:
        with closing(connected(task.path)) as connection:
            if task.typed:
                connection.text_factory = expression
            return guard.run(connection, task.sql, task.params, task.bounds)
    except Exception as error:
        return error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main()
