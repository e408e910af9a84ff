"""How commands speak: tables for people, JSON lines for programs."""

import select
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headrace.core.codec import printable
from headrace.core.errors import ConfigError

Row = Mapping[str, Any]
_UNFOLDED = 10_000  # columns of a line that a program reads


class Format(StrEnum):
    """What goes to standard output."""

    text = "text"
    json = "json"


FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="Tables for people or JSON for programs; JSON where the output is no terminal."),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def wants_json(chosen: Format | None) -> bool:
    """Whether to write JSON: as chosen, or where nobody is watching."""
    return chosen == Format.json if chosen else not sys.stdout.isatty()


def print_json(row: Row) -> None:
    """Write one object as one line."""
    sys.stdout.buffer.write(orjson.dumps(row, default=str, option=orjson.OPT_APPEND_NEWLINE))
    sys.stdout.flush()


def print_rows(rows: Sequence[Row], columns: Iterable[str], chosen: Format | None, empty: str) -> None:
    """Write rows as JSON lines or as a table; people are told when there is nothing."""
    if wants_json(chosen):
        for row in rows:
            print_json(row)
        return
    if not rows:
        say(empty)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    names = list(columns)
    for name in names:
        numeric = all(isinstance(row[name], int | float) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in names))
    _show(table)


def print_object(row: Row, chosen: Format | None) -> None:
    """Write one object as JSON, or as names and values below each other."""
    if wants_json(chosen):
        print_json(row)
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in row.items():
        table.add_row(name, _cell(value))
    _show(table)


def say(text: str) -> None:
    """Tell people something, beside the output proper."""
    Console(stderr=True, highlight=False).print(text, markup=False, soft_wrap=True)


def confirm(question: str, yes: bool) -> None:
    """Go on only if the answer is yes; without a terminal there is nobody to ask, so ``--yes`` is needed."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(f"{question} There is no terminal to ask at; say --yes to do it")
    typer.confirm(question, abort=True)


def reader_gone() -> bool:
    """Whether nobody reads our output any more, as after ``| head -1``; the write that would tell may never come."""
    watch = select.poll()
    watch.register(sys.stdout, 0)  # errors and hang-ups are told unasked
    return bool(watch.poll(0))


def _show(table: Table) -> None:
    Console(width=None if sys.stdout.isatty() else _UNFOLDED).print(table)


def _cell(value: Any) -> Text:
    if value is None:
        return Text("-")
    if isinstance(value, int) and not isinstance(value, bool):
        return Text(f"{value:,}")
    return Text(printable(str(value)))
