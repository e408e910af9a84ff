"""An event that was put aside: why, whence, and whether it can go back."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from headrace.core.codec import printable
from headrace.core.errors import ConfigError
from headrace.log.dead_letters import LATE_SUFFIX, OFFSET, PARTITION, REASON, SUFFIX, TOPIC
from headrace.log.event import EVENT_TIME, Event
from headrace.log.names import check_topic_name

Headers = list[tuple[str, bytes | None]]
RECEIVED = "headrace-received"  # of a replayed event: when the log first had it, in milliseconds since the epoch
_OURS = "headrace-"
_DIGITS = 15  # of milliseconds up to the year 33658


class Place(NamedTuple):
    """Where a letter lies in its topic."""

    partition: int
    offset: int

    def __str__(self) -> str:
        return f"offset {self.offset} of partition {self.partition}"


class Source(NamedTuple):
    """Where an event lay before it was put aside."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Letter:
    """An event that was put aside.

    Attributes:
        event: As it lies among the letters.
        reason: Why.
        source: Whence, if it tells.
        replayed: Whether it was sent again.
    """

    event: Event
    reason: str | None
    source: Source | None
    replayed: bool

    @classmethod
    def of(cls, event: Event, replayed: bool) -> "Letter":
        """Read what the headers tell."""
        told = event.headers
        return cls(event, printable(told[REASON]) if REASON in told else None, _source(told), replayed)

    @property
    def place(self) -> Place:
        """Return where it lies."""
        return Place(self.event.partition, self.event.offset)

    @property
    def trouble(self) -> str | None:
        """Return why it cannot be sent back, if it cannot."""
        if self.source is None:
            return "it does not tell where it came from"
        if self.source.partition < 0:
            return "it is a result that was too large for its topic, not an event that was read"
        if source_of(self.event.topic) not in (None, self.source.topic):
            return f"it says that it came from {self.source.topic!r}, and this topic is not that one's"
        return None


@dataclass(frozen=True, slots=True)
class Ledger:
    """A topic of letters; ``source`` is where those of a dead-letter topic came from, late ones tell it each."""

    topic: str
    source: str | None
    events: int
    newest: datetime | None


def own_headers(event: Event) -> Headers:
    """Return the headers that an event's producer gave it."""
    return [(name, value) for name, value in event.raw_headers if not name.startswith(_OURS) or name == EVENT_TIME]


def received(event: Event) -> int:
    """Return when the log first had an event, in milliseconds: what an earlier replay tells, or the log's own time.

    What is no number, or lies after the log's own time, tells nothing.
    """
    own = round(event.timestamp.timestamp() * 1000)
    told = event.headers.get(RECEIVED, "")
    if told.isascii() and told.isdigit() and len(told) <= _DIGITS and 0 < int(told) <= own:
        return int(told)
    return own


def is_ledger(topic: str) -> bool:
    """Whether a topic is one of letters, by its name."""
    return any(topic.endswith(suffix) and topic != suffix for suffix in (SUFFIX, LATE_SUFFIX))


def check_ledger(topic: str) -> str:
    """Return ``topic`` if it is one of letters."""
    if not is_ledger(check_topic_name(topic)):
        raise ConfigError(f"{topic!r} is no topic of dead letters; their names end in {SUFFIX} or {LATE_SUFFIX}")
    return topic


def source_of(topic: str) -> str | None:
    """Return from where all letters of a topic come, if that is one."""
    return topic.removesuffix(SUFFIX) if topic.endswith(SUFFIX) else None


def _source(told: Mapping[str, str]) -> Source | None:
    try:
        return Source(check_topic_name(told[TOPIC]), int(told[PARTITION]), int(told[OFFSET]))
    except (KeyError, ValueError):
        return None
