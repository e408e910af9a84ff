"""headrace topic tail: follow a topic."""

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from headrace.cli.output import FormatOption, print_json, reader_gone, wants_json
from headrace.core.codec import decode_text, printable
from headrace.core.errors import ConfigError, DecodeError
from headrace.core.quantities import parse_span
from headrace.log.connection import connect
from headrace.log.consumer import Consumer
from headrace.log.event import Event
from headrace.log.positions import Place
from headrace.log.topics import Topics
from headrace.runtime.signals import Signals

_TICK = 0.2  # seconds for an event to come, between two looks whether to go on
_WORDS: dict[str, Place] = {"start": "earliest", "earliest": "earliest", "end": "latest", "latest": "latest"}


def tail(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The topic.")],
    begin: Annotated[
        str | None,
        typer.Option(
            "--from", help="'start', 'end', an offset, a time like 2024-05-01T10:00, or a span like '5 minutes'."
        ),
    ] = None,
    last: Annotated[int, typer.Option("--last", "-n", min=0, help="Without --from: begin with the last so many.")] = 10,
    key: Annotated[str | None, typer.Option("--key", help="Only events of this key.")] = None,
    partition: Annotated[int | None, typer.Option("--partition", min=0, help="Only this partition.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="End after so many events.")] = None,
    follow: Annotated[bool, typer.Option("--follow/--no-follow", "-f", help="Wait for more at the end.")] = True,
    format: FormatOption = None,
) -> None:
    """Show a topic's last events, then each new one as it arrives, like 'tail -f'; Ctrl-C ends it."""
    brokers = connect(start=False)["bootstrap.servers"]
    show = _show_json if wants_json(format) else _show_text
    begin_at = parse_place(begin) if begin is not None else _ends(name, brokers)
    shown = 0
    try:
        if begin is None and last:
            for event in _last(name, brokers, begin_at, partition, key, min(last, limit or last)):
                show(event)
                shown += 1
        if (limit is not None and shown >= limit) or (begin is None and not follow):
            return
        only = None if partition is None else [partition]
        with closing(Consumer(name, start=begin_at, follow=follow, partitions=only, brokers=brokers)) as consumer:
            for event in _matching(_arriving(consumer) if follow else consumer, key):
                show(event)
                shown += 1
                if shown == limit:
                    return
    except KeyboardInterrupt:
        return


def parse_place(given: str, option: str = "--from") -> Place:
    """Return the place in a topic that was given on the command line."""
    if given in _WORDS:
        return _WORDS[given]
    if given.isdecimal():
        return int(given)
    with suppress(ValueError, OverflowError):
        return datetime.fromisoformat(given).astimezone()  # a time without a zone is the reader's own
    try:
        return parse_span(given.removesuffix(" ago"))
    except ConfigError:
        raise typer.BadParameter(
            f"{given!r} is not a place; use 'start', 'end', an offset, a time like 2024-05-01T10:00, or '5 minutes'",
            param_hint=option,
        ) from None


def _ends(name: str, brokers: str) -> dict[int, int]:
    with Topics(brokers) as topics:
        return {p.id: p.latest for p in topics.describe(name).partitions}


def _last(name: str, brokers: str, ends: Any, partition: int | None, key: str | None, count: int) -> list[Event]:
    """Return the last events before ``ends``, over all partitions in the order of their times."""
    reach = count if key is None else 1_000_000
    with Topics(brokers) as topics:
        bounds = topics.describe(name).partitions
    start = {p.id: max(p.earliest, ends[p.id] - reach) for p in bounds}
    filled = [number for number, first in start.items() if first < ends[number]]
    only = filled if partition is None else [partition]
    if not only:
        return []
    found: list[Event] = []
    with closing(Consumer(name, start=start, follow=False, partitions=only, brokers=brokers)) as consumer:
        found.extend(event for event in _matching(consumer, key) if event.offset < ends[event.partition])
    return sorted(found, key=lambda event: (event.timestamp, event.offset))[-count:]


def _arriving(consumer: Consumer) -> Iterator[Event]:
    """Yield events as they come, until Ctrl-C, or until nobody reads our output any more."""
    with Signals() as ended:  # an exception may come where it is lost, as in the client's log
        while not ended.is_set():
            if (event := consumer.poll(_TICK)) is not None:
                yield event
            elif reader_gone():
                return


def _matching(events: Iterable[Event], key: str | None) -> Iterator[Event]:
    return (event for event in events if key is None or event.key == key)


def _show_json(event: Event) -> None:
    print_json(
        {
            "topic": event.topic,
            "partition": event.partition,
            "offset": event.offset,
            "timestamp": event.timestamp,
            "key": None if event.key is None else printable(event.key),
            "headers": {name: printable(value) for name, value in event.headers.items()},
            "value": _value(event),
        }
    )


def _show_text(event: Event) -> None:
    line = Text()
    line.append(event.timestamp.astimezone().strftime("%H:%M:%S.%f")[:-3], "dim")
    line.append(f"  {event.partition}@{event.offset}", "cyan")
    line.append(f"  {'-' if event.key is None else _one_line(printable(event.key))}", "bold")
    data = event.raw_value
    line.append("  (deleted)" if data is None else f"  {_one_line(printable(decode_text(data)))}")
    Console(highlight=False).print(line, soft_wrap=True)


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _value(event: Event) -> Any:
    try:
        return event.value
    except DecodeError:  # a reader of JSON lines still gets a line for it
        return printable(decode_text(event.raw_value or b""))
