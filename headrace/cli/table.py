"""headrace table …: tables, looked up by key and queried with SQL."""

import base64
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from rich.console import Console

from headrace.cli.output import FormatOption, print_object, print_rows, say, wants_json
from headrace.core.errors import UnknownTopicError, ViewError
from headrace.core.quantities import parse_span
from headrace.log.connection import connect
from headrace.log.topics import TopicInfo, Topics

if TYPE_CHECKING:
    from headrace.serve.view import View

app = typer.Typer(no_args_is_help=True, help="Look tables up and query them.")
Name = Annotated[str, typer.Argument(metavar="TOPIC", help="The table's topic.")]
Wait = Annotated[str, typer.Option(help="How long to catch up with the topic before giving up.")]
_MARKERS = re.compile(r".+\..+\..+\.commits")  # program, version, stage: which batches are written
_PATIENCE = 1.0  # seconds of catching up until a bar is shown


@app.command("list")
def list_tables(
    internal: Annotated[bool, typer.Option("--internal", help="Also those that programs keep for themselves.")] = False,
    format: FormatOption = None,
) -> None:
    """List the compacted topics, with the rows and the lag of those that are stored here."""
    with Topics(start=False) as topics:
        rows = [_summary(topic) for topic in topics.compacted() if internal or not _MARKERS.fullmatch(topic.name)]
    empty = "No tables. A table is a compacted topic: headrace topic create NAME --compact"
    print_rows(rows, ("name", "partitions", "rows", "lag"), format, empty)


@app.command()
def get(
    topic: Name,
    key: Annotated[str, typer.Argument(metavar="KEY", help="As it lies in the topic; JSON where it has columns.")],
    wait: Wait = "10 minutes",
    format: FormatOption = None,
) -> None:
    """Show the row of a key."""
    with _caught_up(topic, wait) as view:
        row = _find(view, key)
    if row is None:
        raise ViewError(f"there is no row with the key {key!r} in {topic!r}")
    print_object(_shown(row, wants_json(format)), format)


@app.command()
def query(
    topic: Name,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="A SELECT; the table is the topic, with _ for . and -.")],
    limit: Annotated[int, typer.Option(min=1, help="Show at most so many rows.")] = 1000,
    timeout: Annotated[str, typer.Option(help="Stop the query after this time.")] = "10 seconds",
    wait: Wait = "10 minutes",
    format: FormatOption = None,
) -> None:
    """Show what SQL selects from a table."""
    seconds = parse_span(timeout).total_seconds()
    with _caught_up(topic, wait) as view:
        found = view.query(sql, limit=limit + 1, timeout=seconds)
    rows = [_shown(row, wants_json(format)) for row in found[:limit]]
    print_rows(rows, rows[0] if rows else (), format, "No rows.")
    if len(found) > limit:
        say(f"There are more than {limit:,} rows; --limit shows more.")


def _summary(topic: TopicInfo) -> dict[str, Any]:
    from headrace.serve.view import stored  # noqa: PLC0415 - loads what reads schemas, which other commands do not need

    try:
        rows, lag = stored(topic.name, brokers=connect(start=False)["bootstrap.servers"]) or (None, None)
    except UnknownTopicError:  # deleted meanwhile
        rows, lag = None, None
    return {"name": topic.name, "partitions": len(topic.partitions), "rows": rows, "lag": lag}


@contextmanager
def _caught_up(topic: str, wait: str) -> "Iterator[View]":
    """Open the view, once it has all that the topic has now."""
    from headrace.serve.view import View  # noqa: PLC0415 - likewise

    patience = parse_span(wait).total_seconds()
    with View(topic, brokers=connect(start=False)["bootstrap.servers"]) as view:
        with _progress(topic) as progress:
            view.wait(patience, progress=progress)
        yield view


@contextmanager
def _progress(topic: str) -> Iterator[Callable[[int], None]]:
    """Show a bar, if there is still something to show after a while."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415 - likewise

    columns = (TextColumn(f"Reading {topic}"), BarColumn(), MofNCompleteColumn(), TextColumn("events"))
    bar = Progress(*columns, console=(console := Console(stderr=True)), transient=True)
    task = bar.add_task("", total=None)
    begun = time.monotonic()

    def show(left: int) -> None:
        if bar.tasks[0].total is None:
            bar.update(task, total=left)
        if console.is_terminal and time.monotonic() - begun > _PATIENCE:
            bar.start()
            bar.update(task, completed=(bar.tasks[0].total or 0) - left)

    try:
        yield show
    finally:
        if bar.live.is_started:
            bar.stop()


def _find(view: "View", key: str) -> dict[str, Any] | None:
    """Look for a key as it was typed, or, if it is JSON of several columns, for what it says."""
    row = view.get(key)
    if row is None and key.startswith("{"):
        try:
            return view.get(orjson.loads(key))
        except orjson.JSONDecodeError:
            return None
    return row


def _shown(row: Mapping[str, Any], as_json: bool) -> dict[str, Any]:
    return {name: _value(value, as_json) for name, value in row.items()}


def _value(value: Any, as_json: bool) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict | list) and not as_json:
        return orjson.dumps(value).decode()
    return value
