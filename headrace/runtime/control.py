"""Programs seen and steered from other processes, by files in their home."""

import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from headrace.core.errors import QueryError, UnknownQueryError
from headrace.core.settings import Settings
from headrace.runtime.home import PROGRAMS, runs, write_json

STATUS = "status.json"
TOPOLOGY = "topology.json"  # beside the status, as `App.describe` tells it
FAILED = "failed.json"  # the last status of a program that failed, until it is started again
_ORDERS = "orders"


def programs(settings: Settings) -> Iterator[dict[str, Any]]:
    """Yield the status of every program that runs here now."""
    for path in sorted((settings.home / PROGRAMS).glob(f"*/*/{STATUS}")):
        if runs(path.parent):
            try:
                yield {**orjson.loads(path.read_bytes()), "folder": str(path.parent)}
            except (OSError, orjson.JSONDecodeError):
                continue


def topology(program: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the stages of a running program with their steps, given its status; None where it tells nothing."""
    try:
        found: dict[str, Any] = orjson.loads((Path(program["folder"]) / TOPOLOGY).read_bytes())
        return found
    except (OSError, orjson.JSONDecodeError):
        return None


def fallen(settings: Settings) -> Iterator[dict[str, Any]]:
    """Yield the last status of programs that run no more and were not stopped, with ``error`` and when (``ended``).

    The error is None of one that was killed: it had no time to say why.
    """
    for path in sorted((settings.home / PROGRAMS).glob("*/*/*.json")):
        if path.name in (STATUS, FAILED) and not runs(path.parent):
            try:
                ended = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat()
                yield {"error": None, **orjson.loads(path.read_bytes()), "ended": ended}
            except (OSError, orjson.JSONDecodeError):
                continue


def find(settings: Settings, name: str) -> dict[str, Any]:
    """Return the status of one stage, by ``program.stage`` or, where only one has it, by its own name."""
    known = [{**stage, "folder": program["folder"]} for program in programs(settings) for stage in program["stages"]]
    found = [stage for stage in known if name in (stage["name"], stage["stage"], stage["program"])]
    exact = [stage for stage in found if stage["name"] == name]
    if len(exact or found) == 1:
        return (exact or found)[0]
    names = ", ".join(sorted(stage["name"] for stage in known)) or "none"
    if found:
        raise UnknownQueryError(f"{name!r} may be {', '.join(stage['name'] for stage in found)}; say which")
    raise UnknownQueryError(f"no query {name!r} runs here; running are: {names}. 'headrace run PROGRAM.py' starts one")


def order(settings: Settings, name: str, verb: str, patience: float = 60.0) -> None:
    """Have a running program stop or restart a stage, and wait until it has."""
    stage = find(settings, name)
    path = Path(stage["folder"]) / _ORDERS / f"{uuid.uuid4().hex}.json"
    write_json(path, {"verb": verb, "stage": stage["stage"]})
    deadline = time.monotonic() + patience
    while path.exists():
        if time.monotonic() > deadline or not runs(Path(stage["folder"])):
            path.unlink(missing_ok=True)
            raise QueryError(f"the program of {name!r} does not answer; see 'headrace query describe {name}'")
        time.sleep(0.05)


def orders(folder: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield what others ask of a program: the file to delete when it is done, the verb, the stage."""
    for path in sorted((folder / _ORDERS).glob("*.json")):
        try:
            told = orjson.loads(path.read_bytes())
            yield path, told["verb"], told["stage"]
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
            path.unlink(missing_ok=True)
