"""Alerts: rules over the rows of a program."""

from collections.abc import Sequence

from headrace.core.errors import PlanError
from headrace.core.quantities import parse_span
from headrace.dsl.rows import Rows
from headrace.dsl.table import Table
from headrace.log.names import check_topic_name
from headrace.plan.alert import AlertRule, ChangeOf, Severity, checked_message, checked_per
from headrace.plan.expressions import Expression, Given, expression
from headrace.plan.node import Node
from headrace.plan.where import caller, declared
from headrace.plan.windows import Span

_CHANGE = ("over", "above", "below", "relative")


class Alert:
    """A rule over the rows of a stream or a table: what fires, and what resolves, goes to a topic.

    A condition holds from the row that says so until one that says otherwise; a deleted row resolves its alert. Rules
    over the same rows share one stage.

    Args:
        name: Of the rule, once in a program.
        rows: The stream or table.
        when: The condition in Spark SQL, or as a Column.
        until: What resolves it, once the condition holds no more; at once unless told.
        lasting: How long the condition must hold before the alert fires.
        absent: Instead of ``when``: fires after so long without a row, resolves with the next.
        change_of: Instead of ``when``: a value that is compared with what it was ``over`` ago.
        over: How far back; to within a sixty-fourth of it.
        above: The change, up, that is too much.
        below: The change, down, that is too much.
        relative: Whether the change is counted as a part of what the value was: ``-0.5`` is a fall by half.
        per: The column, or columns, of which each combination of values has an alert of its own; the key of a table
            without its windows unless told, and one alert for all rows of a stream.
        severity: ``info``, ``warning`` or ``critical``.
        message: A template over the columns: ``"{shop}: only {units} left"``, ``"{share:.1%}"``.
        to: The topic.

    Example:
        >>> hr.Alert("low-stock", stock, when="units < 10", until="units >= 30", lasting="30 seconds")
        ... # doctest: +SKIP
        >>> hr.Alert("shop-silent", invoices, per="shop", absent="2 minutes")  # doctest: +SKIP
    """

    @declared
    def __init__(
        self,
        name: str,
        rows: Rows,
        *,
        when: Given | None = None,
        until: Given | None = None,
        lasting: Span = "0 seconds",
        absent: Span | None = None,
        change_of: Given | None = None,
        over: Span | None = None,
        above: float | None = None,
        below: float | None = None,
        relative: bool = False,
        per: str | Sequence[str] | None = None,
        severity: Severity = "warning",
        message: str | None = None,
        to: str = "alerts",
    ) -> None:
        if not isinstance(rows, Rows):
            raise PlanError(f"hr.Alert(name, rows, …) needs a stream or a table of a program, not {rows!r}")
        node, where = rows.node, caller()
        given = dict(zip(_CHANGE, (over, above, below, relative or None), strict=True))
        if change_of is None and (stray := [name for name, value in given.items() if value is not None]):
            raise PlanError(f"{stray[0]}= tells of which change; say change_of='column' too")
        if change_of is not None and over is None:
            raise PlanError("change_of= is compared with what was some time ago; say over='5 minutes'")
        change = None
        if change_of is not None and over is not None:
            value = expression(change_of, node.schema, "change_of")
            change = ChangeOf(value, parse_span(over), above, below, relative)
        rule = AlertRule(
            name,
            checked_per(per, node, isinstance(rows, Table)),
            _condition(when, node, "when"),
            _condition(until, node, "until"),
            parse_span(lasting),
            None if absent is None else parse_span(absent),
            change,
            severity,
            "" if message is None else checked_message(message, node.schema),
            where,
        )
        self.rule, self.topic = rule, check_topic_name(to)
        rows._program.alert(node, rule, self.topic)

    @property
    def name(self) -> str:
        """Return the name of the rule."""
        return self.rule.name

    def __repr__(self) -> str:
        return f"Alert({self.rule.label})"


def _condition(given: Given | None, node: Node, noun: str) -> Expression | None:
    return None if given is None else expression(given, node.schema, noun)
