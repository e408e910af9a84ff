"""Jars by locked coordinates: fetched once, checked always."""

import hashlib
import os
import shutil
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.core.errors import ConfigError, JarChecksumError, JarUnavailableError

if TYPE_CHECKING:
    from jgo.maven import MavenContext

_ABANDONED = 3600  # seconds after which a fetch is not under way any more
_AT_ONCE = 4  # downloads side by side
_STAGING = ".fetching-"


@dataclass(frozen=True, slots=True)
class Jar:
    """One locked jar: Maven coordinates and the sum of its contents."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def filename(self) -> str:
        """Return the name that the jar has in every Maven repository."""
        return f"{self.artifact}-{self.version}.jar"


def locked(part: str) -> tuple[Jar, ...]:
    """Return the jars of one part of the lock file, such as ``broker``."""
    text = resources.files("headrace.core").joinpath("jars.lock").read_text("utf-8")
    entries: dict[str, str] = tomllib.loads(text)[part]
    return tuple(_jar(coordinates, sha256) for coordinates, sha256 in entries.items())


def provide(jars: Sequence[Jar], folder: Path | None = None) -> list[Path]:
    """Return the paths of ``jars``, each with the locked contents.

    They come from ``folder`` if one is given, and then nothing is fetched; else from the cache, where what is missing
    is put first.
    """
    if folder is not None:
        return _from_folder(jars, folder)
    cache = cache_folder()
    if missing := [jar for jar in jars if not (cache / jar.filename).exists()]:
        _download(missing, cache)
    return [_verified(jar, cache / jar.filename) for jar in jars]


def cache_folder() -> Path:
    """Return the folder in which fetched jars are kept for all programs of this user."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(base).expanduser() / "headrace" / "jars"
    except RuntimeError:
        raise ConfigError(f"the jar cache {base} has no place: set XDG_CACHE_HOME to a folder of yours") from None


def _jar(coordinates: str, sha256: str) -> Jar:
    group, artifact, version = coordinates.split(":")
    return Jar(group, artifact, version, sha256)


def _from_folder(jars: Sequence[Jar], folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise ConfigError(f"HEADRACE_JARS is {folder}, which is not a folder; correct it or unset it")
    present = {path.name: path for path in folder.rglob("*.jar") if _STAGING not in str(path.relative_to(folder))}
    if missing := [jar.filename for jar in jars if jar.filename not in present]:
        raise JarUnavailableError(
            f"HEADRACE_JARS is {folder}, but {len(missing)} of {len(jars)} jars are not in it: {', '.join(missing)}. "
            f"Copy them there from {cache_folder()} of a machine that has a network."
        )
    return [_verified(jar, present[jar.filename]) for jar in jars]


def _verified(jar: Jar, path: Path) -> Path:
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise JarUnavailableError(f"{path} cannot be read: {error.strerror}; correct or delete it") from None
    if found != jar.sha256:
        raise JarChecksumError(
            f"{path} is not the file that was locked: its SHA-256 is {found}, expected {jar.sha256}. "
            "Delete it and try again; if that does not help, whoever serves it has changed it."
        )
    return path


def _download(jars: Sequence[Jar], cache: Path) -> None:
    from jgo.maven import MavenContext  # noqa: PLC0415 - half a second that only a download needs

    try:
        cache.mkdir(parents=True, exist_ok=True)
        _sweep(cache)
        staging = tempfile.TemporaryDirectory(dir=cache, prefix=_STAGING)
    except OSError as error:
        raise JarUnavailableError(
            f"the jar cache {cache} cannot be written: {error.strerror}; set XDG_CACHE_HOME to a folder of yours, "
            "or HEADRACE_JARS to a folder that has the jars"
        ) from None
    with staging, _progress(len(jars)) as tick, ThreadPoolExecutor(_AT_ONCE) as pool:
        context = MavenContext(repo_cache=Path(staging.name), timeout=30)
        waiting = [pool.submit(_download_one, jar, context, cache, tick) for jar in jars]
        try:
            for done in waiting:
                done.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _sweep(cache: Path) -> None:
    """Delete what fetches that were killed have left behind."""
    for folder in cache.glob(f"{_STAGING}*"):
        if time.time() - folder.stat().st_mtime > _ABANDONED:
            shutil.rmtree(folder, ignore_errors=True)


def _download_one(jar: Jar, context: "MavenContext", cache: Path, tick: Callable[[], None]) -> None:
    import requests  # noqa: PLC0415 - comes with jgo, as late as it

    try:
        found = context.project(jar.group, jar.artifact).at_version(jar.version).artifact().resolve()
    except (requests.RequestException, RuntimeError, OSError) as error:
        raise JarUnavailableError(
            f"{jar.filename} could not be fetched: {_reason(error)}. Check the network and try again, or set "
            "HEADRACE_JARS to a folder that has the jars."
        ) from None
    _verified(jar, found)
    found.replace(cache / jar.filename)
    tick()


def _reason(error: Exception) -> str:
    while error.__context__ is not None and isinstance(error.__context__, Exception):
        error = error.__context__
    return f"{type(error).__name__}: {str(error)[:200]}"


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    from rich.console import Console  # noqa: PLC0415 - only a download shows a bar
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415 - likewise

    columns = (TextColumn("Fetching Kafka"), BarColumn(), MofNCompleteColumn(), TextColumn("jars, once"))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)
