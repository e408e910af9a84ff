"""Rules of alerts: conditions as boolean columns in Spark's own code, the rest on the paged host."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.core.quantities import milliseconds
from headrace.operators.alert_rows import GROUP, ROW
from headrace.operators.alert_rules import Change, Rule
from headrace.operators.alerting import Alerting
from headrace.operators.operator import HASH, KEY
from headrace.plan.alert import AlertRule, Alerts
from headrace.plan.node import Node
from headrace.spark.columns import GONE, ORDER, TIME, VERSION, any_null, column, compute
from headrace.spark.encoding import JSON
from headrace.spark.host import Hosted
from headrace.spark.lowering import Context, live, lower
from headrace.spark.paged import paged, schema_of

_KEY = "map<string, string>"


@lower.register(Alerts)
def _(node: Alerts, ctx: Context) -> DataFrame:
    frame = live(node.parent, ctx, drops_late=node.parent.timed)
    keys = list(dict.fromkeys(rule.per for rule in node.rules))
    columns = [column(name) for name in node.parent.schema]
    flags = [flag for number, rule in enumerate(node.rules) for flag in _flags(rule, number)]
    rows = frame.select(
        F.explode(F.array(*(_key(frame, number, per) for number, per in enumerate(keys)))).alias("__one"),
        F.unix_micros(_time(frame)).alias(TIME),
        (F.col(ORDER) if ORDER in frame.columns else F.lit(0).cast("bigint")).alias(ORDER),
        _gone(frame).alias(GONE),
        F.to_json(F.struct(*columns), JSON).alias(ROW),
        *flags,
    ).filter(F.col(f"__one.{KEY}").isNotNull())
    given = rows.select(f"__one.{KEY}", F.xxhash64(f"__one.{KEY}").alias(HASH), f"__one.{GROUP}", *rows.columns[1:])
    schema = schema_of(given)
    rules = [_rule(rule, number, keys.index(rule.per), node.parent) for number, rule in enumerate(node.rules)]
    operator = Alerting(node.program, rules)
    told = paged(given, Hosted(operator, schema, node.step, "event"), ctx)
    parsed = {"key": F.from_json("key", _KEY), "row": F.from_json("row", frame.select(*columns).schema)}
    return told.select(*(parsed.get(name, F.col(name)).alias(name) for name in told.columns))


def _key(frame: DataFrame, number: int, per: tuple[str, ...]) -> Column:
    """Return the columns of a key and their values as JSON; null where a deleted row does not tell them."""
    texts = [column(name).cast("string").alias(name) for name in per]
    key = F.to_json(F.struct(*texts), JSON) if per else F.lit("{}")
    told = F.when(~(_gone(frame) & any_null(map(column, per))), key) if per else key
    return F.struct(told.alias(KEY), F.lit(number).alias(GROUP))


def _time(frame: DataFrame) -> Column:
    """Return when a row happened, or was written; or, where a step has left that behind, when it is looked at."""
    return next((F.col(name) for name in (TIME, VERSION) if name in frame.columns), F.current_timestamp())


def _gone(frame: DataFrame) -> Column:
    return F.coalesce(F.col(GONE), F.lit(False)) if GONE in frame.columns else F.lit(False)


def _flags(rule: AlertRule, number: int) -> list[Column]:
    """Return what the rule wants to know of a row; what is null does not hold."""
    found = [
        F.coalesce(compute(condition), F.lit(False)).alias(f"{name}-{number}")
        for name, condition in (("when", rule.when), ("until", rule.until))
        if condition is not None
    ]
    if rule.change is not None:
        found.append(compute(rule.change.value).cast("double").alias(f"value-{number}"))
    return found


def _rule(rule: AlertRule, number: int, group: int, rows: Node) -> Rule:
    """Return the rule for the operator; the rows of a table's key lie in one partition, in their order."""
    change = rule.change
    return Rule(
        rule.name,
        rule.severity,
        rule.template,
        rule.per,
        group,
        rows.updates and set(rows.key) <= set(rule.per),
        f"when-{number}" if rule.when is not None else None,
        f"until-{number}" if rule.until is not None else None,
        milliseconds(rule.lasting),
        None if rule.absent is None else milliseconds(rule.absent),
        None
        if change is None
        else Change(f"value-{number}", milliseconds(change.over), change.above, change.below, change.relative),
        rule.made,
    )
