"""The line of the user's program that is being carried out."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from headrace.core.errors import HeadraceError

_P = ParamSpec("_P")
_R = TypeVar("_R")


def caller() -> str:
    """Return file and line of the innermost frame that is not ours."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("headrace", "functools"):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}, line {frame.f_lineno}"


def declared(verb: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let what goes wrong in ``verb`` carry the line that called it."""

    @functools.wraps(verb)
    def told(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return verb(*args, **kwargs)
        except HeadraceError as error:
            if not getattr(error, "__notes__", None):
                error.add_note(f"declared at {caller()}")
            raise

    return told
