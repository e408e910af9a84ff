"""What the dashboard keeps in the home folder: its token, its address, and that it runs."""

import html
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson

from headrace.core import lock
from headrace.core.errors import AlreadyRunningError

TOKEN = "ui.token"
_ADDRESS, _LOCK, _PAGE = "ui.json", "ui.lock", "ui.html"
_SOUND = re.compile(r"[A-Za-z0-9_-]{43}")


def token_of(home: Path) -> str:
    """Return the token that only this user can read, made at random where there is none, or where others could.

    It stays the same from one start to the next, so that pages left open go on; delete the file for another.
    """
    path = home / TOKEN
    with suppress(OSError, UnicodeDecodeError), open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        facts = os.fstat(file.fileno())
        private = stat.S_ISREG(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o077
        known = file.read(100).decode("ascii").strip()
        if private and _SOUND.fullmatch(known):
            return known
    token = secrets.token_urlsafe(32)
    write_private(path, token)
    return token


def write_private(path: Path, text: str) -> None:
    """Replace a file by one that only this user can read."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)


@contextmanager
def held(home: Path) -> Iterator[None]:
    """Be the one dashboard of a home.

    Raises:
        AlreadyRunningError: There is another.
    """
    with lock.held(home / _LOCK) as ours:
        if not ours:
            where = (running(home) or {}).get("url", "an address that it has not told yet")
            raise AlreadyRunningError(f"the dashboard of {home} runs already, at {where}")
        try:
            yield
        finally:
            for name in (_ADDRESS, _PAGE):
                (home / name).unlink(missing_ok=True)


def announce(home: Path, url: str) -> None:
    """Note where the dashboard is, for `running`."""
    write_private(home / _ADDRESS, orjson.dumps({"url": url, "pid": os.getpid()}).decode())


def running(home: Path) -> dict[str, Any] | None:
    """Return the address (``url``) and process (``pid``) of the dashboard of a home, if it runs."""
    if not lock.is_held(home / _LOCK):
        return None
    try:
        told = orjson.loads((home / _ADDRESS).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return told if isinstance(told, dict) else None


def page_to_open(home: Path, link: str) -> Path:
    """Return a file that leads a browser to the dashboard.

    Given the link itself, a browser would show the token to everybody who can list processes.
    """
    target = html.escape(link)
    head = f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={target}"><title>Headrace</title>'
    write_private(home / _PAGE, f'<!doctype html>{head}<a href="{target}">Headrace</a>\n')
    return (home / _PAGE).absolute()
