"""Whatever the order, the duplicates and the lateness of events: results are those of plain Python over the same ones.

One program holds every kind of window and join. An event counts for a window unless the time that held before its
sending, the newest event time less lateness and grace, has passed the window's end; what does not count is in late().
A session that has closed takes no more: an event that would have been part of it, and is not late by itself, begins
another. So sessions, alone of all, depend on where sendings begin and end.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace.testing import TestDriver
from tests.spark.times import iso, utc

ALL = os.environ.get("HEADRACE_FAULTS") == "all"
PHASES = [Phase.explicit, Phase.generate] if ALL else [Phase.explicit]  # each takes a minute
LATENESS, GRACE, NEAR = 10, 7, 8
SCHEMA = "id int, k string, x int, at timestamp"
Row = dict[str, Any]
Window = tuple[float, float]


@dataclass(frozen=True)
class Event:
    id: int
    k: str
    x: int
    at: int

    @property
    def row(self) -> Row:
        return {"id": self.id, "k": self.k, "x": self.x, "at": iso(self.at)}


@dataclass(frozen=True)
class Case:
    """A kind of window: how it is declared, and which windows of one event there are."""

    declared: Any
    windows: Callable[[int], list[Window]]
    session: bool = False
    emits: tuple[str, ...] = ("final", "updates")
    grace: int = 0


def hops(size: int, every: int) -> Callable[[int], list[Window]]:
    first = -(-size // every)
    return lambda at: [
        (start, start + size)
        for start in range((at // every - first) * every, at + 1, every)
        if start <= at < start + size
    ]


CASES = {  # ten o'clock is a multiple of all their steps; to test another kind of window, or emission, add it here
    "tumbling": Case(hr.tumbling("10 seconds"), hops(10, 10)),
    "hopping": Case(hr.hopping("20 seconds", every="5 seconds"), hops(20, 5), emits=("updates",)),
    "uneven": Case(hr.hopping("10 seconds", every="4 seconds"), hops(10, 4), emits=("final",), grace=GRACE),
    "session": Case(hr.session("6 seconds"), lambda at: [(at, at + 6)], session=True),
}
JOINS = ("inner", "left", "right", "full", "semi")
AGGREGATES: dict[str, tuple[str, Callable[[list[Event]], Any]]] = {
    "n": ("count(*)", len),
    "total": ("sum(x)", lambda events: sum(e.x for e in events)),
    "ids": ("array_sort(collect_set(id))", lambda events: sorted({e.id for e in events})),
    "kinds": ("count(distinct x)", lambda events: len({e.x for e in events})),
    "last": ("last(x)", lambda events: max((e.at, e.x) for e in events)[1]),
    "first": ("first(x)", lambda events: min((e.at, e.x) for e in events)[1]),
    "top": ("top_n(x, x, 2)", lambda events: sorted((e.x for e in events), reverse=True)[:2]),
}


def program() -> hr.App:
    app = hr.App("anything")
    left = app.stream("left", schema=SCHEMA, event_time="at", lateness=f"{LATENESS} seconds")
    right = app.stream("right", schema=SCHEMA, event_time="at", lateness=f"{LATENESS} seconds")
    aggregates = {name: expression for name, (expression, _) in AGGREGATES.items()}
    for name, case in CASES.items():
        for emit in case.emits:
            windowed = left.group_by("k").window(case.declared, emit=emit, grace=f"{case.grace} seconds")  # type: ignore[arg-type]
            windowed.agg(**aggregates, name=f"{name}-{emit}").to(f"{name}-{emit}")
    for how in JOINS:
        joined = left.join(right, on="k", within=f"{NEAR} seconds", how=how, name=how)  # type: ignore[arg-type]
        (joined.select("id") if how == "semi" else joined.select("id", "right_id")).to(f"{how}-join")
    return app


def sendings(seed: int) -> list[tuple[str, list[Event]]]:
    """Batches for both sides: time goes forward on the whole, some events lag, some come twice.

    Each sending takes Spark a while and each event nothing: few large batches.
    """
    chance = Random(seed)
    sent: list[tuple[str, list[Event]]] = []
    numbers = count(1)
    for n, side in enumerate(("left", "right", "left", "right", "left")):
        batch = [
            Event(next(numbers), chance.choice("ab"), chance.randint(0, 3), max(0, 15 * n + chance.randint(-40, 15)))
            for _ in range(chance.randint(5, 25))
        ]
        sent.append((side, batch + chance.sample(batch, 2)))
    return sent


def in_time(
    sent: list[tuple[str, list[Event]]], sides: tuple[str, ...], grace: float = 0
) -> Iterator[tuple[str, Event, float]]:
    """Yield the events with the time by which each is judged: that of the slowest side, less lateness, before it."""
    newest = {side: float("-inf") for side in sides}
    for side, batch in sent:
        if side in sides:
            time = min(newest.values()) - LATENESS - grace
            yield from ((side, event, time) for event in batch)
            newest[side] = max([newest[side], *(event.at for event in batch)])


def windowed(sent: list[tuple[str, list[Event]]], case: Case) -> tuple[dict[tuple[Any, ...], Row], set[int]]:
    """The results by key and window, and the numbers of the events that missed a window."""
    groups: dict[tuple[str, Window], list[Event]] = defaultdict(list)
    late: set[int] = set()
    for _, event, time in in_time(sent, ("left",), case.grace):
        for window in case.windows(event.at):
            if window[1] <= time:
                late.add(event.id)
            elif case.session:
                extend(groups, event, window, time)
            else:
                groups[event.k, window].append(event)
    return {
        (k, *window): {name: reference(events) for name, (_, reference) in AGGREGATES.items()}
        for (k, window), events in groups.items()
    }, late


def extend(sessions: dict[tuple[str, Window], list[Event]], event: Event, window: Window, time: float) -> None:
    """Add an event to the sessions of its key that are open and touch it; they become one."""
    start, end = window
    touched = [(k, w) for k, w in sessions if k == event.k and w[1] > time and w[0] <= end and start <= w[1]]
    events = [event, *(before for session in touched for before in sessions.pop(session))]
    bounds = [window, *(w for _, w in touched)]
    sessions[event.k, (min(w[0] for w in bounds), max(w[1] for w in bounds))] = events


def joined(sent: list[tuple[str, list[Event]]], how: str) -> tuple[list[Any], set[tuple[str, int]]]:
    """The pairs of a join, and the events that were late on either side."""
    kept: dict[str, list[Event]] = {"left": [], "right": []}
    late: set[tuple[str, int]] = set()
    for side, event, time in in_time(sent, ("left", "right"), 0.001):
        if event.at <= time:
            late.add((side, event.id))
        else:
            kept[side].append(event)
    pairs = [(a, b) for a in kept["left"] for b in kept["right"] if a.k == b.k and abs(a.at - b.at) <= NEAR]
    with_left, with_right = {id(a) for a, _ in pairs}, {id(b) for _, b in pairs}
    if how == "semi":
        return sorted(a.id for a in kept["left"] if id(a) in with_left), late
    rows: list[Any] = [(a.id, b.id) for a, b in pairs]
    if how in ("left", "full"):
        rows += [(a.id, None) for a in kept["left"] if id(a) not in with_left]
    if how in ("right", "full"):
        rows += [(None, b.id) for b in kept["right"] if id(b) not in with_right]
    return sorted(rows, key=str), late


def keyed(rows: list[Any]) -> dict[tuple[Any, ...], Row]:
    found = {}
    for row in rows:
        start, end = ((row.pop(side) - utc(0)).total_seconds() for side in ("window_start", "window_end"))
        found[row.pop("k"), start, end] = row
    return found


@pytest.mark.faults
@pytest.mark.timeout(1200)
@settings(max_examples=8, deadline=None, derandomize=True, database=None, phases=PHASES)
@example(1)  # an event for a session that has closed
@given(st.integers(0, 2**32))
def test_results_are_those_of_plain_python(seed: int) -> None:
    sent = sendings(seed)
    with TestDriver(program()) as t:
        for side, batch in sent:
            t.send(side, [event.row for event in batch])
        t.advance_to(iso("20:00"))
        told: dict[str, set[int]] = defaultdict(set)
        for letter in t.late():
            told[letter["reason"].split("'")[1]].add(number(sent, letter))
        for name, case in CASES.items():
            wanted, late = windowed(sent, case)
            for emit in case.emits:
                rows = t.read(f"{name}-{emit}") if emit == "final" else t.table(f"{name}-{emit}")
                found = keyed(rows)
                assert len(found) == len(rows), f"{name} {emit}: a final result comes once"
                assert found == wanted, f"{name} {emit}"
                assert told[f"{name}-{emit}"] == late, f"{name} {emit}"
        for how in JOINS:
            pairs, missed = joined(sent, how)
            rows = t.read(f"{how}-join")
            found = [row["id"] for row in rows] if how == "semi" else [(row["id"], row["right_id"]) for row in rows]
            assert sorted(found, key=None if how == "semi" else str) == pairs, how
            assert told[how] == {id for _, id in missed}, how


def number(sent: list[tuple[str, list[Event]]], letter: Row) -> int:
    events = [event for side, batch in sent for event in batch if side == letter["topic"]]
    return events[letter["offset"]].id
