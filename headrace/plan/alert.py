"""Rules of alerts as a plan node."""

import math
import re
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Literal, get_args

from headrace.core.errors import PlanError
from headrace.core.quantities import milliseconds
from headrace.core.schema import UNKNOWN, Schema, shown
from headrace.operators.alert_messages import fields_of, renamed
from headrace.operators.alert_rules import SLOTS
from headrace.plan.aggregate import BOUNDS
from headrace.plan.expressions import Expression, unknown
from headrace.plan.node import Node, known_columns
from headrace.plan.table import row_type
from headrace.plan.windows import show_span

Severity = Literal["info", "warning", "critical"]
KEY = "alert"
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_SPEC = re.compile(r"[<>^]?[+ ]?\d{0,2},?(\.\d{1,2})?[bdeEfFgGnosxX%]?")
_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", UNKNOWN)
_SHORTEST, _LONGEST = timedelta(seconds=1), timedelta(seconds=5)  # between two looks at the clock while nothing comes
_OFTEN = 5  # looks in the shortest of the spans that rules wait for


@dataclass(frozen=True)
class ChangeOf:
    """By how much a value may change; the numbers are those of `operators.alert_rules.Change`."""

    value: Expression
    over: timedelta
    above: float | None
    below: float | None
    relative: bool

    def __post_init__(self) -> None:
        if self.value.type.split("(")[0] not in _NUMBERS:
            raise PlanError(f"change_of {self.value.sql!r} is of type {self.value.type}, not a number")
        if self.above is None and self.below is None:
            raise PlanError("change_of= needs above= or below=: the change that is too much")
        for name in ("above", "below"):
            limit = getattr(self, name)
            number = isinstance(limit, int | float) and not isinstance(limit, bool)
            if limit is not None and (not number or math.isnan(limit)):
                raise PlanError(f"{name} must be a number, not {limit!r}")
        if not isinstance(self.relative, bool):
            raise PlanError(f"relative must be True or False, not {self.relative!r}")

    def __str__(self) -> str:
        limits = [f"above {self.above:g}"] if self.above is not None else []
        limits += [f"below {self.below:g}"] if self.below is not None else []
        part = " of what it was" if self.relative else ""
        return f"change of {self.value.sql} over {show_span(self.over)} {' or '.join(limits)}{part}"


@dataclass(frozen=True)
class AlertRule:
    """When an alert fires; one of ``when``, ``absent`` and ``change`` says it.

    Attributes:
        name: Of the rule, once in a program.
        per: The columns of which each combination of values has an alert of its own.
        when: The condition.
        until: What resolves it; that the condition holds no more unless told.
        lasting: How long the condition must hold.
        absent: After how long without a row it fires.
        change: A change of a value as the condition.
        severity: How bad it is.
        message: A template over the columns.
        where: File and line of the program that declared it.
    """

    name: str
    per: tuple[str, ...] = ()
    when: Expression | None = None
    until: Expression | None = None
    lasting: timedelta = timedelta(0)
    absent: timedelta | None = None
    change: ChangeOf | None = None
    severity: Severity = "warning"
    message: str = ""
    where: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise PlanError(f"{shown(self.name)} is no name of an alert; use up to 100 letters, digits, '.', '_', '-'")
        if self.severity not in get_args(Severity):
            raise PlanError(f"severity must be {', '.join(get_args(Severity))}, not {shown(self.severity)}")
        given = [name for name in ("when", "absent", "change") if getattr(self, name) is not None]
        if len(given) != 1:
            raise PlanError(
                f"the alert {self.name!r} needs one of when='units < 10', absent='2 minutes' and "
                f"change_of='revenue'; it has {' and '.join(given) or 'none'}"
            )
        if self.absent is not None and (self.until is not None or self.lasting):
            raise PlanError("absent= says how long, and resolves with the next row; leave until= and lasting= away")
        for name in ("when", "until"):
            condition = getattr(self, name)
            if condition is not None and condition.type not in ("BOOLEAN", UNKNOWN):
                raise PlanError(f"{name} {condition.sql!r} is of type {condition.type}, not true or false")
        for name, least in (("lasting", 0), ("absent", 1)):
            span = getattr(self, name)
            if span is not None and milliseconds(span) < least:
                raise PlanError(f"{name} must {'be above' if least else 'not be below'} 0, not {show_span(span)}")
        if self.change is not None and milliseconds(self.change.over) < SLOTS:
            raise PlanError(f"over must be at least {SLOTS} ms, not {show_span(self.change.over)}")

    @property
    def condition(self) -> str:
        """Return when it fires, in words."""
        if self.absent is not None:
            return f"no row for {show_span(self.absent)}"
        condition = str(self.change) if self.change is not None else self.when.sql if self.when is not None else ""
        return condition + (f" for {show_span(self.lasting)}" if self.lasting else "")

    @property
    def label(self) -> str:
        """Return the rule in the words of the program."""
        per = f" per {', '.join(self.per)}" if self.per else ""
        until = f", until {self.until.sql}" if self.until is not None else ""
        return f"{self.name}{per}: {self.condition}{until}"

    @property
    def template(self) -> str:
        """Return the message, or what stands for it."""
        return self.message or f"{self.name}: {self.condition}".replace("{", "{{").replace("}", "}}")

    @property
    def made(self) -> str:
        """Return what must stay the same while times and samples that were kept for the rule count."""
        held = "" if self.when is None else f"{self.when.sql} for {self.lasting}"
        return f"{self.per} {held}{self.change or ''}{self.absent or ''}"

    @property
    def waits(self) -> timedelta | None:
        """Return how long it waits until it fires although no row comes; None for never."""
        return self.absent or self.lasting or None


