"""Topics followed by a page: from now on, from their last events, or from where it was when the connection broke."""

import time
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any

from headrace.core.errors import ConfigError
from headrace.log.event import Event
from headrace.log.following import Following, begin_at
from headrace.log.names import check_topic_name
from headrace.log.reader import Offsets, Reader
from headrace.log.search import Wanted, backward
from headrace.web.asked import Asked
from headrace.web.events import SHOWN, shown
from headrace.web.site import Site
from headrace.web.streams import Feed, Told

_MOST_TOPICS = 20
_MOST_LAST = 1000  # events of each topic with which a stream may begin
_MOST_BYTES = 16_000_000  # of all these; the oldest of a topic that has no room are left out
_FRAME = 300  # bytes of an event beside its key and value, about
_SETTLING = 2.0  # seconds until an end that lies before where a page was means that the topic was created anew
_GLANCE = 0.1
Shape = Callable[[list[Event], Following], dict[str, Any]]


class TailFeed:
    """What arrives in topics; every event tells where to go on after it, and so does the first, which has no news."""

    def __init__(self, following: Following, shape: Shape, first: dict[str, Any]) -> None:
        self._following, self._shape = following, shape
        self._first: dict[str, Any] | None = first

    def next(self) -> Told | None:
        """Return what came within a second."""
        if self._first is not None:
            told, self._first = self._first, None
            return "events", told
        found = self._following.read()
        return ("events", self._shape(found, self._following)) if found else None

    def close(self) -> None:
        """Close the Kafka client."""
        self._following.close()


def tail(site: Site, asked: Asked) -> Feed:
    """Follow one topic, from its end or from given offsets on."""
    topic = check_topic_name(asked.path["topic"])
    given = asked.offsets("from")
    with site.log.reader() as reader:
        begin, missed = _begin(reader, topic, given)

    def shape(events: list[Event], following: Following) -> dict[str, Any]:
        return {"events": [shown(event) for event in events], "next": dict(following.next[topic])}

    following = site.log.following({topic: begin})
    first = {**shape([], following), **({"missed": missed} if missed else {})}
    return TailFeed(following, shape, first)


def stream(site: Site, asked: Asked) -> Feed:
    """Follow several topics, from their ends, from their last events, or from given offsets on."""
    topics = _topics(asked.query.get("topics", ""))
    last = _last(asked.query.get("start", "latest"))
    given = asked.offsets_by_topic("from")
    begin: dict[str, Offsets] = {}
    events: list[dict[str, Any]] = []
    with site.log.reader() as reader:
        for topic in topics:
            if given is None and last:
                found = backward(reader, topic, Wanted(last), _shown_with_topic)
                events += _newest(found.events, _MOST_BYTES - sum(map(_bytes, events)))
                begin[topic] = found.next
            else:
                begin[topic], _ = _begin(reader, topic, None if given is None else given.get(topic, {}))

    def shape(events: list[Event], following: Following) -> dict[str, Any]:
        return {"events": [_shown_with_topic(event) for event in events], "next": _copied(following.next)}

    following = site.log.following(begin)
    return TailFeed(following, shape, {"events": events, "next": _copied(following.next)})


def _begin(reader: Reader, topic: str, given: Offsets | None) -> tuple[dict[int, int], int]:
    """Return where to begin, and how many offsets the topic has deleted of those that were to come."""
    bounds = reader.bounds(topic)
    if given is None:
        return {number: held.end for number, held in bounds.items()}, 0
    deadline = time.monotonic() + _SETTLING
    while any(bounds[n].end < offset for n, offset in given.items() if n in bounds) and time.monotonic() < deadline:
        time.sleep(_GLANCE)  # a broker that has just come back does not know its ends at once
        bounds = reader.bounds(topic)
    missed = sum(max(0, bounds[n].first - offset) for n, offset in given.items() if n in bounds)
    return begin_at(bounds, given), missed


def _topics(given: str) -> list[str]:
    topics = list(dict.fromkeys(check_topic_name(name) for name in given.split(",") if name))
    if not 0 < len(topics) <= _MOST_TOPICS:
        raise ConfigError(f"topics must name 1 to {_MOST_TOPICS} topics, like topics=orders,payments")
    return topics


def _last(start: str) -> int:
    kind, _, count = start.partition(":")
    if start == "latest":
        return 0
    short = count.isascii() and count.isdecimal() and len(count) <= len(str(_MOST_LAST))
    if kind == "tail" and short and int(count) <= _MOST_LAST:
        return int(count)
    raise ConfigError(f"start must be latest or tail:N with N up to {_MOST_LAST}, not {start[:50]!r}")


def _newest(events: list[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    sizes = accumulate(map(_bytes, reversed(events)))
    fitting = sum(size <= room for size in sizes)
    return events[len(events) - fitting :]


def _bytes(event: dict[str, Any]) -> int:
    """Return about how much is sent of an event."""
    return _FRAME + min(int(event["size"]), SHOWN)


def _shown_with_topic(event: Event) -> dict[str, Any]:
    return {**shown(event), "topic": event.topic}


def _copied(offsets: Mapping[str, Offsets]) -> dict[str, dict[int, int]]:
    return {topic: dict(held) for topic, held in offsets.items()}
