"""One event as it lies in the log."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

from confluent_kafka import TIMESTAMP_CREATE_TIME, Message

from headrace.core.codec import decode_text
from headrace.core.errors import DecodeError

EVENT_TIME = "headrace-event-time"  # milliseconds since the epoch; managed topics stamp records with the log's own time
_FIRST, _LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
_UNREAD = object()


class Event:
    """An event read from a topic; immutable, ordered within its partition.

    The value is decoded when it is first asked for, so that one that cannot be decoded harms no other.

    Attributes:
        received: When this process read it, the third of an event's three times.
    """

    __slots__ = ("_decode", "_message", "_value", "received")

    def __init__(self, message: Message, decode: Callable[[bytes], Any], received: datetime) -> None:
        self._message = message
        self._decode = decode
        self._value: Any = _UNREAD
        self.received = received

    @property
    def value(self) -> Any:
        """Return the decoded value; None is a tombstone.

        Raises:
            DecodeError: The bytes, which `raw_value` has, are not of the consumer's format.
        """
        if self._value is _UNREAD:
            data = self._message.value()
            try:
                self._value = None if data is None else self._decode(data)
            except DecodeError as error:
                raise DecodeError(f"{self!r}: {error}; read it with format='text' or 'raw', or as raw_value") from None
        return self._value

    @property
    def raw_value(self) -> bytes | None:
        """Return the value's bytes."""
        return self._message.value()

    @property
    def key(self) -> str | None:
        """Return the key as text."""
        data = self._message.key()
        return None if data is None else decode_text(data)

    @property
    def raw_key(self) -> bytes | None:
        """Return the key's bytes."""
        return self._message.key()

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers as text; of a header that repeats, the last."""
        return {name: decode_text(value) for name, value in self.raw_headers if value is not None}

    @property
    def raw_headers(self) -> list[tuple[str, bytes | None]]:
        """Return the headers as they are, repeated and empty ones too."""
        return cast("list[tuple[str, bytes | None]]", self._message.headers() or [])

    @property
    def topic(self) -> str:
        """Return the topic it was read from."""
        return self._message.topic() or ""

    @property
    def partition(self) -> int:
        """Return the partition it was read from."""
        return self._message.partition() or 0

    @property
    def offset(self) -> int:
        """Return its place in the partition."""
        return self._message.offset() or 0

    @property
    def timestamp(self) -> datetime:
        """Return the time that the log keeps: when it was appended, in managed topics."""
        return _time(self._message.timestamp()[1])

    @property
    def event_time(self) -> datetime | None:
        """Return the time that the producer gave, or None if it gave none."""
        told = self.headers.get(EVENT_TIME, "")
        if told.removeprefix("-").isdecimal():
            return _time(int(told))
        kind, stamp = self._message.timestamp()
        return _time(stamp) if kind == TIMESTAMP_CREATE_TIME else None

    def __repr__(self) -> str:
        return f"Event({self.topic}[{self.partition}]@{self.offset}, key={self.key!r})"


def _time(stamp: int) -> datetime:
    """Return a stamp as a time; foreign producers send some that no calendar has."""
    try:
        return datetime.fromtimestamp(stamp / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return _LAST if stamp > 0 else _FIRST
