"""Expressions in Spark SQL, checked against the columns that are there, without Spark."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types

from headrace.core.errors import ExpressionError
from headrace.core.schema import UNKNOWN, Schema, quote, shown

Given = Any  # Spark SQL text, or a PySpark Column: plan/ cannot name its type
_TABLE = "t"
_GENERATORS = ("inline_outer", "json_tuple", "variant_explode", "variant_explode_outer")


@dataclass(frozen=True)
class Expression:
    """One expression: its text, and its type as far as it is known without Spark.

    A PySpark Column is kept as it is: what it refers to is checked when the program starts.
    """

    sql: str
    type: str = UNKNOWN
    column: Any = field(default=None, compare=False)


def expression(given: Given, schema: Schema, noun: str, sides: Mapping[str, Schema] | None = None) -> Expression:
    """Check an expression that is computed for each row.

    Args:
        given: The expression.
        schema: The columns it may use.
        noun: What it is for, as errors should call it.
        sides: The inputs of a join by their names, which may qualify columns.
    """
    if is_column(given):
        return Expression(str(given), column=given)
    tree = parse(given, noun)
    if aggregate := tree.find(exp.AggFunc):
        raise ExpressionError(
            f"{noun} {shown(given)} aggregates with {aggregate.sql('spark')}, but sees one row at a time; "
            "aggregate with group_by(…).agg(…)"
        )
    if _makes_rows(tree):
        raise ExpressionError(
            f"{noun} {shown(given)} would make several rows of one; compute the array, and then use explode(column)"
        )
    check_columns(tree, schema, noun, given, sides)
    return Expression(given, type_of(tree, schema))


def _makes_rows(tree: exp.Expr) -> bool:
    return any(node.name.lower() in _GENERATORS for node in tree.find_all(exp.Anonymous)) or bool(
        tree.find(exp.Explode, exp.Inline, exp.Stack)
    )


def is_column(given: Given) -> bool:
    """Whether this is a PySpark Column."""
    return type(given).__module__.startswith("pyspark.") and type(given).__name__ == "Column"


def parse(given: Given, noun: str) -> exp.Expr:
    """Read one expression; statements, queries and lists of expressions are refused."""
    if not isinstance(given, str) or not given.strip():
        raise ExpressionError(f"{noun} must be a Spark SQL expression like 'amount > 0' or a Column, not {given!r}")
    try:
        tree = sqlglot.parse_one(given, dialect="spark", into=exp.Condition)
    except SqlglotError as error:
        raise ExpressionError(f"{noun} {shown(given)} is not a Spark SQL expression{_place(error)}") from None
    except RecursionError:
        raise ExpressionError(f"{noun} {shown(given)} is nested too deeply; compute parts with with_columns") from None
    if tree.find(exp.Query) or isinstance(tree, exp.Command):
        raise ExpressionError(f"{noun} {shown(given)} holds a query; only expressions over the columns are possible")
    if tree.is_star or tree.find(exp.Placeholder, exp.Parameter):
        raise ExpressionError(f"{noun} {shown(given)} holds a placeholder; write columns and values themselves")
    if tree.find(exp.Window):
        raise ExpressionError(
            f"{noun} {shown(given)} uses OVER, which streams do not have; use group_by(…).window(…).agg(…)"
        )
    return tree


def check_columns(
    tree: exp.Expr, schema: Schema, noun: str, given: str, sides: Mapping[str, Schema] | None = None
) -> None:
    """Refuse names that are no column, with those that are meant perhaps."""
    sides = {name.lower(): columns for name, columns in (sides or {}).items()}
    for column in tree.find_all(exp.Column):
        parts = [part.name for part in column.parts]
        if parts[0].lower() in sides and len(parts) > 1:
            _known(parts[1], sides[parts[0].lower()], noun, given)
        elif parts[0].lower() not in _lambda_names(column):
            _known(parts[0], schema, noun, given)


def type_of(tree: exp.Expr, schema: Schema) -> str:
    """Return the type of an expression, or UNKNOWN where only Spark can tell."""
    tree = tree.copy()
    for column in list(tree.find_all(exp.Column)):
        names = [part.name for part in column.parts]
        found = schema.find(names[0])
        if found is None:
            continue
        typed: exp.Expr = exp.column(found, table=_TABLE, quoted=True)
        for name in names[1:]:
            typed = exp.Dot(this=typed, expression=exp.to_identifier(name))
        tree = typed if column is tree else tree
        column.replace(typed)
    known: dict[str, object] = {_TABLE: {name: kind for name, kind in schema.items() if kind != UNKNOWN}}
    try:
        annotated = annotate_types(exp.select(tree).from_(_TABLE), schema=known, dialect="spark")
    except SqlglotError:
        return UNKNOWN
    kind = annotated.selects[0].type
    return kind.sql("spark") if kind is not None and not kind.is_type("unknown", "null") else UNKNOWN


def _known(name: str, schema: Schema, noun: str, given: str) -> None:
    if schema.find(name) is None:
        raise ExpressionError(f"{noun} {shown(given)} names {unknown(name, schema)}")


def unknown(name: object, schema: Schema) -> str:
    """Return that a name is no column, with the one that is meant perhaps."""
    near = difflib.get_close_matches(str(name), list(schema), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return f"{shown(name)}, which is no column{hint} The columns are {columns(schema)}."


def columns(schema: Schema) -> str:
    """Return the names of the columns for people to read."""
    return ", ".join(quote(name) for name in schema) or "none"


def _lambda_names(column: exp.Expr) -> set[str]:
    names: set[str] = set()
    parent = column.parent
    while parent is not None:
        if isinstance(parent, exp.Lambda):
            names |= {argument.name.lower() for argument in parent.expressions}
        parent = parent.parent
    return names


def _place(error: SqlglotError) -> str:
    details = getattr(error, "errors", None) or []
    first = details[0] if details else {}
    if near := first.get("highlight"):
        return f"; it cannot be read at {near!r}"
    return "; look at its brackets, quotes and operators"
