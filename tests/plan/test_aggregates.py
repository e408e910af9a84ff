import pytest

from headrace.core.errors import ExpressionError, SchemaError
from headrace.core.schema import UNKNOWN, Schema
from headrace.plan.aggregates import TIME, agg, aggregate

SCHEMA = Schema.of("store int, amount double, name string, at timestamp, seen map<string, int>")


def made(given, timed=True):
    return agg("x", given, SCHEMA, timed)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("count(*)", "BIGINT"),
        ("sum(amount)", "DOUBLE"),
        ("sum(store)", "BIGINT"),
        ("avg(store)", "DOUBLE"),
        ("max(at)", "TIMESTAMP"),
        ("min(name)", "STRING"),
        ("sum(amount) / count(*)", "DOUBLE"),
        ("count(*) filter (where amount > 1)", "BIGINT"),
    ],
)
def test_sparks_own_stay_as_they_are_and_have_a_type(given, kind):
    found = made(given)
    assert (found.given, found.sql, found.type) == (given, given, kind)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("first(amount)", "DOUBLE"),
        ("last(name)", "STRING"),
        ("first(amount) ignore nulls", "DOUBLE"),
        ("moving_avg(amount, 3)", "DOUBLE"),
    ],
)
def test_what_depends_on_order_goes_by_time(given, kind):
    found = made(given)
    assert TIME in found.sql
    assert (found.given, found.type) == (given, kind)
    with pytest.raises(ExpressionError, match=r"follows the time of events; declare the stream with event_time="):
        made(given, timed=False)


def test_lists_are_in_the_order_of_time_where_there_is_one():
    assert TIME in made("collect_list(name)").sql
    assert TIME not in made("collect_list(name)", timed=False).sql


def test_distinct_values_are_counted_as_a_set():
    found = made("count(distinct name)")
    assert "collect_set" in found.sql and "distinct" not in found.sql.lower()
    assert found.type == "BIGINT"


def test_the_best_of_a_group():
    found = made("top_n(name, amount, 3)")
    assert found.sql.startswith("max_by(name, ") and found.sql.endswith(", 3)")
    assert found.type == "ARRAY<STRING>"


def test_a_function_gets_the_values_of_the_group_by_time():
    found = made(aggregate(max, "amount", "store * 2", returns="array<int>"))
    assert (found.given, found.type, found.function) == ("max(amount, store * 2)", "ARRAY<INT>", max)
    assert TIME in found.sql and "store * 2" in found.sql


def test_a_function_spark_knows_and_we_do_not_is_left_to_spark():
    assert made("my_aggregate(amount)").type == UNKNOWN


@pytest.mark.parametrize(
    ("given", "kind", "told"),
    [
        ("amount", ExpressionError, r"does not aggregate; write for example 'sum\(amount\)'"),
        ("amout", ExpressionError, "did you mean 'amount'"),
        ("sum(amout)", ExpressionError, "did you mean 'amount'"),
        ("sum(amount) over ()", ExpressionError, "uses OVER"),
        ("sum(amount", ExpressionError, "is not a Spark SQL expression"),
        ("sum(distinct amount)", ExpressionError, "streams count distinct values but do not sum them; use collect_set"),
        ("top_n(name, 3)", ExpressionError, r"write top_n\(value, by, n\)"),
        ("moving_avg(amount)", ExpressionError, r"write moving_avg\(value, n\)"),
        ("(select max(x) from y)", ExpressionError, "holds a query"),
        (5, ExpressionError, "must be a Spark SQL expression"),
        (aggregate(max, returns="int"), ExpressionError, "needs a function and at least one column"),
        (aggregate(5, "amount", returns="int"), ExpressionError, "needs a function"),
        (aggregate(max, "amout", returns="int"), ExpressionError, "did you mean 'amount'"),
        (aggregate(max, "amount", returns="itn"), SchemaError, "unknown type 'itn'. Types are string, int"),
    ],
    ids=str,
)
def test_what_is_no_aggregate_is_told(given, kind, told):
    with pytest.raises(kind, match=told):
        made(given)
