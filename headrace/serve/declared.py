"""Rows whose columns were declared, each in a column of its own."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import orjson

from headrace.core.errors import ConfigError, ViewError
from headrace.core.schema import Schema, shown
from headrace.serve.columns import WIDE, Column, column
from headrace.serve.layout import KEY, UNFIT, as_object, quoted


class Declared:
    """Rows whose columns were declared; fields beside them are not kept, those that lack are null."""

    def __init__(self, schema: Schema, key: Iterable[str]) -> None:
        self._columns = {name: column(name, kind) for name, kind in schema.items()}
        self._key = [_known(schema, name) for name in key]
        self._schema = schema
        self.names = list(schema)
        self.definitions = {quoted(c.name): c.declared for c in self._columns.values()}
        self.listed = self.whole = ", ".join(self.definitions)
        kinds = [self._columns[name].declared for name in self._key]
        self.indexed = [] if kinds == ["HR_TEXT"] else [quoted(name) for name in self._key]
        exactly = any(c.declared.startswith(WIDE) for c in self._columns.values())
        self._parse: Callable[[bytes], Any] = _exactly if exactly else orjson.loads

    @property
    def facts(self) -> dict[str, str]:
        """Return the columns and the key."""
        return {"schema": json.dumps(list(self._schema.items())), "key": json.dumps(self._key)}

    def fit(self, value: bytes) -> tuple[Any, ...]:
        """Return the values of the columns."""
        row = as_object(self._parse(value))
        return tuple(_fitted(c, row.get(name)) for name, c in self._columns.items())

    def unpack(self, row: Sequence[Any]) -> dict[str, Any]:
        """Return the row by column."""
        return dict(zip(self.names, row, strict=True))

    def key(self, key: Any) -> tuple[str, Sequence[Any]]:
        """Find by the event's key if it is given as text, else by the key columns."""
        if isinstance(key, str):
            return f"{KEY} = ?", [key]
        values = self._values(key)
        if not self.indexed:
            return f"{KEY} = ?", values
        return " and ".join(f"{name} is ?" for name in self.indexed), values

    def order(self, *bounds: Any) -> tuple[str, Sequence[Any]]:
        """Order by the key column."""
        if len(self._key) != 1:
            raise ViewError(f"range() needs a key of one column, and this one has {', '.join(self._key) or 'none'}")
        name = self.indexed[0] if self.indexed else KEY
        return name, [None if bound is None else self._value(self._key[0], bound) for bound in bounds]

    def _values(self, key: Any) -> list[Any]:
        given = key if isinstance(key, Mapping) else dict(zip(self._key, _several(key), strict=False))
        if set(given) != set(self._key) or (not isinstance(key, Mapping) and len(_several(key)) != len(self._key)):
            wanted = ", ".join(self._key) or "none that were declared; give the event's key as text"
            raise ViewError(f"{shown(key)} is no key here; the key columns are {wanted}")
        return [self._value(name, given[name]) for name in self._key]

    def _value(self, name: str, value: Any) -> Any:
        try:
            return _fitted(self._columns[name], value)
        except UNFIT as error:
            raise ViewError(f"{shown(value)} is no {self._schema[name]} for the key column {name!r}: {error}") from None


def _exactly(value: bytes) -> Any:
    """Return what JSON says, with all digits of its numbers."""
    orjson.loads(value)  # which refuses what no JSON is, and what no text is
    return json.loads(value, parse_float=Decimal)


def _known(schema: Schema, name: str) -> str:
    found = schema.find(name)
    if found is None:
        raise ConfigError(f"the key column {name!r} is not in the schema, which has {', '.join(schema)}")
    return found


def _fitted(column: Column, value: Any) -> Any:
    return None if value is None else column.fit(value)


def _several(key: Any) -> tuple[Any, ...]:
    return tuple(key) if isinstance(key, tuple | list) else (key,)
