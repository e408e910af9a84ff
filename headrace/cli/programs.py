"""Users' programs, read without running them."""

import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.core.errors import ConfigError, HeadraceError
from headrace.runtime import app as runtime
from headrace.runtime.app import App


def load(path: str) -> list[App]:
    """Carry out the declarations of a file and return its programs, in their order.

    The file sees ``__name__ == "__headrace__"``: what it does under ``if __name__ == "__main__":`` is left out. Its
    folder stays on ``sys.path``, for what its functions import when they run.
    """
    file = Path(path)
    if not file.is_file():
        raise ConfigError(f"there is no file {path!r}; give the Python file that declares the program")
    if file.suffix != ".py":
        raise ConfigError(f"{path!r} is not a Python file; its name must end in .py")
    apps = [value for value in _globals(path).values() if isinstance(value, App)]
    if not apps:
        raise ConfigError(f"{path!r} has no program in it; declare app = hr.App(…) at the top level")
    return list(dict.fromkeys(apps))


def _globals(path: str) -> dict[str, Any]:
    with _reading(path):
        try:
            return runpy.run_path(path, run_name="__headrace__")
        except HeadraceError:
            raise
        except SyntaxError as error:
            raise ConfigError(f"{_place(error, path)} is not Python: {error.msg}") from error
        except SystemExit as error:
            ends = f"{_place(error, path)} ends the process; leave that to 'if __name__ == \"__main__\":'"
            raise ConfigError(ends) from error
        except Exception as error:
            raise ConfigError(f"{_place(error, path)} raises {type(error).__name__}: {error}") from error


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Let a file find what lies beside it, and nothing of our own command line; nothing starts meanwhile."""
    folder = str(Path(path).resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    arguments, sys.argv = sys.argv, [path]
    runtime.declaring = True
    try:
        yield
    finally:
        runtime.declaring = False
        sys.argv = arguments


def _place(error: BaseException, path: str) -> str:
    """Return the innermost file and line that are the user's own."""
    folder = Path(path).resolve().parent
    if isinstance(error, SyntaxError) and error.filename and _within(Path(error.filename), folder):
        return f"{error.filename}, line {error.lineno}"
    own = [
        f"{path if Path(frame.filename).name == Path(path).name else frame.filename}, line {frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if _within(Path(frame.filename), folder)
    ]
    return own[-1] if own else path


def _within(file: Path, folder: Path) -> bool:
    return file.is_file() and file.resolve().is_relative_to(folder) and "site-packages" not in file.parts
