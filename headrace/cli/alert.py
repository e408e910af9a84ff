"""headrace alert …: what fires, what people say to it, and what a rule would have said."""

import getpass
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from rich.console import Console

from headrace.alerts.log import AlertLog
from headrace.alerts.targets import try_all
from headrace.alerts.topics import ALERTS
from headrace.cli.output import FormatOption, print_json, print_rows, say, wants_json
from headrace.cli.topic_tail import parse_place
from headrace.core.errors import ConfigError, NotifyError, UnknownAlertError
from headrace.core.quantities import show_span
from headrace.core.settings import FILE, Settings
from headrace.log.connection import connect

if TYPE_CHECKING:
    from headrace.testing.backtest import Backtest

app = typer.Typer(no_args_is_help=True, help="See what fires, acknowledge and silence it, try rules over the history.")
TopicOption = Annotated[str, typer.Option("--topic", help="Where the alerts are.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="Of the alert, or the beginning of it.")]
By = Annotated[str | None, typer.Option("--by", help="Who says so; you, unless told.")]
Comment = Annotated[str, typer.Option("--comment", help="What there is to say.")]
_CURRENT = ("severity", "message", "since", "alert", "id", "acked_by", "silenced_until")
_HISTORY = ("at", "state", "severity", "message", "alert", "id")
_SILENCES = ("id", "rule", "key", "until", "by", "comment")
_TRIED = ("key", "fired", "resolved", "message")


@app.command("list")
def list_alerts(topic: TopicOption = ALERTS, format: FormatOption = None) -> None:
    """List what fires now, the worst first."""
    with _log(topic) as log:
        rows = log.current()
    print_rows(_shown(rows, format), _CURRENT, format, "Nothing fires.")


@app.command()
def history(
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    topic: TopicOption = ALERTS,
    format: FormatOption = None,
) -> None:
    """List what fired and resolved, the newest first."""
    with _log(topic) as log:
        rows = log.history(limit)
    print_rows(_shown(rows, format), _HISTORY, format, "Nothing has fired yet.")


@app.command()
def test(format: FormatOption = None) -> None:
    """Send a test notification to everybody who is told of alerts, and say what happened to each."""
    settings = Settings.load().alerts
    if not settings.notify:
        raise ConfigError(
            f'nobody is told of alerts; name targets in {FILE}: [alerts] notify = ["mailto://…"], or set '
            "HEADRACE_ALERTS_NOTIFY"
        )
    rows = try_all(settings.notify, settings.secret, settings.allow_private)
    print_rows(rows, ("target", "sent", "error"), format, "")
    if failed := sum(not row["sent"] for row in rows):
        raise NotifyError(f"{failed} of {len(rows)} targets did not take the test notification")


@app.command()
def ack(
    id: Id,
    by: By = None,
    comment: Comment = "",
    topic: TopicOption = ALERTS,
    format: FormatOption = None,
) -> None:
    """Say that you have seen an alert that fires."""
    with _log(topic) as log:
        alert = log.ack(id, by or _user(), comment)
    _done({"acked": alert["id"], "alert": alert["alert"]}, f"Acknowledged {alert['alert']}.", format)


@app.command()
def resolve(
    id: Id,
    by: By = None,
    comment: Comment = "",
    topic: TopicOption = ALERTS,
    format: FormatOption = None,
) -> None:
    """Say that an alert is over which nobody looks after any more: its rule or its program is gone."""
    with _log(topic) as log:
        alert = log.resolve(id, by or _user(), comment)
    _done({"resolved": alert["id"], "alert": alert["alert"]}, f"Resolved {alert['alert']}.", format)


@app.command()
def silence(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Its name, program/rule, or '*' for every rule.")],
    span: Annotated[str, typer.Option("--for", help="How long, such as '2 hours'.")],
    key: Annotated[list[str] | None, typer.Option("--key", help="Only where column=value; can be repeated.")] = None,
    by: By = None,
    comment: Comment = "",
    topic: TopicOption = ALERTS,
    format: FormatOption = None,
) -> None:
    """Have nobody told of a rule's alerts for a while; they are listed all the same."""
    with _log(topic) as log:
        known = log.silence(rule, key=_key(key or []), span=span, by=by or _user(), comment=comment)
    text = f"Silenced {rule} for {span}; 'headrace alert unsilence {known}' ends it."
    _done({"silenced": rule, "id": known}, text, format)


@app.command()
def silences(topic: TopicOption = ALERTS, format: FormatOption = None) -> None:
    """List the silences that hold now."""
    with _log(topic) as log:
        rows = log.silences()
    print_rows(_shown(rows, format), _SILENCES, format, "Nothing is silenced.")


@app.command()
def unsilence(
    id: Annotated[str, typer.Argument(metavar="ID", help="Of the silence.")],
    topic: TopicOption = ALERTS,
    format: FormatOption = None,
) -> None:
    """End a silence."""
    with _log(topic) as log:
        log.unsilence(id)
    _done({"unsilenced": id}, f"Ended the silence {id}.", format)


@app.command()
def backtest(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM.py", help="The file that declares the alert.")],
    rule: Annotated[str, typer.Argument(metavar="RULE", help="The name of the alert.")],
    begin: Annotated[str, typer.Option("--from", help="A time like 2024-05-01T10:00, or a span like '2 hours'.")],
    end: Annotated[str | None, typer.Option("--to", help="The same; now, unless told.")] = None,
    format: FormatOption = None,
) -> None:
    """Say when a rule would have fired over the history of its topics; nothing is written to any."""
    times = _time(begin, "--from"), None if end is None else _time(end, "--to")
    from headrace.cli.programs import load  # noqa: PLC0415 - the engine is loaded when it is needed
    from headrace.testing.backtest import backtest as run  # noqa: PLC0415 - Spark takes half a second to import

    apps = [one for one in load(str(program)) if any(known == rule for known in _rules(one))]
    if not apps:
        known = ", ".join(name for one in load(str(program)) for name in _rules(one)) or "none"
        raise UnknownAlertError(f"{str(program)!r} declares no alert {rule!r}; it declares {known}")
    with _progress(rule) as progress:
        found = run(apps[0], rule, *times, brokers=connect(start=False)["bootstrap.servers"], progress=progress)
    _show(found, format)


def _show(found: "Backtest", format: Any) -> None:
    told = {"program": found.program, "rule": found.rule, "from": found.begin, "to": found.end}
    counts = {"fired": found.fired, "resolved": found.resolved, "rows": found.rows}
    exact = None if found.resolution is None else found.resolution.total_seconds()
    if wants_json(format):
        print_json({**told, **counts, "resolution": exact, "alerts": found.alerts})
        return
    print_rows(_shown(found.alerts, format), _TRIED, format, f"{found.rule} would not have fired.")
    still = f", {found.fired - found.resolved} of them would still fire" if found.fired > found.resolved else ""
    times = "" if exact is None else f" Times are exact to {show_span(timedelta(seconds=exact))}."
    say(f"{found.rule} would have fired {found.fired:,} times{still}; {found.rows:,} events were read.{times}")


@contextmanager
def _log(topic: str) -> Iterator[AlertLog]:
    with AlertLog(connect(start=False)["bootstrap.servers"], topic) as log:
        yield log


@contextmanager
def _progress(rule: str) -> Iterator[Callable[[int, int], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415 - only here

    columns = (TextColumn(f"Trying {rule}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


def _shown(rows: Sequence[Mapping[str, Any]], format: Any) -> list[Mapping[str, Any]]:
    """Return rows as they are for programs, and with their keys as text for people."""
    if wants_json(format):
        return list(rows)
    return [{**row, "key": orjson.dumps(row["key"]).decode() if row.get("key") else "-"} for row in rows]


def _key(given: Sequence[str]) -> dict[str, str] | None:
    if wrong := [one for one in given if "=" not in one or one.startswith("=")]:
        raise ConfigError(f"--key must be column=value, such as shop=S01, not {wrong[0]!r}")
    return dict(one.split("=", 1) for one in given) or None


def _time(given: str, option: str) -> datetime:
    place = parse_place(given, option)
    if isinstance(place, timedelta):
        return datetime.now(UTC) - place
    if not isinstance(place, datetime):
        raise ConfigError(f"{option} must be a time like 2024-05-01T10:00 or a span like '2 hours', not {given!r}")
    return place if place.tzinfo else place.astimezone()


def _rules(program: Any) -> list[str]:
    from headrace.plan.alert import Alerts  # noqa: PLC0415 - as above

    return [rule.name for stage in program.stages if isinstance(stage.node, Alerts) for rule in stage.node.rules]


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"


def _done(row: Mapping[str, Any], text: str, format: Any) -> None:
    if wants_json(format):
        print_json(row)
    else:
        say(text)
