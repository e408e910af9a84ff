"""What is wrong with a value that does not fit its schema, told for a person."""

from collections.abc import Mapping
from typing import Any

import orjson

_TIMES = ("TIMESTAMP", "DATE")
_PYTHON: dict[tuple[str, ...], Any] = {
    ("TINYINT", "SMALLINT", "INT", "BIGINT"): int,
    ("DOUBLE", "FLOAT", "DECIMAL"): int | float,
    ("BOOLEAN",): bool,
    ("ARRAY",): list,
    ("MAP", "STRUCT"): dict,
    _TIMES: int | str,
}
_SHOWN = 60


def diagnose(value: bytes, schema: Mapping[str, str]) -> str:
    """Return why Spark could not read ``value``, as precisely as can be told."""
    try:
        parsed = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        return f"the value is not JSON: {error}"
    if not isinstance(parsed, dict):
        return f"the value is {_kind(parsed)}, not a JSON object"
    lowered = {name.lower(): (name, kind) for name, kind in schema.items()}
    for name, given in parsed.items():
        _, kind = lowered.get(name.lower(), (name, ""))
        if given is not None and kind and not _fits(given, kind):
            shown = orjson.dumps(given).decode()[:_SHOWN]
            return f"the field {name!r} is {shown}, not {kind.lower()}"
    return "the value does not fit the schema"


def _fits(given: Any, kind: str) -> bool:
    if isinstance(given, bool):
        return kind in ("BOOLEAN", "STRING")
    for kinds, types in _PYTHON.items():
        if kind.startswith(kinds):
            time = kind.startswith(_TIMES) and isinstance(given, str)
            return isinstance(given, types) and (not time or given[:4].isdigit())
    return True


def _kind(parsed: Any) -> str:
    if parsed is None:
        return "null"
    return {list: "an array", str: "text", bool: "true or false"}.get(type(parsed), "a number")
