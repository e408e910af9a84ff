"""Columns of Spark's types in SQLite: what is kept of a value, and what comes back of it.

SQLite tells as what a column of a result was declared, and Python's driver looks for a converter of that name. Ours
begin with ``HR_`` and end with the word in which SQLite finds how to compare and sort.
"""

import base64
import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from typing import Any

import orjson

Fit = Callable[[Any], Any]
"""Returns what SQLite keeps for a value of JSON, or raises ValueError."""

WIDE = "HR_DECIMAL_TEXT"
COLLATION = "headrace_decimal"
_DIGITS = 15  # of a decimal that a double gives back exactly
_MOMENT = len("2024-05-01 10:00:00.000000+00:00")
_EXACT = Context(prec=80)
_NUMBERS = {
    "NaN": None,
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}  # as Spark writes them; SQLite has no NaN


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its type in SQLite, and what makes values fit."""

    name: str
    declared: str
    fit: Fit


def column(name: str, kind: str) -> Column:
    """Return the column for a Spark type such as ``DECIMAL(10, 2)`` or ``ARRAY<INT>``."""
    head = re.split(r"[(<]", kind, maxsplit=1)[0]
    if head == "DECIMAL":
        return Column(name, *_decimal(*(int(n) for n in re.findall(r"\d+", kind))))
    return Column(name, *_KINDS.get(head, ("", plain)))


def plain(value: Any) -> Any:
    """Return what SQLite keeps for a value whose type is not known."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, dict | list):
        return _dump(value)
    return _whole(64)(value) if isinstance(value, int) else value


def compare_decimals(left: str, right: str) -> int:
    """Order the text of decimals by what they are worth; SQLite would go by their characters."""
    one, other = Decimal(left), Decimal(right)
    return (one > other) - (one < other)


def expression(data: bytes) -> Any:
    """Return the text of an expression, which has no declared type; written as timestamps are kept, it is one.

    So ``max(at)`` is a time, as ``at`` is.
    """
    text = data.decode("utf-8", "replace")
    if len(text) == _MOMENT and text.endswith("+00:00") and text[10] == " ":
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return text
    return text


def _whole(bits: int) -> Fit:
    most = 2 ** (bits - 1)

    def fit(value: Any) -> int:
        if type(value) is not int or not -most <= value < most:
            raise ValueError(f"{value!r} is no whole number of {bits} bits")
        return value

    return fit


def _real(value: Any) -> float | None:
    if isinstance(value, str) and value in _NUMBERS:
        return _NUMBERS[value]
    if isinstance(value, bool | str):
        raise ValueError(f"{value!r} is no number")
    return float(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _dump(value)  # as Spark reads a number where text is declared


def _boolean(value: Any) -> int:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return int(value)


def moment(value: Any) -> str:
    """Return a timestamp as it is kept: UTC, of one length, so that text sorts as time does."""
    at = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return at.isoformat(" ", "microseconds")


def _local(value: Any) -> str:
    at = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return at.replace(tzinfo=None).isoformat(" ", "microseconds")


def _date(value: Any) -> str:
    return (value if isinstance(value, date) else date.fromisoformat(value)).isoformat()


def _binary(value: Any) -> bytes:
    return value if isinstance(value, bytes) else base64.b64decode(value, validate=True)


def _nested(kind: type) -> Fit:
    def fit(value: Any) -> str:
        if not isinstance(value, kind):
            raise ValueError(f"{value!r} is not what its column is declared as")
        return _dump(value)

    return fit


def _dump(value: Any) -> str:
    return orjson.dumps(value, default=float).decode()  # decimals inside, where numbers are read exactly


def _scaled(scale: int) -> Callable[[bytes], Decimal]:
    unit = Decimal(1).scaleb(-scale)
    return lambda data: Decimal(data.decode()).quantize(unit, context=_EXACT)


def _decimal(precision: int = 10, scale: int = 0) -> tuple[str, Fit]:
    unit = Decimal(1).scaleb(-scale)
    wide = precision > _DIGITS
    declared = WIDE if wide else f"HR_DECIMAL{scale}_REAL"

    def fit(value: Any) -> str | float:
        if isinstance(value, bool):
            raise ValueError(f"{value!r} is no number")
        given = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        exact = given.quantize(unit, context=_EXACT)
        if not exact.is_finite() or len(exact.as_tuple().digits) > precision:
            raise ValueError(f"{value!r} has more than {precision} digits")
        return f"{exact:f}" if wide else float(exact)

    return f"{declared} COLLATE {COLLATION}" if wide else declared, fit


_KINDS: dict[str, tuple[str, Fit]] = {
    "TINYINT": ("INTEGER", _whole(8)),
    "SMALLINT": ("INTEGER", _whole(16)),
    "INT": ("INTEGER", _whole(32)),
    "BIGINT": ("INTEGER", _whole(64)),
    "FLOAT": ("REAL", _real),
    "DOUBLE": ("REAL", _real),
    "BOOLEAN": ("HR_BOOLEAN", _boolean),
    "TIMESTAMP": ("HR_TIMESTAMP_TEXT", moment),
    "TIMESTAMP_LTZ": ("HR_TIMESTAMP_TEXT", moment),
    "TIMESTAMP_NTZ": ("HR_LOCAL_TEXT", _local),
    "DATE": ("HR_DATE_TEXT", _date),
    "BINARY": ("BLOB", _binary),
    "ARRAY": ("HR_JSON_TEXT", _nested(list)),
    "MAP": ("HR_JSON_TEXT", _nested(dict)),
    "STRUCT": ("HR_JSON_TEXT", _nested(dict)),
} | {name: ("HR_TEXT", _text) for name in ("STRING", "TEXT", "VARCHAR", "CHAR")}

for _name, _converter in {
    "HR_BOOLEAN": lambda data: data != b"0",
    "HR_TIMESTAMP_TEXT": lambda data: datetime.fromisoformat(data.decode()),
    "HR_LOCAL_TEXT": lambda data: datetime.fromisoformat(data.decode()),
    "HR_DATE_TEXT": lambda data: date.fromisoformat(data.decode()),
    "HR_JSON_TEXT": orjson.loads,
    "HR_TEXT": bytes.decode,
    WIDE: lambda data: Decimal(data.decode()),
    **{f"HR_DECIMAL{scale}_REAL": _scaled(scale) for scale in range(_DIGITS + 1)},
}.items():
    sqlite3.register_converter(_name, _converter)
