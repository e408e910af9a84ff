"""SQL from outside: it reads, and takes no more than it may."""

import datetime
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson

from headrace.core.errors import ViewError, ViewTimeoutError
from headrace.core.schema import shown
from headrace.serve.columns import moment
from headrace.serve.files import damaged

_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_REFUSED = {
    "load_extension",  # reaches beyond the rows
    "fts3_tokenizer",
    "printf",  # can be told to take minutes in a single step, which no clock stops
    "format",
}
_LIMITS = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
}
_ROOM = 100_000  # bytes that a value may have beyond any row: functions such as trim() take time by its square
_LARGEST = 64_000_000  # bytes of a result
_STEPS = 500  # of SQLite's machine between two looks at the clock; mostly microseconds, but a step may be a function


def close_off(connection: sqlite3.Connection) -> None:
    """Let a connection do nothing but read, whatever it is told."""
    connection.set_authorizer(_authorise)
    for kind, most in _LIMITS.items():
        connection.setlimit(kind, most)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a query may take: rows to return, seconds, and how much longer than the largest row values may be made."""

    limit: int
    seconds: float
    largest: int


def run(connection: sqlite3.Connection, sql: str, params: Sequence[Any], bounds: Bounds) -> list[dict[str, Any]]:
    """Return what the SQL selects, over a connection that was closed off.

    Raises:
        ViewTimeoutError: It takes longer than it may.
        ViewError: It does not only read, or cannot be understood.
    """
    deadline = time.monotonic() + bounds.seconds
    before = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, bounds.largest + _ROOM)
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
    try:
        cursor = connection.execute(sql, [_bound(value) for value in params])
        try:
            return _rows(cursor, bounds.limit)
        finally:
            cursor.close()  # else its snapshot would keep the log from being cut
    except (sqlite3.Error, sqlite3.Warning, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, sqlite3.Error) and damaged(error):
            raise
        raise _explained(error, bounds.seconds) from None
    finally:
        connection.set_progress_handler(None, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)


def _rows(cursor: sqlite3.Cursor, limit: int) -> list[dict[str, Any]]:
    if cursor.description is None:
        raise ViewError("there is nothing to run; write a SELECT")
    names = [column[0] for column in cursor.description]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ViewError(f"the result has two columns {min(twice)!r}; give one another name with AS")
    return [dict(zip(names, row, strict=True)) for row in _bounded(cursor, limit)]


def _bounded(cursor: sqlite3.Cursor, limit: int) -> Iterator[tuple[Any, ...]]:
    size = 0
    for _ in range(limit):
        if (row := cursor.fetchone()) is None:
            return
        size += sum(map(_size, row))
        if size > _LARGEST:
            raise ViewError(f"the result is larger than {_LARGEST:,} bytes; select fewer columns or rows")
        yield row


def _size(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    return len(orjson.dumps(value)) if isinstance(value, dict | list) else 8


def _bound(value: Any) -> Any:
    """Return a parameter as values of its kind are kept."""
    if isinstance(value, datetime.datetime):
        return moment(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping | Sequence) and not isinstance(value, str | bytes):
        raise ViewError(f"{shown(value)} cannot be a parameter; give text, numbers, booleans, times or None")
    return value


def _authorise(action: int, _: str | None, name: str | None, *more: str | None) -> int:
    if action not in _READING or (action == sqlite3.SQLITE_FUNCTION and name in _REFUSED):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _explained(error: Exception, seconds: float) -> ViewError:
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_INTERRUPT:
        return ViewTimeoutError(
            f"the query took longer than {seconds:g} s and was stopped; let it read less, or give it a longer timeout"
        )
    told = str(error)
    if "use function" in told:
        return ViewError(f"the query cannot be run: it is {told}")
    if code == sqlite3.SQLITE_AUTH or "not authorized" in told or "cannot modify" in told:
        return ViewError("a view can only be read; write a SELECT that looks at its table and nothing else")
    if code == sqlite3.SQLITE_TOOBIG:
        return ViewError("the query cannot be run: it makes values that are much longer than any row")
    return ViewError(f"the query cannot be run: {told}")
