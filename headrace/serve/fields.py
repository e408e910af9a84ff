"""Rows as the JSON that they came as; columns are read out of it."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import orjson

from headrace.core.codec import encode
from headrace.core.errors import EncodeError, ViewError
from headrace.core.schema import shown
from headrace.serve.layout import KEY, as_object, key_text, quoted

_VALUE = '"headrace value"'
_MOST = 500
_STRANGE = re.compile(r'["\\\x00-\x1f]')  # in a name, what SQLite's paths into JSON cannot say


class Fields:
    """Rows as JSON; the columns are the fields that any row had so far, the first 500 of them."""

    definitions: Mapping[str, str] = MappingProxyType({_VALUE: ""})
    indexed: Sequence[str] = ()
    whole = _VALUE

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = list(names)
        self._seen = set(self.names)

    @property
    def facts(self) -> dict[str, str]:
        """Return that nothing was declared."""
        return {"schema": "", "key": "[]"}

    @property
    def listed(self) -> str:
        """Return each field as a column."""
        paths = ((name, f"$.{json.dumps(name, ensure_ascii=False)}") for name in self.names)
        found = [f"json_extract({_VALUE}, {_literal(path)}) as {quoted(name)}" for name, path in paths]
        return ", ".join(found) or 'null as "nothing"'

    def fit(self, value: bytes) -> tuple[Any, ...]:
        """Return the row as JSON, always spelt alike: SQLite takes a name with escapes for another one."""
        row = as_object(orjson.loads(value))
        if not self._seen.issuperset(row):
            self._learn(row)
        return (orjson.dumps(row).decode(),)

    def unpack(self, row: Sequence[Any]) -> dict[str, Any]:
        """Return the row that was sent."""
        found: dict[str, Any] = orjson.loads(row[0])
        return found

    def key(self, key: Any) -> tuple[str, Sequence[Any]]:
        """Find by the event's key, written as `Producer` writes it."""
        return f"{KEY} = ?", [_event_key(key)]

    def order(self, *bounds: Any) -> tuple[str, Sequence[Any]]:
        """Order by the event's key, as text."""
        return KEY, [None if bound is None else _event_key(bound) for bound in bounds]

    def _learn(self, row: Mapping[str, Any]) -> None:
        taken = {name.lower() for name in self.names}  # SQLite's columns have no case
        for name in row:
            if len(self._seen) < 2 * _MOST:  # what is no column is looked at again, but not for ever
                self._seen.add(name)
            if len(taken) < _MOST and name.lower() not in taken and not _STRANGE.search(name):
                self.names.append(name)
                taken.add(name.lower())


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _event_key(key: Any) -> str | bytes:
    try:
        return key_text(encode(key) or b"null")
    except EncodeError as error:
        raise ViewError(f"{shown(key)} is no key: {error}") from None