@dataclass(frozen=True)
class Alerts(Node):
    """What fires and what resolves by rules over the same rows: a row for each.

    Attributes:
        parent: Whose rows.
        rules: The rules.
        program: Whose rules they are.
        step: The name under which is kept what fires.
    """

    parent: Node
    rules: tuple[AlertRule, ...]
    program: str
    step: str = ""

    @cached_property
    def schema(self) -> Schema:
        texts = [("id", "STRING"), (KEY, "STRING"), ("rule", "STRING"), ("program", "STRING")]
        texts += [("key", "MAP<STRING, STRING>"), ("state", "STRING"), ("severity", "STRING"), ("message", "STRING")]
        return Schema([*texts, ("row", row_type(self.parent.schema)), ("since", "TIMESTAMP"), ("at", "TIMESTAMP")])

    @property
    def key(self) -> tuple[str, ...]:
        return (KEY,)

    @property
    def timed(self) -> bool:
        return False

    @property
    def updates(self) -> bool:
        return False

    @property
    def stateful(self) -> bool:
        return True

    @property
    def remembers(self) -> str:
        return "what holds and fires per rule and key"

    @property
    def paged(self) -> bool:
        return True

    @property
    def label(self) -> str:
        return f"alerts {'; '.join(rule.label for rule in self.rules)}"

    @property
    def kept_as(self) -> str:
        return "alerts"  # rules may come and go

    @property
    def pause(self) -> timedelta | None:
        """Return after how long without events the clock is to be looked at, for rules that wait for a time."""
        spans = [rule.waits for rule in self.rules if rule.waits]
        return max(_SHORTEST, min(_LONGEST, min(spans) / _OFTEN)) if spans else None


def checked_message(template: object, schema: Schema) -> str:
    """Return a template with the columns as they were declared, or say what is wrong with it."""
    if not isinstance(template, str):
        raise PlanError(f"message must be text like '{{shop}}: only {{units}} left', not {shown(template)}")
    try:
        fields = fields_of(template)
    except ValueError as error:
        raise PlanError(f"message {shown(template)} cannot be read: {error}") from None
    for name, spec in fields:
        if schema.find(name) is None:
            raise PlanError(f"message names {unknown(name, schema)}")
        if not _SPEC.fullmatch(spec):
            raise PlanError(f"message has the unknown format {shown(spec)} for {name!r}; use '.2f', ',' or '.1%'")
    return renamed(template, {name: str(schema.find(name)) for name, _ in fields})


def checked_per(per: object, rows: Node, table: bool) -> tuple[str, ...]:
    """Return the columns of which each combination of values has an alert of its own.

    Unless told these are the key of a table, but not its windows: a window that is over does not change any more, and
    what fired there would never resolve.
    """
    if per is None:
        return tuple(name for name in rows.key if name not in BOUNDS) if table else ()
    names = (per,) if isinstance(per, str) else tuple(per) if isinstance(per, tuple | list) else (per,)
    return known_columns(rows.schema, names, "per")
