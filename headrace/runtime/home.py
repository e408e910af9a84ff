"""What a program remembers between two runs, and who may run it: one process at a time."""

import difflib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import orjson

from headrace.core.errors import AlreadyRunningError, ConfigError, StateChangedError
from headrace.core.settings import Settings
from headrace.plan.stages import Stage

PROGRAMS = "programs"


class Home:
    """The folder of one version of one program: its lock, its status, and, unless told otherwise, its checkpoints."""

    def __init__(self, settings: Settings, program: str, version: str, checkpoints: str | None = None) -> None:
        self.folder = settings.home / PROGRAMS / program / version
        self.log = settings.home / "spark.log"
        base = checkpoints or settings.checkpoints
        self._base = f"{base.rstrip('/')}/{program}/{version}" if base else str(self.folder / "checkpoints")
        self._program = program
        self._held: IO[str] | None = None

    def checkpoint(self, stage: str) -> str:
        """Return where Spark keeps offsets and state of a stage."""
        return f"{self._base}/{stage}"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from running the same program."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / "lock").open("a+")
        except OSError as error:
            raise ConfigError(f"{self.folder} cannot be written: {error.strerror}; set HEADRACE_HOME") from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                raise AlreadyRunningError(
                    f"the program {self._program!r} runs already, as process {lock.read().strip() or '?'}; stop that "
                    "one first, or start another version="
                ) from None
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
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


def write_json(path: Path, value: Any) -> None:
    """Replace a file at once: who reads it sees the old or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(orjson.dumps(value))
    draft.replace(path)
