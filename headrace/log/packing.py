"""What goes beside an event's value, as the client takes it: headers and the time."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from headrace.core.codec import encode
from headrace.core.errors import EncodeError

Headers = Mapping[str, str | bytes] | Sequence[tuple[str, str | bytes | None]]


def pairs(given: Headers) -> Sequence[tuple[str, str | bytes | None]]:
    """Return headers as names and values."""
    return list(given.items()) if isinstance(given, Mapping) else given


def packed(given: Headers) -> list[tuple[str, str | bytes | None]]:
    """Return headers as the client takes them; it does not survive names that are no text."""
    found = pairs(given)
    for name, value in found:
        if not _is_name(name) or not isinstance(value, str | bytes | None):
            raise EncodeError(f"a header is a name and text or bytes, not {name!r}: {value!r}")
    return [(name, encode(value)) for name, value in found]


def stamp(time: datetime | None) -> int:
    """Return a time as the log has it, in milliseconds; 0 for that at which the event is sent."""
    try:
        return 0 if time is None else int(time.timestamp() * 1000)
    except (AttributeError, OverflowError, ValueError):
        raise EncodeError(f"event_time must be a datetime that a clock can show, not {time!r}") from None


def _is_name(name: object) -> bool:
    try:
        return isinstance(name, str) and "\0" not in name and name.encode() is not None
    except UnicodeEncodeError:
        return False
