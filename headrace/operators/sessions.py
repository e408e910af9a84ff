"""Session windows that tell each change: which sessions an event makes, extends or joins together."""

from collections.abc import Iterable
from dataclasses import dataclass, field

Event = tuple[int, str]  # time in microseconds, and the row as text
Bounds = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Session:
    """Events of one key, ``[start, stop)``, where ``stop`` is a gap after the last; one at ``stop`` still joins it."""

    start: int
    stop: int
    events: tuple[Event, ...]


@dataclass(slots=True)
class Change:
    """What some events did to the sessions of a key.

    Attributes:
        sessions: All that are open now.
        changed: Those among them that are new or have new events.
        gone: The bounds of those that were there before and are not any more: each became part of a changed one.
    """

    sessions: list[Session]
    changed: list[Session] = field(default_factory=list)
    gone: list[Bounds] = field(default_factory=list)


def add(sessions: Iterable[Session], events: Iterable[Event], gap: int) -> Change:
    """Add events, in any order, to the sessions of a key.

    Example:
        >>> before = [Session(0, 10, ((0, "a"),))]
        >>> change = add(before, [(10, "b")], gap=10)
        >>> [(s.start, s.stop) for s in change.changed], change.gone
        ([(0, 20)], [(0, 10)])
    """
    before = list(sessions)
    parts = [*before, *(Session(at, at + gap, ((at, row),)) for at, row in events)]
    merged: list[list[Session]] = []
    stop = 0
    for part in sorted(parts, key=lambda session: (session.start, session.stop)):
        if merged and part.start <= stop:
            merged[-1].append(part)
            stop = max(stop, part.stop)
        else:
            merged.append([part])
            stop = part.stop
    old = {id(session) for session in before}
    change = Change([])
    for group in merged:
        if len(group) == 1 and id(group[0]) in old:
            change.sessions.append(group[0])
            continue
        together = _join(group)
        change.sessions.append(together)
        change.changed.append(together)
        change.gone += [
            (one.start, one.stop)
            for one in group
            if id(one) in old and (one.start, one.stop) != (together.start, together.stop)
        ]
    return change


def still_open(sessions: Iterable[Session], watermark: int) -> list[Session]:
    """Return the sessions that may still change: those that end after ``watermark``."""
    return [session for session in sessions if session.stop > watermark]


def _join(group: list[Session]) -> Session:
    events = tuple(sorted(event for part in group for event in part.events))
    return Session(min(part.start for part in group), max(part.stop for part in group), events)
