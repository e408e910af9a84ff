"""Looking for events in a topic: the newest, those before, those from a place on, of a key, with a text."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from headrace.core.errors import ConfigError
from headrace.log.event import Event
from headrace.log.reader import Bounds, Offsets, Reader

Shown = TypeVar("Shown")
_FEWEST = 20  # offsets, of which some are markers of transactions and no events
_FIRST_WINDOW = 200  # offsets of each partition that a search looks at first; then twice as many, and so on
_LARGEST_WINDOW = 10_000
_SECONDS = 5.0  # after which a search answers with what it has found so far
_LOOK = 256  # events between two looks at the clock


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events are looked for, and how many."""

    limit: int = 50
    key: str | None = None
    contains: str | None = None
    partition: int | None = None
    seconds: float = _SECONDS

    @property
    def filters(self) -> bool:
        """Whether some events do not count."""
        return self.key is not None or bool(self.contains)

    def fits(self, event: Event) -> bool:
        """Whether an event is one of them."""
        if self.key is not None and event.raw_key != self.key.encode("utf-8", "surrogateescape"):
            return False
        sought = (self.contains or "").encode("utf-8", "surrogateescape")
        return not sought or sought in (event.raw_value or b"") or sought in (event.raw_key or b"")

    def chosen(self, bounds: Mapping[int, Bounds]) -> dict[int, Bounds]:
        """Return the partitions to look at."""
        if self.partition is None:
            return dict(bounds)
        if self.partition not in bounds:
            raise ConfigError(f"the topic has the partitions 0 to {len(bounds) - 1}, not {self.partition}")
        return {self.partition: bounds[self.partition]}


@dataclass(frozen=True, slots=True)
class Found(Generic[Shown]):
    """What was found, oldest first, and where to go on.

    Attributes:
        events: As they are shown.
        before: Where the next search of older events ends.
        next: Where the next search of newer events begins.
        older: Whether there may be any before.
        newer: Whether there may be any after.
    """

    events: list[Shown]
    before: dict[int, int]
    next: dict[int, int]
    older: bool
    newer: bool


@dataclass(slots=True)
class _Kept(Generic[Shown]):
    """What was kept of one partition: the newest at the end, each with its time and offset."""

    begin: int  # where looking has got to
    events: "deque[tuple[datetime, int, Shown]]" = field(default_factory=deque)
    cut: bool = False  # whether older ones were found and not kept


def backward(
    reader: Reader, topic: str, wanted: Wanted, show: Callable[[Event], Shown], before: Offsets | None = None
) -> Found[Shown]:
    """Return the newest events, or those before given offsets.

    Over the partitions they are ordered by time as far as was read; none is left out that a further search with
    ``before`` would not find.
    """
    bounds = wanted.chosen(reader.bounds(topic))
    ends = {n: min(held.end, max(held.first, (before or {}).get(n, held.end))) for n, held in bounds.items()}
    search = _Backward(reader, topic, wanted, show, ends)
    deadline = time.monotonic() + wanted.seconds
    window = max(_FIRST_WINDOW if wanted.filters else _FEWEST, wanted.limit)
    while not search.enough(bounds) and time.monotonic() < deadline:
        search.look(bounds, window)
        window = min(window * 2, _LARGEST_WINDOW)
    events = _merged(search.kept, wanted.limit)
    begin = {number: one.begin for number, one in search.kept.items()}
    older = any(begin[number] > bounds[number].first for number in begin)
    return Found(events, begin, ends, older, any(ends[n] < bounds[n].end for n in ends))


def forward(reader: Reader, topic: str, wanted: Wanted, show: Callable[[Event], Shown], begin: Offsets) -> Found[Shown]:
    """Return the first events from given offsets on; a partition that is not named has none."""
    bounds = wanted.chosen(reader.bounds(topic))
    here = {n: min(max(begin[n], held.first), held.end) for n, held in bounds.items() if n in begin}
    ends = {n: bounds[n].end for n in here}
    after, found, finished = dict(here), list[tuple[datetime, int, int, Shown]](), True
    deadline = time.monotonic() + wanted.seconds
    for number, event in enumerate(reader.between(topic, here, ends)):
        after[event.partition] = event.offset + 1
        if wanted.fits(event):
            found.append((event.timestamp, event.partition, event.offset, show(event)))
        if len(found) == wanted.limit or (number % _LOOK == 0 and time.monotonic() > deadline):
            finished = False
            break
    if finished:
        after = ends
    newer = any(after[n] < ends[n] for n in after)
    events = [shown for *_, shown in sorted(found, key=lambda one: one[:3])]
    return Found(events, here, after, any(here[n] > bounds[n].first for n in here), newer)


def place(reader: Reader, topic: str, given: int | datetime) -> dict[int, int]:
    """Return where an offset, or a time, lies in each partition."""
    bounds = reader.bounds(topic)
    if isinstance(given, datetime):
        return reader.at(topic, given, len(bounds))
    return dict.fromkeys(bounds, given)


class _Backward(Generic[Shown]):
    """A search that goes back window by window."""

    def __init__(
        self, reader: Reader, topic: str, wanted: Wanted, show: Callable[[Event], Shown], ends: Offsets
    ) -> None:
        self._reader, self._topic, self._wanted, self._show = reader, topic, wanted, show
        self.kept: dict[int, _Kept[Shown]] = {number: _Kept(end) for number, end in ends.items()}

    def enough(self, bounds: Mapping[int, Bounds]) -> bool:
        """Whether as many were found as are wanted, or there are no more."""
        unread = any(one.begin > bounds[number].first for number, one in self.kept.items())
        return not unread or sum(len(one.events) for one in self.kept.values()) >= self._wanted.limit

    def look(self, bounds: Mapping[int, Bounds], window: int) -> None:
        """Read one window more of each partition, and put what fits before what was kept."""
        ends = {number: one.begin for number, one in self.kept.items()}
        begin = {number: max(bounds[number].first, end - window) for number, end in ends.items()}
        found: dict[int, deque[tuple[datetime, int, Shown]]] = {number: deque() for number in ends}
        for event in self._reader.between(self._topic, begin, ends):
            if not self._wanted.fits(event):
                continue
            mine = found[event.partition]
            mine.append((event.timestamp, event.offset, self._show(event)))
            if len(mine) > self._wanted.limit:
                mine.popleft()
                self.kept[event.partition].cut = True
        for number, one in self.kept.items():
            one.events.extendleft(reversed(found[number]))
            one.begin = begin[number]


def _merged(kept: dict[int, _Kept[Shown]], limit: int) -> list[Shown]:
    """Take the newest from the ends of the partitions, and leave each where it then ends."""
    taken: list[Shown] = []
    oldest: dict[int, int] = {}
    while len(taken) < limit and (filled := [n for n, one in kept.items() if one.events]):
        number = max(filled, key=lambda n: kept[n].events[-1][0])
        _, oldest[number], shown = kept[number].events.pop()
        taken.append(shown)
    for number, one in kept.items():
        if one.events:
            one.begin = one.events[-1][1] + 1
        elif one.cut:
            one.begin = oldest[number]
    return taken[::-1]
