"""headrace topic produce: JSON lines into a topic."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import orjson
import typer

from headrace.cli.output import FormatOption, print_json, say, wants_json
from headrace.core.errors import ConfigError, DecodeError, EventTooLargeError
from headrace.log.client import admin_client, partitions_of
from headrace.log.connection import connect
from headrace.log.names import check_topic_name
from headrace.log.producer import Producer

_SHOWN = 10  # wrong lines told one by one


def produce(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The topic.")],
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Of JSON lines; standard input unless given.")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", help="The field whose value is the event's key.")] = None,
    header: Annotated[list[str] | None, typer.Option("--header", metavar="NAME=VALUE", help="On every event.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Send lines as they are, JSON or not.")] = False,
    format: FormatOption = None,
) -> None:
    """Send each line as one event.

    A line that is not JSON, or too large, is told with its number and left out; the others are sent, and the exit code
    is 1.
    """
    if raw and key is not None:
        raise typer.BadParameter("lines sent with --raw have no fields", param_hint="--key")
    headers = dict(_header(given) for given in header or [])
    brokers = _brokers_with(name)
    with _lines(file) as lines, Producer(brokers) as producer:
        wrong = _send(producer, name, lines, key, headers, raw)
    sent = producer.counts.delivered
    if wants_json(format):
        print_json({"topic": name, "sent": sent, "refused": wrong})
    else:
        say(f"Sent {sent:,} event(s) to {name}" + (f", refused {wrong:,} line(s)." if wrong else "."))
    if wrong:
        raise typer.Exit(1)


def _brokers_with(topic: str) -> str:
    """Return where to send, once it is known that the topic exists: before anybody types a line."""
    config = connect(start=False)
    brokers: str = config["bootstrap.servers"]
    partitions_of(admin_client(config), check_topic_name(topic), brokers)
    return brokers


def _send(
    producer: Producer, topic: str, lines: Iterable[bytes], key: str | None, headers: Mapping[str, str], raw: bool
) -> int:
    """Send the lines that can be sent, tell of the others, and return how many those are."""
    wrong = 0
    for number, line in enumerate(lines, 1):
        text = line.rstrip(b"\r\n")
        if not text.strip():
            continue
        try:
            value = None if raw else _parsed(text)
            producer.send(topic, text, key=_key(value, key), headers=headers or None)
        except (DecodeError, EventTooLargeError) as error:
            wrong += 1
            if wrong <= _SHOWN:
                say(f"line {number}: {error}")
    if wrong > _SHOWN:
        say(f"… and {wrong - _SHOWN:,} more")
    return wrong


def _parsed(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        shown = text[:60].decode("utf-8", "replace")
        raise DecodeError(f"not JSON ({error}): {shown!r}; --raw sends lines as they are") from None


def _key(value: Any, field: str | None) -> Any:
    if field is None:
        return None
    if not isinstance(value, dict):
        raise DecodeError(f"only objects have a field {field!r} for the key")
    if field not in value:
        raise DecodeError(f"there is no field {field!r} for the key among {', '.join(list(value)[:_SHOWN]) or 'none'}")
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
        raise ConfigError(
            f"{file} cannot be read: {error.strerror}; give a file of JSON lines, or none to read standard input"
        ) from None
    with opened:
        yield opened
