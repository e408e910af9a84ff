"""What running programs do, on the terminal: a table that is redrawn, or a line now and then."""

import sys
import time
from collections.abc import Sequence
from typing import Any, Self

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Table

_EVERY = 5.0  # seconds between two lines where there is no terminal
_COLUMNS = ("query", "state", "batch", "rows/s", "batch time", "lag", "watermark", "kept", "rows", "late")


class Display:
    """Shows the status of programs on standard error."""

    def __init__(self, show: bool = True) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._show = show
        self._live: Live | None = None
        self._shown_at = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        """Tell a sentence, above the table."""
        if self._show:
            self._console.print(text, markup=False, soft_wrap=True)

    def update(self, programs: Sequence[dict[str, Any]], last: bool = False) -> None:
        """Show where all stages are."""
        if not self._show:
            return
        stages = [stage for program in programs for stage in program["stages"]]
        if sys.stderr.isatty():
            if self._live is None:
                self._live = Live(console=self._console, auto_refresh=False)
                self._live.start()
            self._live.update(_table(stages), refresh=True)
        elif last or time.monotonic() - self._shown_at >= _EVERY:
            self._shown_at = time.monotonic()
            for stage in stages:
                self.say(_line(stage))


def _table(stages: Sequence[dict[str, Any]]) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in ("query", "state", "watermark") else "right", no_wrap=True)
    for stage in stages:
        table.add_row(*_cells(stage), style=None if stage["state"] == "running" else "red")
    return table


def _cells(stage: dict[str, Any]) -> list[str]:
    seconds = stage["batch_seconds"]
    return [
        stage["name"],
        "catching up" if stage["catching_up"] else stage["state"],
        _number(stage["batch"]),
        f"{stage['rows_per_second']:,.0f}",
        "-" if seconds is None else f"{seconds:.2f} s",
        _number(stage["lag"]),
        (stage["watermark"] or "-")[:19].replace("T", " "),
        _number(stage["state_rows"]),
        _number(stage["rows"]),
        _number(stage["late"]),
    ]


def _line(stage: dict[str, Any]) -> str:
    told = (f"{name} {cell}" for name, cell in zip(_COLUMNS[1:], _cells(stage)[1:], strict=True))
    return f"{stage['name']}: {'  '.join(told)}"


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
