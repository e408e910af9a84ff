"""Places for boxes that follow each other, in columns from left to right."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

GAP, SPACE, LANE = 48, 18, 12  # between columns, between boxes of a column, for an arrow that passes a column


@dataclass(eq=False)
class Box:
    """Something with a place: a topic, a step, the frame of a stage, or the lane of an arrow that passes by."""

    width: float = 0
    height: float = LANE
    shape: str = ""
    title: str = ""
    lines: Sequence[tuple[str, str]] = ()  # each with its colour
    steps: dict[int, "Box"] = field(default_factory=dict)
    arrows: list[list["Box"]] = field(default_factory=list)
    x: float = 0
    y: float = 0

    @property
    def right(self) -> float:
        """Return the x of the right border."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Return the y of the lower border."""
        return self.y + self.height

    @property
    def middle(self) -> float:
        """Return the y at which arrows begin and end."""
        return self.y + self.height / 2

    @property
    def inner(self) -> set["Box"]:
        """Return all that lies in a frame."""
        return {*self.steps.values(), *(box for chain in self.arrows for box in chain)}


def arrange(boxes: Mapping[Any, Box], edges: Sequence[tuple[Any, Any]], ranks: Mapping[Any, int]) -> list[list[Box]]:
    """Place boxes in columns from left to right; return for each edge its ends, and the lanes by which it passes."""
    columns: defaultdict[int, list[Box]] = defaultdict(list)
    for key, box in boxes.items():
        columns[ranks[key]].append(box)
    chains = []
    for a, b in edges:
        lanes = {rank: Box() for rank in range(ranks[a] + 1, ranks[b])}
        for rank, lane in lanes.items():
            columns[rank].append(lane)
        chains.append([boxes[a], *lanes.values(), boxes[b]])
    x = 0.0
    for rank in sorted(columns):
        width = max(box.width for box in columns[rank])
        for box in columns[rank]:
            box.x, box.width = x, width
        x += width + GAP
    links = [pair for chain in chains for pair in pairwise(chain)]
    for backward in (False, True, False):
        for rank in sorted(columns, reverse=backward):
            _stack(columns[rank], [(b, a) if backward else (a, b) for a, b in links])
    placed = [box for column in columns.values() for box in column]
    move(placed, 0, -min((box.y for box in placed), default=0))
    return chains


def ranks(keys: Iterable[Any], edges: Sequence[tuple[Any, Any]]) -> dict[Any, int]:
    """Return the column of each: beyond all that it follows; a loop is cut where it closes."""
    found: dict[Any, int] = {}
    before = {key: [a for a, b in edges if b == key] for key in keys}

    def rank(key: Any, path: frozenset[Any]) -> int:
        if key not in found:
            path |= {key}
            found[key] = max((rank(a, path) + 1 for a in before[key] if a not in path), default=0)
        return found[key]

    return {key: rank(key, frozenset()) for key in before}


def late(ranks: dict[Any, int], edges: Sequence[tuple[Any, Any]]) -> dict[Any, int]:
    """Put what nothing leads to right before what it leads to."""
    after = {a: min(ranks[b] for start, b in edges if start == a) for a, _ in edges}
    return ranks | {a: rank - 1 for a, rank in after.items() if a not in {b for _, b in edges}}


def _stack(column: Sequence[Box], links: Sequence[tuple[Box, Box]]) -> None:
    """Put the boxes of a column below each other, each as near as can be to the middle of those it is linked to."""
    wanted = {}
    for box in column:
        near = [a.middle for a, b in links if b is box]
        wanted[box] = sum(near) / len(near) if near else box.middle
    floor = 0.0
    for box in sorted(column, key=wanted.__getitem__):
        box.y = max(floor, wanted[box] - box.height / 2)
        floor = box.bottom + SPACE


def move(boxes: Iterable[Box], x: float, y: float) -> None:
    """Shift boxes to the right and down."""
    for box in boxes:
        box.x, box.y = box.x + x, box.y + y
