"""The file of a view, as everybody sees it who reads it."""

import datetime
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from headrace.core.errors import ViewError
from headrace.core.schema import shown
from headrace.serve import guard
from headrace.serve.columns import expression, moment
from headrace.serve.declared import Declared
from headrace.serve.facts import Position, layout_of, position_of, table_names
from headrace.serve.files import damaged
from headrace.serve.layout import KEY, ROWS, Layout
from headrace.serve.runner import Task, connected
from headrace.serve.runners import run

Found = TypeVar("Found")
_IDLE = 16  # connections kept for the next readers


class _Reader:
    """A connection that only reads, and how it finds the rows."""

    def __init__(self, path: Path) -> None:
        self.file = path.stat().st_ino
        self.connection = connected(path)
        try:
            self.layout = self._layout()
        except BaseException:
            self.connection.close()
            raise

    def _layout(self) -> Layout:
        found = layout_of(self.connection)
        if found is None:
            raise FileNotFoundError("nothing is stored yet")
        if isinstance(found, Declared):
            self.connection.text_factory = expression
        return found


class Reading:
    """Reads a store, from any thread: each borrows a connection of its own."""

    def __init__(self, path: Path, topic: str) -> None:
        self.path = path
        self.tables = table_names(topic)
        self.damage = threading.Event()  # set when the file turns out to be damaged, for who can mend it
        self._idle: deque[_Reader] = deque()
        self._closed = False

    def ready(self) -> bool:
        """Whether there is a store to read."""
        try:
            with self._borrowed():
                return True
        except (FileNotFoundError, sqlite3.Error):
            return False

    @property
    def layout(self) -> Layout:
        """Return how the rows lie in the file."""
        return self._do(lambda reader: reader.layout)

    def position(self) -> Position:
        """Return how far the store is."""
        return self._do(lambda reader: position_of(reader.connection))

    def count(self) -> int:
        """Return how many rows there are."""
        return int(self._do(lambda reader: reader.connection.execute(f"select count(*) from {ROWS}").fetchone()[0]))

    def get(self, key: Any) -> dict[str, Any] | None:
        """Return the row of a key."""

        def get(reader: _Reader) -> dict[str, Any] | None:
            condition, params = reader.layout.key(key)
            found = _select(reader, condition, params, 1)
            return found[0] if found else None

        return self._do(get)

    def range(self, low: Any, high: Any, limit: int) -> list[dict[str, Any]]:
        """Return rows in the order of their keys, both bounds included."""

        def between(reader: _Reader) -> list[dict[str, Any]]:
            name, bounds = reader.layout.order(low, high)
            pairs = zip((f"{name} >= ?", f"{name} <= ?"), bounds, strict=True)
            given = {condition: bound for condition, bound in pairs if bound is not None}
            return _select(reader, f"{' and '.join(given) or 'true'} order by {name}", list(given.values()), limit)

        return self._do(between)

    def page(self, after: Any, limit: int) -> list[tuple[Any, dict[str, Any]]]:
        """Return events' keys and rows in the order of the keys as they lie in the topic, behind one of them."""

        def page(reader: _Reader) -> list[tuple[Any, dict[str, Any]]]:
            behind, params = ("true", []) if after is None else (f"{KEY} > ?", [after])
            columns = f"typeof({KEY}), cast({KEY} as blob), {reader.layout.whole}"  # text alone may look like a time
            sql = f"select {columns} from {ROWS} where {behind} order by {KEY} limit {limit:d}"
            found = reader.connection.execute(sql, params).fetchall()
            return [(key.decode() if kind == "text" else key, reader.layout.unpack(row)) for kind, key, *row in found]

        return self._do(page)

    def query(self, sql: str, params: Sequence[Any], limit: int, timeout: float) -> list[dict[str, Any]]:
        """Return what the SQL selects."""
        return self._do(lambda reader: self._query(reader, sql, params, limit, timeout))

    def close(self) -> None:
        """Close the connections."""
        self._closed = True
        while self._idle:
            self._drop()

    def _drop(self) -> None:
        with suppress(IndexError):  # another thread was faster
            self._idle.pop().connection.close()

    def _query(
        self, reader: _Reader, sql: str, params: Sequence[Any], limit: int, timeout: float
    ) -> list[dict[str, Any]]:
        try:
            bounds = guard.Bounds(limit, timeout, position_of(reader.connection).largest)
            typed = isinstance(reader.layout, Declared)
            return run(Task(self.path, typed, sql, [_bound(value) for value in params], bounds))
        except ViewError as error:
            if "no such" in str(error):
                columns = ", ".join(layout.names) if (layout := layout_of(reader.connection)) else ""
                raise ViewError(f"{error}; the table is {self.tables[0]} and has the columns {columns}") from None
            raise

    def _do(self, work: Callable[[_Reader], Found]) -> Found:
        try:
            with self._borrowed() as reader:
                return work(reader)
        except sqlite3.Error as error:
            raise self._explained(error) from None
        except FileNotFoundError:
            raise ViewError(f"there is no store {self.path} any more; it is built anew from the topic") from None
        except UnicodeEncodeError as error:
            raise ViewError(f"text that cannot be written as UTF-8 is in no row: {error}") from None

    @contextmanager
    def _borrowed(self) -> Iterator[_Reader]:
        if self._closed:
            raise ViewError("the view is closed")
        reader = self._current()
        try:
            yield reader
        finally:
            self._idle.append(reader)
            while self._idle and (self._closed or len(self._idle) > _IDLE):
                self._drop()

    def _current(self) -> _Reader:
        """Return an idle reader of the file that is there now; it may have been replaced."""
        file = self.path.stat().st_ino
        while True:
            try:
                reader = self._idle.pop()
            except IndexError:
                return _Reader(self.path)
            if reader.file == file:
                return reader
            reader.connection.close()

    def _explained(self, error: sqlite3.Error) -> ViewError:
        if not damaged(error):
            return ViewError(f"the store {self.path} cannot be read: {error}")
        self.damage.set()
        return ViewError(f"the store {self.path} is damaged ({error}) and is built anew from the topic; ask again")


def _select(reader: _Reader, condition: str, params: Sequence[Any], limit: int) -> list[dict[str, Any]]:
    sql = f"select {reader.layout.whole} from {ROWS} where {condition} limit {limit:d}"
    return [reader.layout.unpack(row) for row in reader.connection.execute(sql, params)]


def _bound(value: Any) -> Any:
    """Return a parameter as values of its kind are kept."""
    if isinstance(value, datetime.datetime):
        return moment(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if value is not None and not isinstance(value, str | bytes | int | float):
        raise ViewError(f"{shown(value)} cannot be a parameter; give text, numbers, booleans, times or None")
    return value
