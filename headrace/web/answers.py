"""What the server answers: JSON, and errors in words with the status that fits."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from headrace.core.errors import (
    BrokerError,
    BrokerUnavailableError,
    ConfigError,
    EventError,
    EventTooLargeError,
    GroupError,
    HeadraceError,
    QueryError,
    ReplayError,
    TopicError,
    TransactionError,
    UnknownQueryError,
    UnknownTopicError,
    ViewError,
    ViewTimeoutError,
)

_STATUS: tuple[tuple[type[HeadraceError], int], ...] = (  # the first that fits
    (UnknownTopicError, 404),
    (UnknownQueryError, 404),
    (GroupError, 404),
    (BrokerUnavailableError, 503),
    (BrokerError, 502),
    (ViewTimeoutError, 504),
    (EventTooLargeError, 413),
    (ReplayError, 409),
    (TransactionError, 409),
    (QueryError, 504),
    (ViewError, 400),
    (ConfigError, 400),
    (TopicError, 400),
    (EventError, 400),
)
_DEEPEST = 200  # lists and objects in each other
_WORDS = {
    400: "the request cannot be understood",
    404: "there is nothing here",
    405: "this can be asked for, or done, but not that way",
    413: "the request is too large",
}


class Answer(Response):
    """An answer in JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the content as it is sent."""
        return dump(content)


def dump(content: Any) -> bytes:
    """Return JSON; bytes in it become base64, times are told in UTC, and what is nested too deeply is left out."""
    try:
        return orjson.dumps(content, default=_plain, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)
    except TypeError:  # numbers of more than 64 bits, text that is none
        pass
    try:
        return json.dumps(content, default=_plain).encode()
    except RecursionError:
        return json.dumps(_cut(content), default=_plain).encode()


def refusal(status: int, why: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an answer that says why there is no other."""
    return Answer({"error": why}, status, headers)


async def on_error(request: Request, error: Exception) -> Response:
    """Answer what went wrong in the words of the error."""
    otherwise = 404 if isinstance(error, LookupError) else 500
    return refusal(next((status for kind, status in _STATUS if isinstance(error, kind)), otherwise), str(error))


async def on_http_error(request: Request, error: Exception) -> Response:
    """Answer what was asked for wrongly."""
    assert isinstance(error, HTTPException)
    told = error.detail if error.detail and error.detail[0].islower() else _WORDS.get(error.status_code, error.detail)
    return refusal(error.status_code, told, error.headers)


def _cut(value: Any, depth: int = 0) -> Any:
    """Return a value without what lies too deep in it."""
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        return {name: _cut(one, depth + 1) for name, one in value.items()}
    return [_cut(one, depth + 1) for one in value]


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
