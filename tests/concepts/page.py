"""Examples in pages: tables of events in and rows out, run against the program that the page declares.

The ```python blocks of a page are one program, called ``app``. ``<!-- example: NAME -->`` stands above a Markdown table
whose lines are steps. Its columns say what goes in and what comes out:

- ``orders: id, amount`` are events for a topic,
- ``→ sums: id, total`` the rows that are written to one since the step before,
- ``= sums: id, total`` all rows of a table as they are then,
- ``→ late: id`` the events that went to the ledger,
- anything else is a note, for the reader and for the test that asks for it.

In a cell, rows are separated by ``<br>`` and values by commas; ``delete KEY`` is a deletion, ``null`` is null, and
``10:05`` and ``10:05:30.5`` are times of one day. A table with the same name again shows more of the same steps.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any, Literal

import headrace as hr
from headrace.testing import TestDriver
from tests.pages import blocks

DOCS = Path(__file__).parents[2] / "docs"
DAY = "2024-05-01"
LEDGER = "late"
_MARK = re.compile(r"<!-- example: (\S+) -->")
_HEADING = re.compile(r"(?:(→|=) )?([\w.-]+): (.+)")
_CLOCK = re.compile(r"\d\d:\d\d(:\d\d(\.\d+)?)?")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_DELETE = "delete "

Row = tuple[Any, ...] | hr.Delete
Read = dict[str, list[Any]]


@dataclass(frozen=True)
class Column:
    """One column of an example: what it shows of which topic, and its cells as they are written."""

    kind: Literal["in", "out", "table", "note"]
    topic: str
    fields: tuple[str, ...]
    cells: tuple[str, ...]

    def rows(self, step: int) -> list[Row]:
        """Return the rows of a cell."""
        return [_row(text.strip()) for text in self.cells[step].split("<br>") if text.strip()]


@dataclass
class Example:
    """The steps of an example."""

    name: str
    columns: list[Column] = field(default_factory=list)

    @property
    def steps(self) -> int:
        return len(self.columns[0].cells)

    def add(self, columns: Sequence[Column]) -> None:
        """Take the columns of one more table; what goes in may be told again, but not otherwise."""
        for column in columns:
            assert len(column.cells) == len((self.columns or columns)[0].cells), f"{self.name}: not as many steps"
            known = [one for one in self.columns if column.kind == one.kind == "in" and column.topic == one.topic]
            assert all(one == column for one in known), f"{self.name} tells {column.topic} twice, and differently"
            self.columns += [] if known else [column]

    def note(self, heading: str) -> list[str]:
        """Return the cells of a column that is neither in nor out."""
        [column] = [one for one in self.columns if one.kind == "note" and one.topic == heading]
        return list(column.cells)

    def sent(self, topic: str) -> list[list[Row]]:
        """Return the rows that each step sends to a topic."""
        [column] = [one for one in self.columns if one.kind == "in" and one.topic == topic]
        return [column.rows(step) for step in range(self.steps)]

    def run(self, t: TestDriver) -> Read:
        """Send what the page says, compare what comes out with what it says, and return all that came out."""
        outputs = [column for column in self.columns if column.kind in ("out", "table")]
        topics = {column.topic for column in self.columns if column.kind == "in"}
        late = _Ledger(t, topics)
        read: Read = {column.topic: [] for column in outputs if column.kind == "out"}
        for topic in read:
            late.read() if topic == LEDGER else t.read(topic)  # what tests before this one have left
        for step in range(self.steps):
            for column in self.columns:
                if column.kind == "in" and (rows := column.rows(step)):
                    t.send(column.topic, [_event(row, column.fields) for row in rows])
            for column in outputs:
                found = _found(column, t, late)
                if column.kind == "out":
                    read[column.topic] += found
                told, expected = [_told(row, column.fields) for row in found], column.rows(step)
                assert told == expected, f"{self.name}, step {step + 1}: {column.topic} has {told}, not {expected}"
        return read


class _Ledger:
    """The late events of some topics, each time those that are new."""

    def __init__(self, t: TestDriver, topics: set[str]) -> None:
        self._t, self._topics, self._seen = t, topics, 0

    def read(self) -> list[Any]:
        new = self._t.late()[self._seen :]
        self._seen += len(new)
        return [json.loads(letter["value"]) for letter in new if letter["topic"] in self._topics]


def program(page: str) -> hr.App:
    """Return the program that a page declares in its blocks."""
    path = DOCS / page
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(path.read_text("utf-8")):
        if block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.code, path, "exec"), names)
    app = names["app"]
    assert isinstance(app, hr.App)
    return app


def examples(page: str) -> dict[str, Example]:
    """Return the examples of a page by their names."""
    found: dict[str, Example] = {}
    lines = iter((DOCS / page).read_text("utf-8").splitlines())
    for line in lines:
        if mark := _MARK.fullmatch(line):
            example = found.setdefault(mark[1], Example(mark[1]))
            example.add(_columns(list(_table(lines))))
    return found


def json_blocks(page: str) -> list[Any]:
    """Return what the ```json blocks of a page hold."""
    return [json.loads(one.code) for one in blocks((DOCS / page).read_text("utf-8")) if one.language == "json"]


def value(text: str) -> Any:
    """Return what a word in a cell means."""
    if text == "null":
        return None
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if _CLOCK.fullmatch(text):
        return datetime.fromisoformat(f"{DAY}T{text}").replace(tzinfo=UTC)
    return datetime.fromisoformat(text) if _MOMENT.fullmatch(text) else text


def _table(lines: Iterator[str]) -> Iterator[list[str]]:
    """Yield the lines of the next Markdown table, without the one of dashes."""
    begun = False
    for line in lines:
        if not line.startswith("|"):
            if begun:
                return
            continue
        begun = True
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            yield cells


def _columns(table: list[list[str]]) -> list[Column]:
    headings, *steps = table
    return [_column(heading, cells) for heading, *cells in zip(headings, *steps, strict=True)]


def _column(heading: str, cells: list[str]) -> Column:
    known = _HEADING.fullmatch(heading)
    if known is None:
        return Column("note", heading, (), tuple(cells))
    kind: Literal["in", "out", "table"] = "in" if known[1] is None else "out" if known[1] == "→" else "table"
    return Column(kind, known[2], tuple(known[3].split(", ")), tuple(cells))


def _row(text: str) -> Row:
    if text.startswith(_DELETE):
        key = tuple(map(value, text.removeprefix(_DELETE).split(", ")))
        return hr.Delete(key[0] if len(key) == 1 else key)
    return tuple(map(value, text.split(", ")))


def _event(row: Row, fields: tuple[str, ...]) -> dict[str, Any] | hr.Delete:
    if isinstance(row, hr.Delete):
        return hr.Delete(str(row.key))
    plain = (one.isoformat() if isinstance(one, datetime) else one for one in row)
    return dict(zip(fields, plain, strict=True))


def _found(column: Column, t: TestDriver, late: _Ledger) -> list[Any]:
    if column.kind == "table":
        return sorted(t.table(column.topic), key=lambda row: str(row[column.fields[0]]))
    return late.read() if column.topic == LEDGER else t.read(column.topic)


def _told(row: Any, fields: tuple[str, ...]) -> Row:
    """Return a row that came out as the page has it; ``before.city`` is the city in what was before."""
    if isinstance(row, hr.Delete):
        key = tuple(_plain(one) for one in row.key.values()) if isinstance(row.key, dict) else _plain(row.key)
        return hr.Delete(key)
    return tuple(_plain(reduce(lambda at, name: at and at[name], name.split("."), row)) for name in fields)


def _plain(given: Any) -> Any:
    return value(given) if isinstance(given, str) else given
