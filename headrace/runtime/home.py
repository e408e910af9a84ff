"""What a program remembers between two runs, and who may run it: one process at a time."""

import difflib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from headrace.core.errors import AlreadyRunningError, StateChangedError
from headrace.core.lock import held, holder, is_held
from headrace.core.settings import Settings
from headrace.plan.stages import Stage

PROGRAMS = "programs"
_LOCK = "lock"


class Home:
    """The folder of one version of one program: its lock, its status, and, unless told otherwise, its checkpoints."""

    def __init__(self, settings: Settings, program: str, version: str, checkpoints: str | None = None) -> None:
        self.folder = settings.home / PROGRAMS / program / version
        self.log = settings.home / "spark.log"
        base = checkpoints or settings.checkpoints
        self._base = f"{base.rstrip('/')}/{program}/{version}" if base else str(self.folder / "checkpoints")
        self._program = program

    def checkpoint(self, stage: str) -> str:
        """Return where Spark keeps offsets and state of a stage."""
        return f"{self._base}/{stage}"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from running the same program."""
        lock = self.folder / _LOCK
        with held(lock) as ours:
            if not ours:
                raise AlreadyRunningError(
                    f"the program {self._program!r} runs already, as process {holder(lock)}; stop that one first, or "
                    "start another version="
                )
            yield

    def remember(self, stage: Stage) -> None:
        """Compare a stage with the one whose state is kept, and note it if there is none.

        Raises:
            StateChangedError: They differ; the message shows how.
        """
        path = self.folder / "stages" / f"{stage.name}.json"
        now = list(stage.fingerprint)
        before = orjson.loads(path.read_bytes())["steps"] if path.exists() else None
        if before is not None and before != now and before:
            raise _changed(stage, before, now)
        write_json(path, {"steps": now})


def _changed(stage: Stage, before: list[str], now: list[str]) -> StateChangedError:
    lines = difflib.ndiff(before, now)
    shown = "\n".join(f"  {line}" for line in lines if line.startswith(("-", "+")))
    error = StateChangedError(
        f"the stage {stage.name!r} keeps state, and its steps are not those that made it:\n{shown}\n"
        "Put the declaration back, or give App(…) another version=, which starts from the beginning"
    )
    if stage.where:
        error.add_note(f"declared at {stage.where}")
    return error


def runs(folder: Path) -> bool:
    """Whether some process runs the program of a folder."""
    return is_held(folder / _LOCK)


def write_json(path: Path, value: Any) -> None:
    """Replace a file at once: who reads it sees the old or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(orjson.dumps(value))
    draft.replace(path)
