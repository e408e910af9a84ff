"""A table as a materialised view: looked up by key, queried with SQL, kept up to date."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headrace.core.errors import ConfigError, HeadraceError, ViewError, ViewTimeoutError
from headrace.core.schema import Schema
from headrace.core.settings import Settings
from headrace.log.connection import connect
from headrace.serve.declared import Declared
from headrace.serve.files import store_path, writer
from headrace.serve.follower import Follower
from headrace.serve.reading import Reading
from headrace.serve.topic import TableTopic

_FOLDER = "views"  # in the home folder
_PATIENCE = 10.0  # seconds until a store that another process makes can be read
_GLANCE = 0.01  # seconds between two looks how far the store is; another process may be the one that writes it


class View:
    """The rows of a table, stored beside the program and kept up to date by a thread of its own.

    The table is a compacted topic: each event is a row as a JSON object, under its key; one without a value deletes
    the row. Only committed events count. Rows and the offsets after them are stored in one transaction, so that after
    a crash the view goes on where it was. One process at a time writes the store of a topic in a folder; others read
    what it writes, and one of them takes over when it ends.

    All methods may be called from any thread. They read what is stored, so they work while the broker is away.

    Args:
        topic: Must exist.
        schema: The columns, as `App.stream` takes them. Without one, the columns are those of the store that is
            there, or else the fields that the rows have.
        key: The key column or columns.
        brokers: ``host:port,…``; what is configured, or the managed broker, unless given.
        folder: Where to keep the store; ``views`` in the home folder unless given.

    Example:
        >>> with View("customers", "id string, city string", key="id") as view:
        ...     view.wait()
        ...     view.get("ann")
        {'id': 'ann', 'city': 'Oslo'}
    """

    def __init__(
        self,
        topic: str,
        schema: Any = None,
        key: str | Sequence[str] = (),
        *,
        brokers: str | None = None,
        folder: str | Path | None = None,
    ) -> None:
        if schema is None and key:
            raise ConfigError("key= names columns, which only a schema has; give schema= too, or leave key= out")
        keys = [key] if isinstance(key, str) else key
        layout = None if schema is None else Declared(Schema.of(schema), keys)
        settings = connect(brokers)
        self._topic = TableTopic(topic, settings)
        self._path = _path(topic, folder)
        self._store = Reading(self._path, topic)
        self._follower = Follower(self._topic, self._path, layout, settings, self._store.damage)
        self._follower.start()
        try:
            self._begin(layout)
        except BaseException:
            self.close()
            raise

    @property
    def table(self) -> str:
        """Return the table's name in SQL: the topic's, with ``_`` for what is neither letter nor digit."""
        return self._store.tables[0]

    @property
    def offsets(self) -> dict[int, int]:
        """Return where each partition goes on after what is stored."""
        return self._store.position().offsets

    @property
    def skipped(self) -> int:
        """Return how many events were no rows that fit, since the view was built."""
        return self._store.position().skipped

    def get(self, key: Any) -> dict[str, Any] | None:
        """Return the row of a key, or None if there is none.

        Args:
            key: The value of the key column; a dict or a tuple where there are several. Text always means the key of
                the event as it lies in the topic.
        """
        return self._store.get(key)

    def range(self, low: Any = None, high: Any = None, *, limit: int = 1000) -> list[dict[str, Any]]:
        """Return rows in the order of their key, which must be of one column.

        Args:
            low: The first key to be among them; None begins at the first row.
            high: The last key to be among them; None ends at the last row.
            limit: At most so many rows.
        """
        return self._store.range(low, high, _counted(limit))

    def page(self, after: str | bytes | None = None, *, limit: int = 100) -> list[tuple[str | bytes, dict[str, Any]]]:
        """Return rows under their keys as they lie in the topic, in the order of these, to look through all of them.

        Args:
            after: The last key of the page before; None begins with the first row.
            limit: At most so many rows.
        """
        return self._store.page(after, _counted(limit))

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns that SQL knows."""
        return list(self._store.layout.names)

    def query(self, sql: str, *params: Any, limit: int = 1000, timeout: float = 10.0) -> list[dict[str, Any]]:
        """Return what SQL of SQLite selects from the table; it sees the rows as they were at one moment.

        Args:
            sql: A SELECT; the table is called as `table` says, or by the topic's name in double quotes.
            params: For each ``?`` in it.
            limit: At most so many rows, whatever the SQL says.
            timeout: Seconds after which it is stopped.

        Raises:
            ViewTimeoutError: It took longer.
            ViewError: It does anything but read, or cannot be understood.

        Example:
            >>> view.query("select city, count(*) as n from customers group by city having n > ?", 10)  # doctest: +SKIP
        """
        return self._store.query(sql, params, _counted(limit), timeout)

    def lag(self) -> int:
        """Return how many events the store lacks, counted in offsets; open transactions are not among them."""
        return self._topic.ahead(self._store.position())

    def wait(self, timeout: float = 60.0, *, progress: Callable[[int], None] | None = None) -> None:
        """Wait until all is stored that is in the topic now.

        Args:
            timeout: Seconds to wait at most.
            progress: Called with the number of offsets still to come, again and again.

        Raises:
            ViewTimeoutError: It takes longer; the message tells what is in the way.
        """
        deadline = time.monotonic() + timeout
        life = self._topic.life()
        ends = self._topic.ends(life)
        while left := self._left(life.id, ends):
            if time.monotonic() > deadline:
                raise ViewTimeoutError(f"after {timeout:g} s the view of {self._topic.name!r} {self._why(left)}")
            if progress is not None:
                progress(left)
            time.sleep(_GLANCE)

    def close(self) -> None:
        """Stop following; what is stored stays."""
        self._store.close()
        self._follower.stop()
        self._topic.close()

    def __len__(self) -> int:
        return self._store.count()

    def __bool__(self) -> bool:
        return True  # a view without rows is still a view

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def _begin(self, layout: Declared | None) -> None:
        """Wait until there is something to read, and see whether it is what was asked for."""
        self._follower.ready.wait()
        if failure := self._follower.failure:
            raise failure if isinstance(failure, HeadraceError) else ViewError(f"{self._path}: {failure}") from failure
        deadline = time.monotonic() + _PATIENCE
        while not self._store.ready():
            if time.monotonic() > deadline:
                raise ViewError(f"process {writer(self._path)} holds {self._path}, but stores nothing; stop it first")
            time.sleep(_GLANCE)
        if layout is not None and self._store.layout.facts != layout.facts:
            raise ViewError(
                f"process {writer(self._path)} follows {self._topic.name!r} with other columns or another key; declare "
                "the same here, or give folder="
            )

    def _left(self, life: str, ends: dict[int, int]) -> int:
        position = self._store.position()
        begun = position.offsets if position.life == life else {}
        left = sum(max(0, end - begun.get(number, 0)) for number, end in ends.items())
        return left or int(position.life != life)  # rows of an earlier life are not this topic's

    def _why(self, left: int) -> str:
        trouble = (
            f": {self._follower.trouble}" if self._follower.trouble else f"; process {writer(self._path)} writes it"
        )
        return f"still lacks {left:,} offsets{trouble}"


def stored(topic: str, *, brokers: str | None = None, folder: str | Path | None = None) -> tuple[int, int] | None:
    """Return how many rows the store of a topic has and how far it lags, without following; None if there is none."""
    store = Reading(_path(topic, folder), topic)
    with closing(store):
        if not store.ready():
            return None
        with closing(TableTopic(topic, connect(brokers))) as table:
            return store.count(), table.ahead(store.position())


def _path(topic: str, folder: str | Path | None) -> Path:
    return store_path(Path(folder) if folder else Settings.load().home / _FOLDER, topic)


def _counted(limit: int) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ConfigError(f"limit must be a number of rows, at least 1, not {limit!r}")
    return limit
