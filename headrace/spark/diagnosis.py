"""What is wrong with a value that does not fit its schema, told for a person."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import orjson
from sqlglot import exp

_SHOWN = 60
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity", "INF", "-INF", "+INF", "+Infinity")


def diagnose(value: bytes, schema: Mapping[str, str]) -> str:
    """Return why Spark could not read ``value``, as precisely as can be told."""
    try:
        parsed = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        return f"the value is not JSON: {error}"
    if not isinstance(parsed, dict):
        return f"the value is {_kind(parsed)}, not a JSON object"
    lowered = {name.lower(): kind for name, kind in schema.items()}
    for name, given in parsed.items():
        kind = lowered.get(name.lower())
        if kind is not None and not _fits(given, _type(kind)):
            shown = orjson.dumps(given).decode()[:_SHOWN]
            return f"the field {name!r} is {shown}, not {kind.lower()}"
    return "the value does not fit the schema"


@cache
def _type(kind: str) -> exp.DataType:
    return exp.DataType.build(kind, dialect="spark")


def _fits(given: Any, kind: exp.DataType) -> bool:
    """Whether a value is of a type, as far as it can be told without Spark."""
    name = kind.this.name
    if given is None:
        return True
    if name in _BITS:
        largest = 2 ** (_BITS[name] - 1)
        return _is(given, int) and -largest <= given < largest
    if name in ("DOUBLE", "FLOAT"):
        return _is(given, int | float) or given in _NO_NUMBERS
    return _FITS[name](given, kind) if name in _FITS else True


def _is(given: Any, types: Any) -> bool:
    return isinstance(given, types) and not isinstance(given, bool)


def _decimal(given: Any, kind: exp.DataType) -> bool:
    if not _is(given, int | float):
        return False
    digits, scale = (int(size.name) for size in kind.expressions) if kind.expressions else (10, 0)
    return abs(Decimal(str(given))) < Decimal(10) ** (digits - scale)


def _time(given: Any, kind: exp.DataType) -> bool:
    return _is(given, int) or (isinstance(given, str) and _reads(datetime.fromisoformat, given))


def _date(given: Any, kind: exp.DataType) -> bool:
    return _is(given, int) or (isinstance(given, str) and _reads(date.fromisoformat, given[:10]))


def _reads(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def _array(given: Any, kind: exp.DataType) -> bool:
    return isinstance(given, list) and all(_fits(item, kind.expressions[0]) for item in given)


def _map(given: Any, kind: exp.DataType) -> bool:
    return isinstance(given, dict) and all(_fits(item, kind.expressions[1]) for item in given.values())


def _struct(given: Any, kind: exp.DataType) -> bool:
    fields = ((field.name, field.args["kind"]) for field in kind.expressions)
    return isinstance(given, dict) and all(_fits(given.get(name), inner) for name, inner in fields)


_FITS: dict[str, Callable[[Any, exp.DataType], bool]] = {
    "ARRAY": _array,
    "BOOLEAN": lambda given, kind: isinstance(given, bool),
    "DATE": _date,
    "DECIMAL": _decimal,
    "MAP": _map,
    "STRUCT": _struct,
    "TIMESTAMP": _time,
    "TIMESTAMPLTZ": _time,
    "TIMESTAMPNTZ": _time,
    "TIMESTAMPTZ": _time,
}


def _kind(parsed: Any) -> str:
    if parsed is None:
        return "null"
    return {list: "an array", str: "text", bool: "true or false"}.get(type(parsed), "a number")
