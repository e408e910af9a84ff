"""The thread that keeps a store up to date."""

import sqlite3
import threading
import time
from collections.abc import Mapping
from concurrent.futures import wait
from contextlib import closing
from pathlib import Path
from typing import Any

from headrace.core.errors import HeadraceError
from headrace.serve.changes import Changes, OffsetsGoneError
from headrace.serve.files import damaged, put_aside, writing
from headrace.serve.layout import Layout
from headrace.serve.store import Store, logger
from headrace.serve.topic import Life, TableTopic

_TICK = 0.25  # seconds that a look for changes takes if there are none
_LOOK = 1.0  # seconds between two looks whether the topic is still the same
_TOUCH = 60.0  # seconds between two notes that there is nothing new
_PAUSE = 0.5  # seconds until trying again what failed, or what another process does


class Follower(threading.Thread):
    """Applies what arrives in a topic to a store, for as long as no other process does.

    Troubles after the start, such as a broker that is away, are logged, and tried again.

    Attributes:
        ready: Set when the store can be read, or when that failed.
        failure: Why that failed.
        trouble: What went wrong last.
        damage: Set by readers that find the file damaged.
    """

    def __init__(
        self, topic: TableTopic, path: Path, layout: Layout | None, settings: Mapping[str, Any], damage: threading.Event
    ) -> None:
        super().__init__(name=f"view of {topic.name}", daemon=True)
        self._topic = topic
        self._path = path
        self._layout = layout
        self._settings = settings
        self._ended = threading.Event()
        self.ready = threading.Event()
        self.failure: Exception | None = None
        self.trouble: str | None = None
        self.damage = damage

    def run(self) -> None:
        """Follow until told to stop."""
        while not self._ended.is_set():
            try:
                with writing(self._path) as mine:
                    if mine:
                        self._follow()
                    else:
                        self.ready.set()
            except Exception as error:
                if not self.ready.is_set():
                    self.failure = error
                    self.ready.set()
                    return
                self._tell(error)
            self._ended.wait(_PAUSE)

    def stop(self) -> None:
        """Stop, and wait until the file is closed."""
        self._ended.set()
        self.join()

    def _follow(self) -> None:
        try:
            with closing(Store.open(self._path, self._topic.name, self._layout)) as store:
                self._feed(store)
        except sqlite3.DatabaseError as error:
            if not damaged(error):
                raise
            self.damage.set()
        if self.damage.is_set():
            logger.warning("the store of %r is damaged; it is now %s", self._topic.name, put_aside(self._path))
            self.damage.clear()

    def _feed(self, store: Store) -> None:
        """Apply changes while the topic and the file stay what they are."""
        asked = self._topic.ask()
        while not wait([asked], _TICK).done:
            if self._ended.is_set():
                return
        life = self._topic.life_of(asked)
        self._prepare(store, life)
        self.trouble = None
        self.ready.set()
        try:
            with closing(Changes(self._topic.name, self._settings, store.position.offsets)) as changes:
                self._apply(store, changes, life)
        except OffsetsGoneError:
            store.clear(life.id)

    def _prepare(self, store: Store, life: Life) -> None:
        """Begin from the start unless what is stored can be gone on with."""
        first, ends = self._topic.first(life), self._topic.ends(life)
        held = {n: offset for n, offset in store.position.offsets.items() if n in ends}
        lost = any(not first[n] <= offset <= ends[n] for n, offset in held.items())
        if store.position.life != life.id or lost or self._forgotten(store, held, ends):
            store.clear(life.id)
        store.begin(first)

    def _forgotten(self, store: Store, held: Mapping[int, int], ends: Mapping[int, int]) -> bool:
        """Whether rows may have been deleted without a trace since the store was complete."""
        if all(ends[number] == offset for number, offset in held.items()):
            return False
        return time.time() - store.position.fresh > self._topic.tombstones()

    def _apply(self, store: Store, changes: Changes, life: Life) -> None:
        asked, looked = self._topic.ask(), time.monotonic()
        while not self._ended.is_set() and not self.damage.is_set():
            batch = changes.next(_TICK)
            if not batch.offsets.items() <= store.position.offsets.items():
                store.apply(batch)
            elif batch.whole and time.time() - store.position.fresh > _TOUCH:
                store.touch()
            if asked.done() and time.monotonic() - looked > _LOOK:
                if self._topic.life_of(asked) != life or not self._path.exists():
                    return
                asked, looked = self._topic.ask(), time.monotonic()

    def _tell(self, error: Exception) -> None:
        told = str(error) if isinstance(error, HeadraceError) else f"{type(error).__name__}: {error}"
        if told != self.trouble:
            logger.warning("the view of %r is not kept up to date: %s", self._topic.name, told)
        self.trouble = told
