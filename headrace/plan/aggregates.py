"""Aggregates: Spark's own, and those that streams lack, rewritten in terms of those they have.

Spark's ``first``, ``last`` and ``collect_list`` follow the order in which rows happen to arrive, which differs between
two runs; here they follow the rows' time. ``count(distinct …)`` is not there for streams; a set is.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlglot import exp

from headrace.core.errors import ExpressionError
from headrace.core.schema import UNKNOWN, Schema
from headrace.plan.expressions import Given, check_columns, expression, is_column, parse, type_of

TIME = "__time"
_OWN = {"top_n", "moving_avg"}
_FOLDS: dict[type[exp.Expr], Literal["count", "sum", "avg", "min", "max"]] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}
_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")
_BY_TIME = (exp.First, exp.FirstValue, exp.Last, exp.LastValue, exp.ArrayAgg)


@dataclass(frozen=True)
class Agg:
    """One column of an aggregation.

    Attributes:
        name: The column.
        given: The expression in the words of the program.
        sql: The expression that Spark computes.
        type: As far as it is known without Spark.
        column: A PySpark Column instead of ``sql``.
        function: A Python function of the values that ``sql`` has gathered.
    """

    name: str
    given: str
    sql: str
    type: str = UNKNOWN
    column: Any = field(default=None, compare=False)
    function: Callable[..., Any] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Custom:
    """A user-defined aggregate, before it knows its group; see `aggregate`."""

    function: Callable[..., Any]
    columns: tuple[str, ...]
    returns: str


def aggregate(function: Callable[..., Any], *columns: str, returns: str) -> Custom:
    """Aggregate with a Python function that gets the group's values as lists, in the order of their time.

    The values of all open groups are kept as state, so prefer Spark's aggregates where there is one.

    Args:
        function: Gets one list for each of ``columns``.
        columns: Expressions whose values to gather.
        returns: The Spark SQL type of the result.

    Example:
        >>> spread = aggregate(lambda prices: max(prices) - min(prices), "price", returns="double")
    """
    return Custom(function, columns, returns)


@dataclass(frozen=True)
class Simple:
    """One of the aggregates that are a fold over numbers; ``of`` is the SQL of what is folded, None for all rows."""

    fold: Literal["count", "sum", "avg", "min", "max"]
    of: str | None


def simple(given: Agg, schema: Schema, decimals: bool = False) -> Simple | None:
    """Return what an aggregate folds, if it is one of those; over decimals only where they are asked for."""
    if given.column is not None or given.function is not None:
        return None
    tree = parse(given.given, "agg")
    fold = _FOLDS.get(type(tree))
    if fold is None or len(tree.args.get("expressions") or ()) or isinstance(tree.this, exp.Distinct):
        return None
    if isinstance(tree.this, exp.Star):
        return Simple("count", None)
    kind = type_of(tree.this, schema)
    if fold != "count" and kind not in _NUMBERS and not (decimals and kind.startswith("DECIMAL")):
        return None
    return Simple(fold, tree.this.sql("spark"))


def agg(name: str, given: Given | Custom, schema: Schema, timed: bool) -> Agg:
    """Check one aggregate and put it into terms that streams have."""
    noun = f"the aggregate {name}="
    if isinstance(given, Custom):
        return _custom(name, given, schema, timed)
    if is_column(given):
        return Agg(name, str(given), "", column=given)
    tree = parse(given, noun)
    check_columns(tree, schema, noun, given)
    if not tree.find(exp.AggFunc) and not tree.find(exp.Anonymous):
        raise ExpressionError(f"{noun}{given!r} does not aggregate; write for example 'sum({given})' or 'max({given})'")
    rewritten = tree.transform(lambda node: _rewrite(node, schema, timed, noun))
    sql = given if rewritten == tree else rewritten.sql("spark")
    kind = type_of(tree, schema)
    if top := next((n for n in tree.find_all(exp.Anonymous) if n.name.lower() in _OWN), None):
        kind = _own_type(top, schema)
    return Agg(name, given, sql, kind)


def _custom(name: str, given: Custom, schema: Schema, timed: bool) -> Agg:
    noun = f"the aggregate {name}="
    if not callable(given.function) or not given.columns:
        raise ExpressionError(f"{noun}hr.aggregate(…) needs a function and at least one column")
    parts = [expression(text, schema, noun).sql for text in given.columns]
    order = TIME if timed else "0"
    row = f"struct({order} as t, {', '.join(f'{sql} as c{n}' for n, sql in enumerate(parts))})"
    returns = Schema.of({"result": given.returns})["result"]
    called = getattr(given.function, "__name__", "function")
    told = f"{called}({', '.join(given.columns)})"
    return Agg(name, told, f"array_sort(collect_list({row}))", returns, function=given.function)


def _rewrite(node: exp.Expr, schema: Schema, timed: bool, noun: str, where: str = "") -> exp.Expr:
    """Return a node in terms that streams have; ``where`` is the condition of a FILTER around it."""
    if isinstance(node, exp.Filter | exp.IgnoreNulls):
        value = (node.find(exp.AggFunc) or node).this
        told = node.expression.this.sql("spark") if isinstance(node, exp.Filter) else _present(value)
        inner = _rewrite(node.this, schema, timed, noun, _both(where, told))
        return node if inner is node.this else inner
    if isinstance(node, exp.ArgMax | exp.ArgMin) and node.args.get("count"):
        name = "max_by" if isinstance(node, exp.ArgMax) else "min_by"
        parts = [part.sql("spark") for part in (node.this, node.expression, node.args["count"])]
        return _verbatim(f"{name}({', '.join(parts)}){_filter(where)}")
    if isinstance(node, exp.AggFunc) and (distinct := node.find(exp.Distinct)) and distinct.parent is node:
        return _distinct(node, distinct, noun, where)
    if isinstance(node, exp.Anonymous) and node.name.lower() in _OWN:
        return _own(node, timed, noun, where)
    if isinstance(node, _BY_TIME):
        return _by_time(node, schema, timed, noun, where)
    return node


def _distinct(node: exp.Expr, distinct: exp.Distinct, noun: str, where: str) -> exp.Expr:
    columns = [column.sql("spark") for column in distinct.expressions]
    gathered = columns[0] if len(columns) == 1 else f"struct({', '.join(columns)})"
    present = _both(where, *map(_present, distinct.expressions))
    if isinstance(node, exp.Count):
        return _verbatim(f"cast(size(collect_set({gathered}){_filter(present)}) as bigint)")
    raise ExpressionError(
        f"{noun}{node.sql('spark')!r}: streams count distinct values but do not {node.key} them; "
        "use collect_set(…) and compute from it, or hr.aggregate(…)"
    )


def _own(node: exp.Anonymous, timed: bool, noun: str, where: str) -> exp.Expr:
    arguments = [argument.sql("spark") for argument in node.expressions]
    if node.name.lower() == "top_n":
        if len(arguments) != 3:  # noqa: PLR2004 - as the message says
            raise ExpressionError(f"{noun}{node.sql('spark')!r}: write top_n(value, by, n)")
        value, by, n = arguments
        return _verbatim(f"max_by({value}, struct({by}, {value}), {n}){_filter(where)}")
    if len(arguments) != 2:  # noqa: PLR2004 - as the message says
        raise ExpressionError(f"{noun}{node.sql('spark')!r}: write moving_avg(value, n)")
    _need_time(node, timed, noun)
    value, n = arguments
    present = _filter(_both(where, _present(node.expressions[0])))
    last = f"max_by(double({value}), struct({TIME}, {value}), {n}){present}"
    return _verbatim(f"aggregate({last}, double(0), (a, v) -> a + v, a -> a / size({last}))")


def _verbatim(sql: str) -> exp.Expr:
    """Return SQL that stays as it is written."""
    return exp.Var(this=sql)


def _both(*conditions: str) -> str:
    return " and ".join(f"({condition})" for condition in conditions if condition)


def _present(value: exp.Expr) -> str:
    return f"{value.sql('spark')} is not null"


def _filter(where: str) -> str:
    return f" filter (where {where})" if where else ""


def _own_type(node: exp.Anonymous, schema: Schema) -> str:
    if node.name.lower() == "moving_avg":
        return "DOUBLE"
    inner = type_of(node.expressions[0], schema)
    return f"ARRAY<{inner}>" if inner != UNKNOWN else UNKNOWN


def _by_time(node: exp.Expr, schema: Schema, timed: bool, noun: str, where: str) -> exp.Expr:
    value = node.this.sql("spark")
    orderable = not type_of(node.this, schema).startswith("MAP")
    if isinstance(node, exp.ArrayAgg):
        if not timed or not orderable:
            return node
        present = _filter(_both(where, _present(node.this)))  # as Spark's own has it
        return _verbatim(f"transform(array_sort(collect_list(struct({TIME} as t, {value} as v)){present}), r -> r.v)")
    _need_time(node, timed, noun)
    order = f"struct({TIME}, {value})" if orderable else TIME
    chosen = "min_by" if isinstance(node, exp.First | exp.FirstValue) else "max_by"
    return _verbatim(f"{chosen}({value}, {order}){_filter(where)}")


def _need_time(node: exp.Expr, timed: bool, noun: str) -> None:
    if not timed:
        raise ExpressionError(
            f"{noun}{node.sql('spark')!r} follows the time of events; declare the stream with event_time='column', "
            "or use min_by(value, order) and max_by(value, order)"
        )
