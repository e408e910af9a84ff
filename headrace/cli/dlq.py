"""headrace dlq …: events that were put aside, with the reasons, and once more to where they came from."""

from typing import Annotated, Any

import typer

from headrace.cli.output import FormatOption, YesOption, confirm, print_json, print_rows, say, wants_json
from headrace.core.codec import decode_text, printable
from headrace.core.errors import DecodeError
from headrace.log.dead_letters import SUFFIX
from headrace.log.event import Event
from headrace.log.letter import Letter, Place, is_ledger
from headrace.log.letters import Letters

app = typer.Typer(no_args_is_help=True, help="See dead letters and late events, and replay them.")
Name = Annotated[str, typer.Argument(metavar="TOPIC", help="Of letters, such as orders.dlq; orders means the same.")]
_COLUMNS = ("place", "time", "key", "reason", "source", "replayed")
_SHOWN = 60  # characters of a key or a reason in a table


@app.command("list")
def list_ledgers(format: FormatOption = None) -> None:
    """List the topics of dead letters and of late events, the one with the newest first."""
    with Letters() as letters:
        found = letters.ledgers()
    rows = [{"topic": one.topic, "source": one.source, "events": one.events, "newest": one.newest} for one in found]
    print_rows(rows, ("topic", "source", "events", "newest"), format, "No dead letters: nothing was put aside.")


@app.command()
def show(
    topic: Name,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="The newest so many.")] = 20,
    format: FormatOption = None,
) -> None:
    """Show the newest letters of a topic: why each was put aside, and where it came from."""
    with Letters() as letters:
        found = letters.newest(_ledger(topic), limit=limit)
    if wants_json(format):
        for letter in found.events:
            print_json(_whole(letter))
        return
    print_rows([_short(letter) for letter in found.events], _COLUMNS, format, f"No letters in {_ledger(topic)}.")
    if found.older:
        say(f"There are more; --limit shows more than {limit:,}.")


@app.command()
def replay(
    topic: Name,
    places: Annotated[
        list[str] | None, typer.Argument(metavar="[PLACE]…", help="Offsets, or PARTITION:OFFSET, of letters.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All that were not replayed yet.")] = False,
    value: Annotated[str | None, typer.Option(help="Send this instead of the value; for one letter.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Also those that were replayed before.")] = False,
    yes: YesOption = False,
    format: FormatOption = None,
) -> None:
    """Send letters to the topics they came from, as they were; everybody who reads those gets them again."""
    ledger, wanted = _ledger(topic), [_place(place) for place in places or []]
    if every == bool(wanted):
        raise typer.BadParameter("say which letters, by their offsets, or --all", param_hint="PLACE")
    if every and (value is not None or again):
        raise typer.BadParameter("--all goes with neither --value nor --again", param_hint="--all")
    confirm(f"Replay {'all letters' if every else f'{len(wanted)} letter(s)'} of {ledger}?", yes)
    with Letters() as letters:
        if every:
            done = sum(letters.replay(ledger, some) for some in letters.waiting(ledger))
        else:
            done = letters.replay(ledger, wanted, value=value, again=again)
    if wants_json(format):
        print_json({"topic": ledger, "replayed": done})
    else:
        say(f"Replayed {done:,} letter(s) of {ledger}.")


def _ledger(topic: str) -> str:
    return topic if is_ledger(topic) else topic + SUFFIX


def _place(given: str) -> Place:
    partition, _, offset = given.rpartition(":")
    if not (partition or "0").isdecimal() or not offset.isdecimal():
        raise typer.BadParameter(f"{given!r} is no place; write an offset, or PARTITION:OFFSET", param_hint="PLACE")
    return Place(int(partition or 0), int(offset))


def _whole(letter: Letter) -> dict[str, Any]:
    event = letter.event
    return {
        "topic": event.topic,
        "partition": event.partition,
        "offset": event.offset,
        "timestamp": event.timestamp,
        "reason": letter.reason,
        "source": letter.source._asdict() if letter.source else None,
        "replayed": letter.replayed,
        "key": None if event.key is None else printable(event.key),
        "headers": {name: printable(value) for name, value in event.headers.items()},
        "value": _value(event),
    }


def _short(letter: Letter) -> dict[str, Any]:
    event, source = letter.event, letter.source
    return {
        "place": f"{event.partition}:{event.offset}",
        "time": event.timestamp.astimezone().isoformat(" ", "seconds"),
        "key": None if event.key is None else _cut(event.key),
        "reason": None if letter.reason is None else _cut(letter.reason, 2 * _SHOWN),
        "source": f"{source.topic} {source.partition}:{source.offset}" if source else None,
        "replayed": "yes" if letter.replayed else "no",
    }


def _cut(text: str, most: int = _SHOWN) -> str:
    line = "".join(c if c.isprintable() else " " for c in printable(text))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _value(event: Event) -> Any:
    try:
        return event.value
    except DecodeError:
        return printable(decode_text(event.raw_value or b""))
