"""headrace query: what runs here, seen and steered from another terminal."""

from typing import Annotated, Any

import typer

from headrace.cli.output import FormatOption, YesOption, confirm, print_json, print_object, print_rows, say, wants_json
from headrace.core.settings import Settings

app = typer.Typer(no_args_is_help=True, help="See and steer the queries of running programs.")
Name = Annotated[str, typer.Argument(help="program.stage, or the stage's own name.")]
_COLUMNS = ("name", "state", "batch", "rows_per_second", "batch_seconds", "lag", "watermark", "state_rows", "late")


@app.command("list")
def list_(format: FormatOption = None) -> None:
    """List the queries that run here."""
    from headrace.runtime import control  # noqa: PLC0415 - the engine is loaded when it is needed

    rows = [stage for program in control.programs(Settings.load()) for stage in program["stages"]]
    print_rows(rows, _COLUMNS, format, "No program runs here. Start one with 'headrace run PROGRAM.py'.")


@app.command()
def describe(name: Name, format: FormatOption = None) -> None:
    """Show one query: its state, rates, lag, time and last error."""
    from headrace.runtime import control  # noqa: PLC0415 - not before it is needed

    print_object(control.find(Settings.load(), name), format)


@app.command()
def stop(name: Name, yes: YesOption = False, format: FormatOption = None) -> None:
    """Stop a query after the batch under way; the rest of its program goes on."""
    confirm(f"Stop {name}?", yes)
    _order(name, "stop", format)


@app.command()
def restart(name: Name, format: FormatOption = None) -> None:
    """Stop a query after the batch under way, and start it again where it was."""
    _order(name, "restart", format)


def _order(name: str, verb: str, format: Any) -> None:
    from headrace.runtime import control  # noqa: PLC0415 - not before it is needed

    settings = Settings.load()
    stage = control.find(settings, name)["name"]
    control.order(settings, name, verb)
    done = {"stop": "stopped", "restart": "restarted"}[verb]
    if wants_json(format):
        print_json({done: stage})
    else:
        say(f"{stage} {done}.")
