"""The ``headrace`` command."""

import os
import sys
import traceback
from typing import Annotated

import typer

import headrace
from headrace.cli import alert, broker, demo, dlq, doctor, explain, group, query, run, table, topic, ui
from headrace.core.errors import ConfigError, HeadraceError, TopicNameError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Headrace: stream processing in Python. Kafka is the log, Spark the engine.",
    epilog="Set HEADRACE_BROKERS=host:port to use a Kafka cluster instead of the local broker.",
)
app.command("demo")(demo.demo)
app.command("up")(broker.up)
app.command("down")(broker.down)
app.command("status")(broker.status)
app.command("doctor")(doctor.doctor)
app.add_typer(topic.app, name="topic")
app.command("run")(run.run)
app.command("explain")(explain.explain)
app.add_typer(query.app, name="query")
app.add_typer(table.app, name="table")
app.add_typer(group.app, name="group")
app.add_typer(alert.app, name="alert")
app.add_typer(dlq.app, name="dlq")
app.command("ui")(ui.ui)

_USAGE = (ConfigError, TopicNameError)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"headrace {headrace.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and end.", is_eager=True, callback=_show_version)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where in the code an error arose.")] = False,
) -> None:
    if debug:
        os.environ["HEADRACE_DEBUG"] = "1"


def main() -> None:
    """Run the command line and end with 0, 1 (failed) or 2 (usage)."""
    try:
        app()
    except HeadraceError as error:
        _fail("\n".join([str(error), *getattr(error, "__notes__", [])]), 2 if isinstance(error, _USAGE) else 1)
    except Exception as error:  # a bug of ours: never a bare stack trace
        _fail(f"Headrace failed: {type(error).__name__}: {error}. Run 'headrace --debug …' to see where.", 1)


def _fail(message: str, code: int) -> None:
    if os.environ.get("HEADRACE_DEBUG"):
        traceback.print_exc()
    print(f"Error: {message}", file=sys.stderr)
    sys.exit(code)
