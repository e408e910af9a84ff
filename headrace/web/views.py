"""Views of tables that pages look at: opened when they are first asked for, closed when nobody asks any more."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from headrace.core.errors import BrokerUnavailableError, UnknownTopicError, ViewError, ViewTimeoutError
from headrace.core.settings import Settings
from headrace.log.topics import TopicInfo
from headrace.serve.files import store_path
from headrace.serve.reading import Reading
from headrace.serve.view import View
from headrace.web.log import Log

_FOLDER = "views"
_MOST = 8  # views open at once
_IDLE = 300.0  # seconds after which one is closed
_PATIENCE = 3.0  # seconds to catch up before answering with what there is


@dataclass
class _Open:
    """A view that is open, or being opened."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    view: View | None = None
    users: int = 0
    used: float = 0.0


class Views:
    """The views that are open, at most eight that nobody uses."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self._folder = settings.home.absolute() / _FOLDER
        self._log = log
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}
        self._counts: dict[str, tuple[object, int]] = {}

    @contextmanager
    def use(self, topic: str) -> Iterator[View]:
        """Return the view of a topic; it stays open for the next who asks."""
        with self._lock:
            mine = self._open.setdefault(topic, _Open())
            mine.users += 1
        try:
            with mine.lock:
                if mine.view is None:
                    mine.view = View(topic, brokers=self._log.brokers(), folder=self._folder)
            yield mine.view
        except UnknownTopicError:
            mine.used = -_IDLE  # it is of a topic that is no more
            raise
        else:
            mine.used = time.monotonic()
        finally:
            with self._lock:
                mine.users -= 1
            self.tidy()

    def stored(self, topic: TopicInfo) -> tuple[int, int] | None:
        """Return how many rows are stored of a table, and how many events it lacks; None if it is not stored."""
        with closing(Reading(store_path(self._folder, topic.name), topic.name)) as store:
            if not store.ready():
                return None
            try:
                position = store.position()
                state = position.life, tuple(sorted(position.offsets.items()))
                if self._counts.get(topic.name, (None, 0))[0] != state:
                    self._counts[topic.name] = state, store.count()
            except ViewError:  # it is being built anew
                return None
        lag = sum(max(0, p.latest - position.offsets.get(p.id, p.earliest)) for p in topic.partitions)
        return self._counts[topic.name][1], lag

    def tidy(self) -> None:
        """Close what nobody has used for a while, and what is too many."""
        with self._lock:
            idle = sorted((one.used, topic) for topic, one in self._open.items() if not one.users)
            now = time.monotonic()
            many = len(self._open) - _MOST
            gone = [topic for n, (used, topic) in enumerate(idle) if n < many or now - used > _IDLE]
            closing_now = [self._open.pop(topic).view for topic in gone]
        for view in closing_now:
            if view is not None:
                view.close()

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            left, self._open = list(self._open.values()), {}
        for one in left:
            if one.view is not None:
                one.view.close()


def catch_up(view: View) -> bool:
    """Wait a little until a view has all that its topic has; False if it lacks something still."""
    try:
        view.wait(_PATIENCE)
    except (ViewTimeoutError, BrokerUnavailableError):
        return False
    return True
