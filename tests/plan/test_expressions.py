import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import ExpressionError
from headrace.core.schema import UNKNOWN, Schema
from headrace.plan.expressions import expression

SCHEMA = Schema.of("store int, amount double, tags array<string>, place struct<city: string>, at timestamp, `a b` int")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("amount > 0", "BOOLEAN"),
        ("AMOUNT > 0", "BOOLEAN"),
        ("`a b` + 1", "INT"),
        ("amount * 2", "DOUBLE"),
        ("place.city", "STRING"),
        ("exists(tags, t -> t = 'new')", UNKNOWN),
        ("upper(place.city)", "STRING"),
        ("cast(store as string)", "STRING"),
        ("my_function(store)", UNKNOWN),
        ("at", "TIMESTAMP"),
        ("store in (1, 2)", "BOOLEAN"),
        ("amount is not null -- paid", "BOOLEAN"),
        ("'select; drop table x'", "STRING"),
    ],
)
def test_the_type_is_known_without_spark(text, kind):
    found = expression(text, SCHEMA, "filter")
    assert (found.sql, found.type) == (text, kind) or (kind == UNKNOWN and found.type == "BOOLEAN")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("amout > 0", "names 'amout', which is no column; did you mean 'amount'\\? The columns are store, amount"),
        ("nothing_like_it", "no column. The columns are"),
        ("exists(tags, t -> u = 'new')", "names 'u'"),
        ("orders.amount > 0", "names 'orders'"),
        ("__time > at", "names '__time'"),
        ("amount +", "cannot be read at"),
        ("amount > 0, store", "cannot be read at ','"),
        ("amount > 0; drop table x", "is not a Spark SQL expression"),
        ("select 1", "is not a Spark SQL expression"),
        ("amount > 0 /* open", "look at its brackets, quotes and operators"),
        ("store in (select 1)", "holds a query"),
        ("exists(select 1)", "holds a query"),
        ("sum(amount) > 1", r"aggregates with SUM\(amount\).*group_by"),
        ("count(*) > 1", "aggregates with"),
        ("row_number() over (order by at)", "uses OVER.*group_by"),
        ("*", "placeholder"),
        ("amount > :limit", "placeholder; write columns and values"),
        ("amount > ?", "placeholder"),
        ("", "must be a Spark SQL expression like 'amount > 0' or a Column, not ''"),
        (5, "not 5"),
        (None, "not None"),
        ("\x00", "no column"),
        ("(" * 3000 + "amount" + ")" * 3000, "nested too deeply; compute parts with with_columns"),
        ("x" * 100_000, r"^filter .{1,250}… \(100002 characters\) names"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_work_is_told(text, told):
    with pytest.raises(ExpressionError, match=told):
        expression(text, SCHEMA, "filter")


@given(st.text(max_size=40))
def test_any_text_is_an_expression_or_is_refused_as_one(text):
    try:
        assert expression(text, SCHEMA, "filter").sql == text
    except ExpressionError as error:
        assert str(error).startswith("filter ")


def test_a_long_chain_of_conditions_is_no_trouble():
    assert expression(" or ".join(["amount > 1"] * 500), SCHEMA, "filter").type == "BOOLEAN"
