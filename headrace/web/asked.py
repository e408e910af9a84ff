"""What a request asks: its parameters and its body, checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import anyio
import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request

from headrace.core.errors import ConfigError

_PATIENCE = 10.0  # seconds for a body to arrive
_LARGEST = 2**63 - 1  # of an offset


@dataclass(frozen=True, slots=True)
class Asked:
    """A request without its transport."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    async def of(cls, request: Request) -> "Asked":
        """Read a request; a POST has a JSON object."""
        body = await _object(request) if request.method == "POST" else {}
        return cls(request.path_params, request.query_params, body)

    def number(self, name: str, default: int | None = None, low: int = 0, high: int = _LARGEST) -> int | None:
        """Return a whole number from the query."""
        given = self.query.get(name, "")
        if given == "":
            return default
        sound = given.isascii() and given.isdecimal() and len(given) <= len(str(_LARGEST))
        if not sound or not low <= int(given) <= high:
            raise ConfigError(f"{name} must be a number from {low} to {high:,}, not {given[:50]!r}")
        return int(given)

    def limit(self, default: int, most: int) -> int:
        """Return how many are wanted."""
        return self.number("limit", default, 1, most) or default

    def flag(self, name: str) -> bool:
        """Return whether something is wanted."""
        given = self.query.get(name, "")
        if given not in ("", "0", "1"):
            raise ConfigError(f"{name} must be 0 or 1, not {given[:50]!r}")
        return given == "1"

    def moment(self, name: str) -> datetime | None:
        """Return a time; one without a zone is that of this machine."""
        given = self.query.get(name, "")
        if given == "":
            return None
        try:
            return datetime.fromisoformat(given).astimezone()
        except (ValueError, OverflowError):
            raise ConfigError(f"{name} must be a time like 2024-05-01T10:00:00Z, not {given[:50]!r}") from None

    def offsets(self, name: str) -> dict[int, int] | None:
        """Return a map from partitions to offsets."""
        given = self.query.get(name, "")
        return None if given == "" else offsets_of(_parsed(name, given), name)

    def offsets_by_topic(self, name: str) -> dict[str, dict[int, int]] | None:
        """Return a map from topics to such maps."""
        given = self.query.get(name, "")
        if given == "":
            return None
        told = _parsed(name, given)
        if not isinstance(told, dict):
            raise ConfigError(f'{name} must be like {{"orders": {{"0": 12}}}}, not {given[:50]!r}')
        return {topic: offsets_of(offsets, name) for topic, offsets in told.items()}

    def text(self, name: str, default: str | None = None) -> str:
        """Return text from the body."""
        given = self.body.get(name, default)
        if not isinstance(given, str) or (default is None and not given):
            raise ConfigError(f'the body must have "{name}", which is text')
        return given


def offsets_of(told: Any, name: str) -> dict[int, int]:
    """Return offsets by partition as JSON tells them: the names of its fields are text."""
    sound = isinstance(told, dict) and all(
        number.isascii() and number.isdecimal() and len(number) < 10 and _is_offset(offset)  # noqa: PLR2004 - digits
        for number, offset in told.items()
    )
    if not sound:
        raise ConfigError(f'{name} must give an offset for each partition, like {{"0": 12, "1": 7}}')
    return {int(number): offset for number, offset in told.items()}


def _is_offset(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _parsed(name: str, given: str) -> Any:
    try:
        return orjson.loads(given)
    except orjson.JSONDecodeError:
        raise ConfigError(f"{name} is not JSON: {given[:50]!r}") from None


async def _object(request: Request) -> dict[str, Any]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "send a JSON object, with the header Content-Type: application/json")
    try:
        with anyio.fail_after(_PATIENCE):
            data = await request.body()
    except TimeoutError:
        raise HTTPException(408, "the body of the request did not arrive in time") from None
    try:
        told = orjson.loads(data or b"{}")
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"the body is not JSON: {error}") from None
    if not isinstance(told, dict):
        raise ConfigError("the body must be a JSON object")
    return told
