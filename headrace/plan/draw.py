"""The topology of a program as a picture."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any
from unicodedata import east_asian_width
from xml.sax.saxutils import escape

from headrace.plan.layout import GAP, Box, arrange, late, move, ranks

_LETTER, _ROW = 6.9, 16  # pixels that a letter and a line of text take, generously
_WRAP, _MOST = 26, 8  # letters in a line and lines in a box; the whole text is the box's tooltip
_PAD, _HEAD = 16, 40  # around, and above
_INK, _QUIET, _ARROW, _STATE = "#1f2933", "#5f6b7a", "#8592a3", "#975a16"
_UNPRINTABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML cannot hold
_SHAPES = {
    "topic": 'rx="16" fill="#e3f2ec" stroke="#2f855a"',
    "files": 'rx="2" fill="#eef0f3" stroke="#5f6b7a" stroke-dasharray="4 3"',
    "step": 'rx="4" fill="#ffffff" stroke="#8592a3"',
    "state": 'rx="4" fill="#fff4d6" stroke="#b7791f" stroke-width="2"',
    "stage": 'rx="8" fill="#f6f8fb" stroke="#c3ccd8"',
}


def draw(described: Mapping[str, Any]) -> str:
    """Return what `describe` told as an SVG that stands alone: topics as pills, steps as boxes within their stages.

    Example:
        >>> draw({"program": "retail", "version": "1", "stages": []}).startswith("<svg ")
        True
    """
    places: dict[Any, Box] = {}
    flows: list[tuple[Any, Any, int]] = []  # from, to, and the step of the stage that reads or writes
    for stage in described["stages"]:
        here, target = ("stage", stage["name"]), (stage["kind"], stage["writes"])
        places[here] = _stage(stage)
        sources = [step["id"] for step in stage["steps"] if not step["after"]]
        for topic, source in zip(stage["reads"], sources, strict=True):
            places.setdefault(("topic", topic), _box("topic", topic))
            flows.append((("topic", topic), here, source))
        places.setdefault(target, _box(*target))
        flows.append((here, target, stage["steps"][-1]["id"]))
    edges = [(start, end) for start, end, _ in flows]
    chains = arrange(places, edges, late(ranks(places, edges), edges))
    move([*places.values(), *{lane for chain in chains for lane in chain[1:-1]}], _PAD, _HEAD)
    for frame in places.values():
        move(frame.inner, frame.x, frame.y)
    floor = max((box.bottom for box in places.values()), default=_HEAD)
    arrows = [_flow(chain, step, floor) for (_, _, step), chain in zip(flows, chains, strict=True)]
    return _svg(f"{described['program']}, version {described['version']}", list(places.values()), arrows, floor)


def _stage(stage: Mapping[str, Any]) -> Box:
    """Return a stage's frame with its steps, placed as if the frame lay at the origin."""
    steps = {
        step["id"]: _box("step" if step["state"] is None else "state", step["label"], step["state"])
        for step in stage["steps"]
    }
    edges = [(before, step["id"]) for step in stage["steps"] for before in step["after"]]
    arrows = arrange(steps, edges, ranks(steps, edges))
    name = _clean(stage["name"])
    lines = [(name if len(name) <= 2 * _WRAP else name[: 2 * _WRAP] + "…", _INK)]
    lines.append((f"{stage['guarantee']}, {stage['emits']}", _QUIET))
    frame = Box(0, 0, "stage", stage["name"], lines, steps, arrows)
    move(frame.inner, _PAD, _HEAD)
    frame.width = max(*(box.right for box in steps.values()), _PAD + max(_wide(line) for line, _ in lines)) + _PAD
    frame.height = max(box.bottom for box in frame.inner) + _PAD
    return frame


def _box(shape: str, title: str, state: str | None = None) -> Box:
    wrapped = textwrap.wrap(_clean(title), _WRAP) or [""]
    lines = [(line, _INK) for line in (wrapped if len(wrapped) <= _MOST else [*wrapped[: _MOST - 1], "…"])]
    lines += [(line, _STATE) for line in textwrap.wrap(f"state: {_clean(state)}" if state else "", _WRAP)]
    return Box(max(_wide(line) for line, _ in lines) + 28, len(lines) * _ROW + 16, shape, title, lines)


def _flow(chain: Sequence[Box], step: int = -1, floor: float = 0) -> str:
    """Return the arrow between two steps, or between a topic and a step of a stage."""
    start, *lanes, end = chain
    first, last = start.steps.get(step, start), end.steps.get(step, end)
    if start.x > end.x:  # back to a topic that was read before: below everything
        path = f"M{first.right:g} {first.middle:g}H{start.right + GAP / 3:g}V{floor + _PAD / 2:g}H{end.x - GAP / 3:g}"
        return _arrow(f"{path}V{last.middle:g}H{last.x:g}")
    passed = [(lane.x, lane.right, lane.middle) for lane in lanes]
    return _line([(first.right, start.right, first.middle), *passed, (end.x, last.x, last.middle)])


def _line(stops: Sequence[tuple[float, float, float]]) -> str:
    """Return an arrow that is straight within each stop ``(left, right, y)`` and swings from one to the next."""
    left, right, y = stops[0]
    path = f"M{left:g} {y:g}H{right:g}"
    for start, end, height in stops[1:]:
        half = (right + start) / 2
        path += f"C{half:g} {y:g} {half:g} {height:g} {start:g} {height:g}" + (f"H{end:g}" if end > start else "")
        right, y = end, height
    return _arrow(path)


def _arrow(path: str) -> str:
    return f'<path d="{path}" fill="none" stroke="{_ARROW}" stroke-width="1.5" marker-end="url(#headrace-tip)"/>'


def _shape(box: Box) -> str:
    """Return a box with its text: centred, but a frame's at its head."""
    framed = bool(box.steps)
    x, anchor = (box.x + _PAD, "start") if framed else (box.x + box.width / 2, "middle")
    top = box.y + 17 if framed else box.middle - (len(box.lines) - 1) * _ROW / 2 + 4
    spans = [
        f'<tspan x="{x:g}" y="{top + number * (_ROW - framed):g}" fill="{colour}">{escape(line)}</tspan>'
        for number, (line, colour) in enumerate(box.lines)
    ]
    area = f'x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}"'
    return (
        f'<g class="{box.shape}"><title>{escape(_clean(box.title))}</title><rect {area} {_SHAPES[box.shape]}/>'
        f'<text text-anchor="{anchor}">{"".join(spans)}</text></g>'
    )


def _svg(title: str, places: Sequence[Box], arrows: Sequence[str], floor: float) -> str:
    frames = sorted(places, key=lambda box: box.shape != "stage")
    boxes = [_shape(box) for frame in frames for box in (frame, *frame.steps.values())]
    inner = [_flow(chain) for frame in frames for chain in frame.arrows]
    width = max(_wide(title) + _PAD, *(box.right for box in places), 0) + _PAD
    height = floor + _PAD
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" \
height="{height:g}" style="max-width:100%;height:auto" role="img" font-family="system-ui,sans-serif" font-size="12.5">
<title>{escape(_clean(title))}</title>
<defs><marker id="headrace-tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">\
<path d="M0 0L8 4L0 8z" fill="{_ARROW}"/></marker></defs>
<rect width="100%" height="100%" rx="8" fill="#ffffff"/>
<text x="{_PAD}" y="24" font-weight="600" fill="{_QUIET}">{escape(_clean(title))}</text>
{chr(10).join([*boxes, *inner, *arrows])}
</svg>
"""


def _clean(text: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", text)


def _wide(text: str) -> float:
    return _LETTER * sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
