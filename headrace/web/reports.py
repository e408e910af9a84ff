"""Reports: pages that come with programs, each a folder."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from headrace.core.errors import ConfigError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Report:
    """A folder with ``report.json`` (``{"title": …}``, and ``name`` if the folder's will not do) and ``report.js``."""

    name: str
    title: str
    folder: Path


def load(folders: Iterable[str | Path]) -> dict[str, Report]:
    """Return the reports by their names.

    Raises:
        ConfigError: A folder is none, or two have one name.
    """
    found: dict[str, Report] = {}
    for folder in folders:
        report = _report(Path(folder))
        if report.name in found:
            raise ConfigError(f'two reports are called {report.name!r}; give one another "name" in its report.json')
        found[report.name] = report
    return found


def _report(folder: Path) -> Report:
    for file in ("report.json", "report.js"):
        if not (folder / file).is_file():
            raise ConfigError(f"{folder} is no report: it has no {file}")
    told = _told(folder / "report.json")
    name, title = told.get("name", folder.resolve().name), told.get("title")
    if not isinstance(title, str) or not title:
        raise ConfigError(f'{folder / "report.json"} must be like {{"title": "Retail"}}')
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is no name for a report; use letters, digits, '.', '_' and '-'")
    return Report(name, title, folder.resolve())


def _told(path: Path) -> dict[str, Any]:
    try:
        told = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    return told if isinstance(told, dict) else {}
