"""The file of a view, as the one thread sees it that writes it."""

import json
import logging
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from headrace.serve.changes import Batch, Change
from headrace.serve.columns import COLLATION, compare_decimals
from headrace.serve.facts import FACTS, FORMAT, OFFSETS, layout_of, position_of, table_names
from headrace.serve.fields import Fields
from headrace.serve.files import remove
from headrace.serve.layout import KEY, ROWS, UNFIT, Layout, key_text, quoted

logger = logging.getLogger("headrace.views")
logger.addHandler(logging.NullHandler())
_COUNTS = ("skipped", "fresh", "largest")
_PRAGMAS = (
    "journal_mode = wal",  # readers see the last commit and wait for nobody
    "synchronous = normal",  # a power cut may take the last commits, but rows and offsets together
    "journal_size_limit = 67108864",
)


class Store:
    """Rows of one table in an SQLite file.

    Rows and the offsets after them change in one transaction: wherever its process dies, the file tells where to go on.
    """

    def __init__(self, connection: sqlite3.Connection, topic: str, layout: Layout) -> None:
        self._connection = connection
        self._topic = topic
        self._layout = layout
        self._shown = list(layout.names)
        self._insert = _upsert(layout)
        self.position = position_of(connection)

    @classmethod
    def open(cls, path: Path, topic: str, wanted: Layout | None) -> Self:
        """Open the store at ``path``; without one of the wanted layout, any if None, begin a new one."""
        connection = _connect(path)
        try:
            layout = layout_of(connection)
            if layout is None or (wanted is not None and wanted.facts != layout.facts):
                connection.close()
                remove(path)
                connection = _connect(path)
                layout = wanted or Fields()
                _create(connection, layout)
            return cls(connection, topic, layout)
        except BaseException:
            connection.close()
            raise

    def clear(self, life: str) -> None:
        """Forget everything, to begin with another life of the topic."""
        if isinstance(self._layout, Fields):
            self._layout = Fields()
        with self._transaction() as write:
            write(f"delete from {ROWS}")
            write(f"delete from {OFFSETS}")
            self._note({"life": life, "skipped": "0", "fresh": str(time.time()), "largest": "0"})
            self._show()
        self._shown = list(self._layout.names)

    def begin(self, offsets: Mapping[int, int]) -> None:
        """Note where partitions begin of which nothing was read."""
        with self._transaction() as write:
            for place in offsets.items():
                write(f"insert or ignore into {OFFSETS} values (?, ?)", place)

    def apply(self, batch: Batch) -> None:
        """Take over the changes of a batch, and where partitions go on after it."""
        rows, unfit = self._fitted(batch.changes)
        facts = self._news(batch, len(unfit))
        with self._transaction():
            many = self._connection.executemany
            many(self._insert, [(key, *row) for key, row in rows.items() if row is not None])
            many(f"delete from {ROWS} where {KEY} = ?", [(key,) for key, row in rows.items() if row is None])
            many(f"insert or replace into {OFFSETS} values (?, ?)", batch.offsets.items())
            self._note(facts)
            if self._layout.names != self._shown:
                self._show()
        self._shown = list(self._layout.names)
        if unfit:
            self._warn(*unfit[0], len(unfit))

    def touch(self) -> None:
        """Note that the store holds everything that there is now."""
        with self._transaction():
            self._note({"fresh": str(time.time())})

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _fitted(self, changes: Sequence[Change]) -> tuple[dict[Any, Any], list[tuple[Change, Exception]]]:
        """Return the last row of each key, None where it is gone, and the events that are no rows."""
        rows: dict[Any, Any] = {}
        unfit: list[tuple[Change, Exception]] = []
        fit = self._layout.fit
        for change in changes:
            try:
                if change.key is None:
                    raise ValueError("the event has no key")
                rows[key_text(change.key)] = None if change.value is None else fit(change.value)
            except UNFIT as error:
                unfit.append((change, error))
        return rows, unfit

    def _news(self, batch: Batch, unfit: int) -> dict[str, str]:
        largest = max((len(change.value or b"") for change in batch.changes), default=0)
        return (
            ({"skipped": str(self.position.skipped + unfit)} if unfit else {})
            | ({"fresh": str(time.time())} if batch.whole else {})
            | ({"largest": str(largest)} if largest > self.position.largest else {})
        )

    def _warn(self, change: Change, error: Exception, count: int) -> None:
        told = "the view of %r skips %d event(s) that are no rows; the first is at offset %d of partition %d: %s"
        logger.warning(told, self._topic, count, change.offset, change.partition, error)

    def _note(self, facts: Mapping[str, str]) -> None:
        self._connection.executemany(f"insert or replace into {FACTS} values (?, ?)", facts.items())

    def _show(self) -> None:
        """Let users see the rows under the topic's name, with the columns that there are now."""
        for name in map(quoted, table_names(self._topic)):
            self._connection.execute(f"drop view if exists {name}")
            self._connection.execute(f"create view {name} as select {self._layout.listed} from {ROWS}")
        self._note({"fields": json.dumps(self._layout.names)})

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        self._connection.execute("begin immediate")
        try:
            yield self._connection.execute
            self._connection.execute("commit")
        except BaseException:
            self._connection.rollback()
            raise
        self.position = position_of(self._connection)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.create_collation(COLLATION, compare_decimals)
        for pragma in _PRAGMAS:
            connection.execute(f"pragma {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: sqlite3.Connection, layout: Layout) -> None:
    facts = {**layout.facts, "format": FORMAT, "fields": "[]", "life": ""} | dict.fromkeys(_COUNTS, "0")
    connection.execute("begin immediate")
    connection.execute(f"create table {FACTS} (name primary key, value) without rowid")
    connection.execute(f"create table {OFFSETS} (partition integer primary key, next integer)")
    columns = ", ".join([f"{KEY} primary key not null", *(f"{n} {kind}" for n, kind in layout.definitions.items())])
    connection.execute(f"create table {ROWS} ({columns}) without rowid")
    if layout.indexed:
        connection.execute(f'create index "headrace index" on {ROWS} ({", ".join(layout.indexed)})')
    connection.executemany(f"insert into {FACTS} values (?, ?)", facts.items())
    connection.execute("commit")


def _upsert(layout: Layout) -> str:
    marks = ", ".join("?" * (len(layout.definitions) + 1))
    changed = ", ".join(f"{name} = excluded.{name}" for name in layout.definitions)
    return f"insert into {ROWS} values ({marks}) on conflict ({KEY}) do update set {changed}"
