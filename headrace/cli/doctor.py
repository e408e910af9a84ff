"""headrace doctor: what this machine has, what it lacks, and how to get it."""

import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
import typer

from headrace.cli.output import FormatOption, print_json, say, wants_json
from headrace.core.errors import HeadraceError
from headrace.core.jars import cache_folder, locked, provide
from headrace.core.java import find_java
from headrace.core.quantities import show_size
from headrace.core.settings import Settings
from headrace.log.broker.cluster import Cluster
from headrace.log.client import admin_client, metadata
from headrace.log.connection import connect

_MEMORY = 1_000_000_000
_DISK = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: whether it is well, and what was found or is to be done."""

    name: str
    ok: bool
    told: str


def doctor(format: FormatOption = None) -> None:
    """Check everything that Headrace needs and say what to do about what is missing; exit code 1 if anything is."""
    looks: dict[str, Callable[[], str]] = {
        "settings": _settings,
        "Python": lambda: f"{platform.python_version()} at {sys.executable}",
        "Java": _java,
        "jars": _jars,
        "memory": _memory,
        "disk": _disk,
        "broker": _broker,
    }
    checks = [_check(name, look) for name, look in looks.items()]
    for check in checks:
        if wants_json(format):
            print_json(asdict(check))
        else:
            print(f"{'ok  ' if check.ok else 'FAIL'}  {check.name:<9} {check.told}")
    if not all(check.ok for check in checks):
        raise typer.Exit(1)
    if not wants_json(format):
        say("Everything is there.")


def _check(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, True, look())
    except HeadraceError as error:
        return Check(name, False, str(error))


def _settings() -> str:
    settings = Settings.load()
    layout = Cluster(settings).layout()
    durability = settings.durability or (layout.durability if layout else "process")
    return f"home {settings.home}, brokers {settings.brokers or 'managed'}, durability {durability}"


def _java() -> str:
    java = find_java()
    return f"{java.version} at {java.path}"


def _jars() -> str:
    settings, jars = Settings.load(), locked("broker")
    folder = settings.jars or cache_folder()
    if settings.jars is None:
        missing = [jar for jar in jars if not (folder / jar.filename).exists()]
        if missing:
            _check_writable(_nearest(folder), "XDG_CACHE_HOME")
            return f"{len(missing)} of {len(jars)} jars will be fetched into {folder} by 'headrace up'"
    provide(jars, settings.jars)
    return f"all {len(jars)} in {folder}, sums right"


def _memory() -> str:
    free = psutil.virtual_memory().available
    if free < _MEMORY:
        raise HeadraceError(
            f"{show_size(free)} free; a broker and a program want {show_size(_MEMORY)}: close something"
        )
    return f"{show_size(free)} free"


def _disk() -> str:
    home = Settings.load().home.absolute()
    existing = _nearest(home)
    free = shutil.disk_usage(existing).free
    if free < _DISK:
        raise HeadraceError(
            f"{show_size(free)} free at {existing}, less than {show_size(_DISK)}: make room or move the home"
        )
    _check_writable(existing, "HEADRACE_HOME")
    return f"{show_size(free)} free at {existing}"


def _nearest(folder: Path) -> Path:
    """Return the folder, or the one above it in which it would be made."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def _check_writable(folder: Path, variable: str) -> None:
    probe = folder / ".headrace-probe"
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise HeadraceError(
            f"{folder} cannot be written ({error.strerror}); set {variable} to a folder of yours"
        ) from None


def _broker() -> str:
    settings = Settings.load()
    if settings.brokers is None and Cluster(settings).running() is None:
        return "none runs; 'headrace up' starts one, and so does the first program"
    config = connect(start=False)
    address = config["bootstrap.servers"]
    found = metadata(admin_client(config), address)
    return f"{len(found.brokers)} at {address}, {len(found.topics)} topics"
