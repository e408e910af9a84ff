"""headrace explain: what a program will do, without running it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.output import FormatOption, print_json, say, wants_json
from headrace.core.codec import printable
from headrace.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.runtime.app import App

Program = Annotated[str, typer.Argument(metavar="PROGRAM.py", help="The file that declares it.")]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Also write a drawing of the topology.")]


def explain(program: Program, svg: Svg = None, format: FormatOption = None) -> None:
    """Show a program's stages, their steps, state and guarantees, without running it."""
    from headrace.cli.programs import load  # noqa: PLC0415 - brings sqlglot, which other commands do not need

    apps = load(program)
    if wants_json(format):
        for app in apps:
            print_json(app.describe())
    else:
        print(printable("\n\n".join(app.explain() for app in apps)))
    if svg is not None:
        _write(apps, svg)


def _write(apps: "Sequence[App]", svg: Path) -> None:
    """Write a drawing of each; where there are several, each file has its program's name too."""
    from headrace.plan.draw import draw  # noqa: PLC0415 - only --svg needs it

    for app in apps:
        file = svg if len(apps) == 1 else svg.with_stem(f"{svg.stem}-{app.name}")
        try:
            file.write_text(draw(app.describe()), "utf-8")
        except OSError as error:
            raise ConfigError(f"--svg {file} cannot be written: {error.strerror}") from None
        say(f"Drew {file}.")
