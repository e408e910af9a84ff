"""The log as it is now: its topics with their rates. Asked no more often than somebody looks."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from headrace.core.errors import HeadraceError
from headrace.log.letter import is_ledger
from headrace.log.names import is_internal
from headrace.log.topics import TopicInfo, Topics
from headrace.web.kept import Kept
from headrace.web.log import Log

_SPAN = 6.0  # seconds over which a rate is reckoned
_CONFIGS = 30.0  # seconds between two looks which topics are compacted
Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LogState:
    """What was seen at one moment.

    Attributes:
        at: When, by the clock that only goes forward.
        brokers: The address, or None where no broker was found.
        error: Why nothing could be seen.
        topics: All of them.
        compacted: Which are tables.
        rates: Events per second of each.
        aside: When a topic of dead letters was last seen to grow, by the same clock.
    """

    at: float = 0.0
    brokers: str | None = None
    error: HeadraceError | None = None
    topics: tuple[TopicInfo, ...] = ()
    compacted: frozenset[str] = frozenset()
    rates: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    aside: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def own(self) -> tuple[TopicInfo, ...]:
        """Return the topics that users know."""
        return tuple(topic for topic in self.topics if not is_internal(topic.name))

    @property
    def tables(self) -> tuple[TopicInfo, ...]:
        """Return the tables that users know."""
        return tuple(topic for topic in self.own if topic.name in self.compacted)


class LogWatch:
    """Looks at the log when it is asked to, and remembers for a moment what it saw."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._kept: Kept[Topics] = Kept(log.brokers, lambda brokers: Topics(brokers, start=False, config=log.config))
        self._before: list[tuple[float, Counts]] = []  # ends of topics, some seconds back
        self._configured = 0.0
        self.state = LogState()
        self.seen = False  # whether a broker was ever found

    def look(self, age: float = 1.0) -> LogState:
        """Return what the log is like, seen at most ``age`` seconds ago; several who ask at once share one look."""
        with self._kept.alone():
            if time.monotonic() - self.state.at > age:
                self.state = self._looked()
            return self.state

    def found(self, age: float = 1.0) -> LogState:
        """Like `look`, but raise why nothing can be seen, unless there never was anything."""
        state = self.look(age)
        if state.error is not None and (self.seen or not self._log.managed):
            raise state.error
        return state

    def close(self) -> None:
        """Let go of the connection; a look that is under way is not waited for long."""
        self._kept.close()

    def _looked(self) -> LogState:
        try:
            client, brokers = self._kept.client(), self._log.brokers()
            topics = client.list(internal=True)
            compacted = self._compacted(client, topics)
        except HeadraceError as error:
            self._kept.drop()
            self._before.clear()
            return LogState(time.monotonic(), None, error)
        self.seen = True
        now, ends = time.monotonic(), {topic.name: sum(p.latest for p in topic.partitions) for topic in topics}
        state = LogState(now, brokers, None, topics, compacted, self._rates(now, ends), self._aside(now, ends))
        self._before.append((now, ends))
        return state

    def _compacted(self, client: Topics, topics: tuple[TopicInfo, ...]) -> frozenset[str]:
        same = {topic.name for topic in topics} == {topic.name for topic in self.state.topics}
        if same and time.monotonic() < self._configured + _CONFIGS:
            return self.state.compacted
        self._configured = time.monotonic()
        return frozenset(topic.name for topic in client.compacted(topics))

    def _rates(self, now: float, ends: Counts) -> dict[str, float]:
        while len(self._before) > 1 and self._before[1][0] <= now - _SPAN:
            self._before.pop(0)
        if not self._before or now <= self._before[0][0]:
            return dict.fromkeys(ends, 0.0)
        since, first = self._before[0]
        return {name: round(max(0, end - first.get(name, end)) / (now - since), 1) for name, end in ends.items()}

    def _aside(self, now: float, ends: Counts) -> dict[str, float]:
        last = self._before[-1][1] if self._before else ends
        grown = {name: now for name, end in ends.items() if is_ledger(name) and end > last.get(name, 0)}
        return {**{name: at for name, at in self.state.aside.items() if name in ends}, **grown}
