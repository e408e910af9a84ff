"""Keys and values as bytes, and back."""

import reprlib
from collections.abc import Callable
from typing import Any, Literal, get_args

import orjson

from headrace.core.errors import ConfigError, DecodeError, EncodeError

Format = Literal["json", "text", "raw"]


def encode(value: Any) -> bytes | None:
    """Return what lies in the log for ``value``.

    Bytes stay as they are, text becomes UTF-8, ``None`` is a tombstone, and everything else becomes JSON: dicts,
    lists, numbers, dataclasses, datetimes, UUIDs.

    Example:
        >>> encode({"store": 7})
        b'{"store":7}'
    """
    if isinstance(value, bytes) or value is None:
        return value
    if not isinstance(value, str):
        return encode_json(value)
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise EncodeError(f"{reprlib.repr(value)} is no text ({error.reason}); send it as bytes") from None


def encode_json(value: Any) -> bytes:
    """Return ``value`` as JSON, text and None too."""
    try:
        return orjson.dumps(value)
    except TypeError as error:
        raise EncodeError(
            f"{reprlib.repr(value)} cannot be written as JSON: {error}; use dicts with text keys, lists, text, "
            "whole numbers below 2^64, booleans, None, datetimes or dataclasses"
        ) from None


def decode_text(data: bytes) -> str:
    """Return UTF-8 text; bytes that are not UTF-8 survive a round trip through `encode`."""
    return data.decode("utf-8", "surrogateescape")


def printable(text: str) -> str:
    """Return text that any terminal and any JSON reader accepts, with a mark where bytes were no text."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def decoder(fmt: str) -> Callable[[bytes], Any]:
    """Return the function that reads values of the format ``json``, ``text`` or ``raw``."""
    known: dict[str, Callable[[bytes], Any]] = {"json": _json, "text": decode_text, "raw": bytes}
    if fmt not in known:
        raise ConfigError(f"unknown format {fmt!r}; known are {', '.join(get_args(Format))}")
    return known[fmt]


def _json(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        shown = data[:80].decode("utf-8", "backslashreplace")
        raise DecodeError(f"the value is not JSON ({error}): {shown!r}") from None
