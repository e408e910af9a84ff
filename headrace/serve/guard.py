"""SQL from outside: it reads, and takes no more than it may."""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import orjson

from headrace.core.errors import ViewError, ViewTimeoutError
from headrace.serve.files import damaged

_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_ALLOWED = (  # functions that know nothing but rows and clocks
    "abs char coalesce concat concat_ws glob hex if ifnull iif instr length like likelihood likely lower ltrim max min",
    "nullif octet_length quote random randomblob replace round rtrim sign soundex sqlite_version substr substring trim",
    "typeof unhex unicode unistr unistr_quote unlikely upper zeroblob",
    "avg count group_concat median percentile percentile_cont percentile_disc string_agg sum total",
    "cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number",
    "current_date current_time current_timestamp date datetime julianday strftime time timediff unixepoch",
    "acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow power",
    "radians sin sinh sqrt tan tanh trunc",
    "-> ->> json json_array json_array_insert json_array_length json_error_position json_extract json_group_array",
    "json_group_object json_insert json_object json_patch json_pretty json_quote json_remove json_replace json_set",
    "json_type json_valid",
)
_FUNCTIONS = {name for names in _ALLOWED for name in names.split()}
_LIMITS = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
}
_ROOM = 100_000  # bytes that a value may have beyond any row
_MEMORY = 256_000_000  # bytes for all that SQLite holds, what it sorts among it
_LARGEST = 64_000_000  # bytes of a result
_STEPS = 500  # of SQLite's machine between two looks at the clock; mostly microseconds, but a step may be a function
Result = tuple[list[str], list[tuple[Any, ...]]]
"""The names of the columns, and the rows."""


def limit_memory() -> None:
    """Let SQLite take no more memory than queries may, in the whole of this process."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"pragma hard_heap_limit = {_MEMORY}")


def close_off(connection: sqlite3.Connection) -> None:
    """Let a connection do nothing but read, whatever it is told; what it sorts counts as memory, and fills no disk."""
    connection.execute("pragma temp_store = memory")
    connection.set_authorizer(_authorise)
    for kind, most in _LIMITS.items():
        connection.setlimit(kind, most)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a query may take: rows to return, seconds, and how much longer than the largest row values may be made."""

    limit: int
    seconds: float
    largest: int


def run(connection: sqlite3.Connection, sql: str, params: Sequence[Any], bounds: Bounds) -> Result:
    """Return what the SQL selects, over a connection that was closed off.

    Raises:
        ViewTimeoutError: It takes longer than it may.
        ViewError: It does not only read, takes too much memory, or cannot be understood.
    """
    deadline = time.monotonic() + bounds.seconds
    before = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, bounds.largest + _ROOM)
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
    try:
        cursor = connection.execute(sql, params)
        try:
            return _rows(cursor, bounds.limit)
        finally:
            cursor.close()  # else its snapshot would keep the log from being cut
    except MemoryError:
        raise ViewError(f"the query takes more than {_MEMORY:,} bytes of memory; let it read or sort less") from None
    except (sqlite3.Error, sqlite3.Warning, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, sqlite3.Error) and damaged(error):
            raise
        raise _explained(error, bounds.seconds) from None
    finally:
        connection.set_progress_handler(None, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)


def _rows(cursor: sqlite3.Cursor, limit: int) -> Result:
    if cursor.description is None:
        raise ViewError("there is nothing to run; write a SELECT")
    names = [column[0] for column in cursor.description]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ViewError(f"the result has two columns {min(twice)!r}; give one another name with AS")
    return names, list(_bounded(cursor, limit))


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


def _authorise(action: int, _: str | None, name: str | None, *more: str | None) -> int:
    if action not in _READING or (action == sqlite3.SQLITE_FUNCTION and name not in _FUNCTIONS):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def too_long(seconds: float) -> ViewTimeoutError:
    """Return what is told of a query that was stopped."""
    return ViewTimeoutError(
        f"the query took longer than {seconds:g} s and was stopped; let it read less, or give it a longer timeout"
    )


def _explained(error: Exception, seconds: float) -> ViewError:
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_INTERRUPT:
        return too_long(seconds)
    told = str(error)
    if "use function" in told:
        return ViewError(f"the query cannot be run: it is {told}")
    if code == sqlite3.SQLITE_AUTH or "not authorized" in told or "cannot modify" in told:
        return ViewError("a view can only be read; write a SELECT that looks at its table and nothing else")
    if code == sqlite3.SQLITE_TOOBIG:
        return ViewError("the query cannot be run: it makes values that are much longer than any row")
    return ViewError(f"the query cannot be run: {told}")
