"""Messages of alerts: templates over the columns of a row."""

import re
from collections.abc import Mapping
from typing import Any

import orjson

_LONGEST = 2000  # characters of a message
_FIELD = re.compile(r"\{\{|\}\}|\{([^{}:]+)(?::([^{}]*))?\}")


def render(template: str, row: str | None) -> str:
    """Return a message: a template with the values of a row, which is JSON.

    Example:
        >>> render("{shop}: {share:.0%}", '{"shop": "S01", "share": 0.5}')
        'S01: 50%'
    """
    values = orjson.loads(row) if row else {}

    def fill(found: re.Match[str]) -> str:
        return found[0][0] if found[1] is None else _shown(values.get(found[1]), found[2] or "")

    return _FIELD.sub(fill, template)[:_LONGEST]


def fields_of(template: str) -> list[tuple[str, str]]:
    """Return the columns that a template names, each with its format; raise ValueError if it cannot be read."""
    rest = _FIELD.sub("", template)
    if "{" in rest or "}" in rest:
        raise ValueError("a bracket is left over; write {{ and }} for brackets themselves")
    return [(found[1], found[2] or "") for found in _FIELD.finditer(template) if found[1] is not None]


def renamed(template: str, names: Mapping[str, str]) -> str:
    """Return a template with other names for its columns."""

    def name(found: re.Match[str]) -> str:
        return found[0] if found[1] is None else found[0].replace(found[1], names[found[1]], 1)

    return _FIELD.sub(name, template)


def _shown(value: Any, spec: str) -> str:
    if value is None:
        return "-"
    try:
        return format(value, spec) if spec else value if isinstance(value, str) else orjson.dumps(value).decode()
    except (ValueError, TypeError):
        return str(value)
