"""headrace topic produce: JSON lines into a topic."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import orjson
import typer

from headrace.cli.output import FormatOption, print_json, say, wants_json
from headrace.core.errors import ConfigError, DecodeError, EventTooLargeError
from headrace.log.connection import connect
from headrace.log.producer import Producer

_SHOWN = 10  # wrong lines told one by one


def produce(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The topic.")],
    file: Annotated[Path | None, typer.Argument(help="A file of JSON lines; standard input unless given.")] = None,
    key: Annotated[str | None, typer.Option("--key", help="The field whose value is the event's key.")] = None,
    header: Annotated[list[str] | None, typer.Option("--header", metavar="NAME=VALUE", help="On every event.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Send lines as they are, JSON or not.")] = False,
    format: FormatOption = None,
) -> None:
    """Send each line as one event.

    A line that is not JSON, or too large, is told with its number and left out; the others are sent, and the exit code
    is 1.
    """
    headers = dict(_header(given) for given in header or [])
    wrong = 0
    with _lines(file) as lines, Producer(connect(start=False)["bootstrap.servers"]) as producer:
        for number, line in enumerate(lines, 1):
            text = line.rstrip(b"\r\n")
            if not text.strip():
                continue
            try:
                value = text if raw else _parsed(text)
                producer.send(name, text, key=_key(value, key), headers=headers or None)
            except (DecodeError, EventTooLargeError) as error:
                wrong += 1
                if wrong <= _SHOWN:
                    say(f"line {number}: {error}")
    sent = producer.counts.delivered
    if wants_json(format):
        print_json({"topic": name, "sent": sent, "refused": wrong})
    else:
        say(f"Sent {sent:,} event(s) to {name}" + (f", refused {wrong:,} line(s)." if wrong else "."))
    if wrong:
        raise typer.Exit(1)


def _parsed(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        shown = text[:60].decode("utf-8", "replace")
        raise DecodeError(f"not JSON ({error}): {shown!r}; --raw sends lines as they are") from None


def _key(value: Any, field: str | None) -> Any:
    if field is None:
        return None
    if not isinstance(value, dict) or field not in value:
        raise DecodeError(f"there is no field {field!r} for the key")
    return value[field]


def _header(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals or not name:
        raise typer.BadParameter(f"{given!r} is not NAME=VALUE", param_hint="--header")
    return name, value


@contextmanager
def _lines(file: Path | None) -> Iterator[IO[bytes]]:
    if file is None:
        yield sys.stdin.buffer
        return
    try:
        opened = file.open("rb")
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    with opened:
        yield opened
