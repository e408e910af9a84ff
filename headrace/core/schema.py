"""Schemas: column names and Spark SQL types, known without Spark."""

import dataclasses
import datetime
import decimal
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Self

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from headrace.core.errors import SchemaError

UNKNOWN = "UNKNOWN"  # the type of an expression that only Spark can tell
RESERVED = "__"  # column names that begin so are ours
_SHOWN = 200  # characters of what was given that an error repeats
_ARITY = {exp.DataType.Type.ARRAY: 1, exp.DataType.Type.MAP: 2}
_PYTHON: dict[Any, str] = {
    str: "STRING",
    int: "BIGINT",
    float: "DOUBLE",
    bool: "BOOLEAN",
    bytes: "BINARY",
    datetime.datetime: "TIMESTAMP",
    datetime.date: "DATE",
    decimal.Decimal: "DECIMAL(38, 18)",
}
_TYPES = {
    "ARRAY BIGINT BINARY BOOLEAN CHAR DATE DECIMAL DOUBLE FLOAT INT MAP SMALLINT STRUCT TEXT TIMESTAMP TIMESTAMPLTZ",
    "TIMESTAMPNTZ TIMESTAMPTZ TINYINT VARBINARY VARCHAR",
}
_KNOWN = {exp.DataType.Type[name] for names in _TYPES for name in names.split()}


_SPARK_TYPES = (
    "Types are string, int, bigint, double, decimal(p, s), boolean, timestamp, date, binary, array<…>, map<…, …>, "
    "struct<name: …>"
)


class Schema(Mapping[str, str]):
    """Columns in their order, each with its Spark SQL type; names are compared as Spark does, without case.

    Example:
        >>> Schema.of("store int, at timestamp")["store"]
        'INT'
    """

    def __init__(self, columns: Iterable[tuple[str, str]]) -> None:
        self._columns = tuple(columns)
        seen: set[str] = set()
        for name, _ in self._columns:
            if not name:
                raise SchemaError("a column has no name; give it one")
            if name.lower() in seen:
                raise SchemaError(
                    f"the column {name!r} is there twice, upper and lower case being the same; rename one"
                )
            if name.startswith(RESERVED):
                raise SchemaError(f"the column {name!r} begins with {RESERVED!r}, which is reserved; rename it")
            seen.add(name.lower())

    @classmethod
    def of(cls, given: Any) -> Self:
        """Read a schema from DDL, a StructType, a dataclass, or a mapping of names to types."""
        if isinstance(given, cls):
            return given
        if isinstance(given, str):
            return cls(_columns(given))
        if isinstance(given, type) and dataclasses.is_dataclass(given):
            return cls(_some(_fields(given)))
        if isinstance(given, Mapping):
            return cls(_some((str(name), _type(str(name), kind)) for name, kind in given.items()))
        if callable(simple := getattr(given, "simpleString", None)):
            return cls(_columns(simple().removeprefix("struct<").removesuffix(">")))
        raise SchemaError(
            f"{shown(given)} is not a schema; write DDL like 'store int, at timestamp', a StructType, or a dataclass"
        )

    @property
    def ddl(self) -> str:
        """Return the schema as Spark's DDL."""
        return ", ".join(f"{quote(name)} {kind}" for name, kind in self._columns)

    def find(self, name: str) -> str | None:
        """Return the column that ``name`` means, spelt as it was declared."""
        return next((known for known, _ in self._columns if known.lower() == name.lower()), None)

    def __getitem__(self, name: str) -> str:
        return dict(self._columns)[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"Schema({self.ddl!r})"

    def __hash__(self) -> int:
        return hash(self._columns)


def quote(name: str) -> str:
    """Return a column's name as it stands in SQL, in backticks where it must be."""
    return name if _plain(name) else "`" + name.replace("`", "``") + "`"


def shown(given: object) -> str:
    """Return what was given, for an error to repeat; only its beginning where it is long."""
    try:
        told = repr(given)
    except RecursionError:
        told = f"a {type(given).__name__} of very deep nesting"
    return told if len(told) <= _SHOWN else f"{told[:_SHOWN]}… ({len(told)} characters)"


@cache
def _plain(name: str) -> bool:
    """Whether a name stands for a column without backticks; ``from`` and ``case`` do not."""
    try:
        return name.isidentifier() and name.isascii() and isinstance(parse_one(name, dialect="spark"), exp.Column)
    except SqlglotError:
        return False


def _columns(ddl: str) -> list[tuple[str, str]]:
    """Read ``name type, …``; the colon of nested types may stand there too."""
    try:
        parsed = parse_one(f"struct<{ddl}>", dialect="spark", into=exp.DataType)
    except (SqlglotError, RecursionError):
        parsed = None
    if not isinstance(parsed, exp.DataType) or not parsed.expressions:
        raise SchemaError(f"{shown(ddl)} is not a schema; write 'store int, at timestamp'. {_SPARK_TYPES}")
    found = []
    for column in parsed.expressions:
        if not isinstance(column, exp.ColumnDef) or column.args.get("kind") is None:
            raise SchemaError(f"the column {column.sql('spark')!r} has no type; write 'store int, at timestamp'")
        found.append((column.name, _checked(column.args["kind"], column.name)))
    return found


def _some(columns: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    if not (found := list(columns)):
        raise SchemaError("the schema has no columns; name at least one")
    return found


def _type(name: str, given: object) -> str:
    try:
        found = _columns(f"c {given}")
    except SchemaError:
        found = []
    if len(found) != 1:
        raise SchemaError(f"the column {name!r} has the unknown type {shown(given)}. {_SPARK_TYPES}")
    return found[0][1]


def _checked(kind: exp.Expr, column: str) -> str:
    for part in kind.find_all(exp.DataType):
        if part.this not in _KNOWN or len(part.expressions) != _ARITY.get(part.this, len(part.expressions)):
            raise SchemaError(f"the column {column!r} has the unknown type {part.sql()!r}. {_SPARK_TYPES}")
    return kind.sql("spark")


def _fields(given: type) -> Iterator[tuple[str, str]]:
    hints = typing.get_type_hints(given)
    for field in dataclasses.fields(given):
        yield field.name, _python_type(hints[field.name], f"{given.__name__}.{field.name}")


def _python_type(hint: Any, place: str) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [argument for argument in arguments if argument is not type(None)]
        if len(inner) == 1:
            return _python_type(inner[0], place)
    if hint in _PYTHON:
        return _PYTHON[hint]
    if origin is list:
        return f"ARRAY<{_python_type(arguments[0], place)}>"
    if origin is dict:
        return f"MAP<{_python_type(arguments[0], place)}, {_python_type(arguments[1], place)}>"
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return "STRUCT<" + ", ".join(f"{quote(name)}: {kind}" for name, kind in _fields(hint)) + ">"
    raise SchemaError(
        f"{place} is {hint!r}, which has no column type; use str, int, float, bool, bytes, datetime, date, Decimal, "
        "list[…], dict[…, …], another dataclass, or any of these | None"
    )
