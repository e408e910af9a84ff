"""headrace run: programs side by side in one Spark session."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from headrace.core.errors import ConfigError


def run(
    programs: Annotated[list[Path], typer.Argument(help="Python files, each with an App at its top level.")],
    drain: Annotated[bool, typer.Option("--drain", help="End when all that the inputs hold is processed.")] = False,
    master: Annotated[str | None, typer.Option(help="Of which Spark, such as spark://host:7077 or local[4].")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only.")] = False,
) -> None:
    """Run programs until Ctrl-C; what is under way is finished first.

    Several programs share one Spark session, each with its own queries, checkpoints and versions.
    """
    from headrace.cli.programs import load  # noqa: PLC0415 - the engine is loaded when it is needed
    from headrace.runtime.together import together  # noqa: PLC0415 - Spark takes half a second to import

    apps = [app for path in programs for app in load(str(path))]
    names = [app.name for app in apps]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"two programs are called {twice[0]!r}; give one another name")
    for app in apps:
        if master is not None:
            app.options = replace(app.options, master=master)
    together(apps, drain=drain, show=not quiet)
