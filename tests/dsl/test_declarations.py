"""Wrong declarations, and what they are told; right ones, and what they mean. Each wrong one is a single line."""

# ruff: noqa: PLW0108 - a lambda has the line of its declaration

import functools
import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.core.errors import ConfigError, ExpressionError, PlanError, SchemaError, TopicNameError

app = hr.App("shop")
ORDERS = "order_id string, store int, amount double, tags array<string>, at timestamp"
orders = app.stream("orders", schema=ORDERS, key="order_id", event_time="at")
clicks = app.stream("clicks", schema="order_id string, page string, at timestamp", event_time="at")
plain = app.stream("plain", schema="a int, b string")
text = app.stream("lines", format="text")
stores = orders.group_by("store")
minutes = stores.window(hr.tumbling("1 minute"))
changing = minutes.agg(n="count(*)")
final = stores.window(hr.tumbling("1 minute"), emit="final").agg(n="count(*)")
alien = hr.App("alien").stream("plain", schema="a int, b string")


stream = functools.partial(app.stream, "s")

# fmt: off
WRONG = [
    # programs and streams
    (lambda: hr.App("my shop"), TopicNameError, "letters, digits"),
    (lambda: hr.App("x" * 101), PlanError, "the most is 100"),
    (lambda: hr.App("x", version="1/2"), TopicNameError, "letters, digits"),
    (lambda: hr.App("x", max_batch=0), ConfigError, "whole number above 0"),
    (lambda: hr.App("x", idle="a while"), ConfigError, "write it like"),
    (lambda: app.stream("../orders", schema="a int"), TopicNameError, "letters, digits"),
    (lambda: app.stream(None, schema="a int"), TopicNameError, "letters, digits"),
    (lambda: app.stream("x" * 250, schema="a int"), TopicNameError, "use 1 to 249"),
    (lambda: stream(), PlanError, "needs schema='name type, …'"),
    (lambda: stream(schema="store itn"), SchemaError, "write 'store int, at timestamp'"),
    (lambda: stream(schema="a int, A int"), SchemaError, "rename one"),
    (lambda: stream(schema="__time timestamp"), SchemaError, "rename it"),
    (lambda: stream(schema={}), SchemaError, "name at least one"),
    (lambda: stream(schema="a int" * 100_000), SchemaError, "write 'store int, at timestamp'"),
    (lambda: stream(schema="a int", format="xml"), PlanError, "must be json, text or raw"),
    (lambda: stream(schema="a int", format="text"), PlanError, "leave schema away"),
    (lambda: stream(schema="a int", key="b"), PlanError, "The columns are a"),
    (lambda: stream(schema="store int", key="stor"), PlanError, "did you mean 'store'?"),
    (lambda: stream(schema="a int", key=5), PlanError, "The columns are a"),
    (lambda: stream(schema="a int", start="middle"), PlanError, "'earliest' or 'latest'"),
    (lambda: stream(schema="a int", time="soon"), PlanError, "'append' or 'processing'"),
    (lambda: stream(schema="a int", time="event"), PlanError, "name a column with event_time="),
    (lambda: stream(schema="a bigint", event_time="a"), PlanError, "timestamp_millis"),
    (lambda: stream(schema="a string", event_time="a"), PlanError, "declare the column as timestamp"),
    (lambda: stream(schema="at timestamp", event_time="att"), ExpressionError, "did you mean 'at'?"),
    (lambda: stream(schema="at timestamp", event_time="max(at)"), ExpressionError, "sees one row at a time"),
    (lambda: stream(schema="at timestamp", event_time="at", time="append"), PlanError, "exclude each other"),
    (lambda: stream(schema="a int", lateness="10 fortnights"), ConfigError, "use ms, seconds"),
    (lambda: stream(schema="a int", lateness=timedelta(-1)), PlanError, "must not be below 0"),
    (lambda: stream(schema="a int", lateness="1 s"), PlanError, "declare event_time= or time="),
    (lambda: stream(schema="a int", idle="0 s"), PlanError, "leave it away for never"),
    # one row at a time
    (lambda: orders.filter("amout > 0"), ExpressionError, "did you mean 'amount'?"),
    (lambda: orders.filter("amount"), PlanError, "not true or false"),
    (lambda: orders.filter("amount >"), ExpressionError, "cannot be read at"),
    (lambda: orders.filter("sum(amount) > 1"), ExpressionError, "aggregate with group_by(…).agg(…)"),
    (lambda: orders.filter("rank() over (order by at) = 1"), ExpressionError, "use group_by(…).window(…).agg(…)"),
    (lambda: orders.filter("store in (select 1)"), ExpressionError, "only expressions over the columns"),
    (lambda: orders.filter("true; drop table x"), ExpressionError, "is not a Spark SQL expression"),
    (lambda: orders.filter("x" * 1_000_000), ExpressionError, "The columns are"),
    (lambda: orders.filter("(" * 5000 + "true" + ")" * 5000), ExpressionError, "compute parts with with_columns"),
    (lambda: orders.filter("\ud800\x00' --"), ExpressionError, "is not a Spark SQL expression"),
    (lambda: orders.filter(None), ExpressionError, "like 'amount > 0'"),
    (lambda: orders.select(), PlanError, "name those to keep"),
    (lambda: orders.select("stor"), PlanError, "did you mean 'store'?"),
    (lambda: orders.select("store", "STORE"), PlanError, "names a column twice"),
    (lambda: orders.select("store", Store="amount"), SchemaError, "rename one"),
    (lambda: orders.select(x="*"), ExpressionError, "write columns and values themselves"),
    (lambda: orders.select(x="explode(tags)"), ExpressionError, "use explode(column)"),
    (lambda: orders.select(x="upper(inline_outer(tags))"), ExpressionError, "use explode(column)"),
    (lambda: orders.select(__x="amount"), PlanError, "reserved; rename it"),
    (lambda: orders.with_columns(), PlanError, "with_columns(total="),
    (lambda: orders.with_columns(a="1", A="2"), SchemaError, "rename one"),
    (lambda: orders.with_columns(x="amout"), ExpressionError, "did you mean 'amount'?"),
    (lambda: plain.drop("a", "b"), PlanError, "would leave no columns"),
    (lambda: orders.drop("amout"), PlanError, "did you mean 'amount'?"),
    (lambda: orders.explode("store"), PlanError, "not an array"),
    (lambda: orders.explode("tags", "store"), SchemaError, "rename one"),
    (lambda: orders.map("upper", schema="a int"), PlanError, "needs a function"),
    (lambda: orders.map(len, schema="a"), SchemaError, "write 'store int, at timestamp'"),
    (lambda: orders.map_batches(len, schema="a int", key="b"), PlanError, "The columns are a"),
    (lambda: orders.branch(), PlanError, "at least one condition"),
    (lambda: orders.branch("amount"), PlanError, "not true or false"),
    (lambda: orders.merge(plain), PlanError, "Bring them in line with select"),
    (lambda: plain.merge(stream(schema="a string, b string")), PlanError, "cast(a as …)"),
    (lambda: plain.merge(stream(schema="a int, b string", time="append")), PlanError, "on all sides or on none"),
    (lambda: plain.merge("plain"), PlanError, "needs other streams"),
    (lambda: plain.merge(alien), PlanError, "through a topic"),
    (lambda: orders.key_by("stor"), PlanError, "did you mean 'store'?"),
    (lambda: orders.repartition("store", partitions=0), PlanError, "whole number above 0"),
    (lambda: orders.through("a b"), TopicNameError, "letters, digits"),
    (lambda: orders.through("a", partitions=True), PlanError, "whole number above 0"),
    # memory
    (lambda: orders.dedupe(within="1 h"), PlanError, "dedupe('order_id', …)"),
    (lambda: orders.dedupe("order_id", within="0 s"), PlanError, "must be above 0"),
    (lambda: orders.dedupe("order_id", within="a while"), ConfigError, "write it like"),
    (lambda: plain.dedupe("a", within="1 h"), PlanError, "declare event_time= or time="),
    (lambda: orders.group_by("stor"), PlanError, "did you mean 'store'?"),
    (lambda: orders.group_by("store", "store"), PlanError, "names a column twice"),
    (lambda: stores.agg(), PlanError, "agg(sales='count(*)'"),
    (lambda: stores.agg(x="amount"), ExpressionError, "write for example 'sum(amount)'"),
    (lambda: stores.agg(x="sum(amout)"), ExpressionError, "did you mean 'amount'?"),
    (lambda: stores.agg(store="sum(amount)"), SchemaError, "rename one"),
    (lambda: stores.agg(__x="sum(amount)"), SchemaError, "rename it"),
    (lambda: stores.agg(x="sum(distinct amount)"), ExpressionError, "use collect_set(…)"),
    (lambda: stores.agg(n="count(*)", name="a/b"), TopicNameError, "letters, digits"),
    (lambda: plain.group_by("b").agg(x="last(a)"), ExpressionError, "declare the stream with event_time="),
    (lambda: plain.group_by("b").window(hr.tumbling("1 s")), PlanError, "declare the stream with event_time="),
    (lambda: stores.window("1 minute"), PlanError, "takes hr.tumbling(…)"),
    (lambda: stores.window(hr.tumbling("1 minute"), emit="sometimes"), PlanError, "'updates' or 'final'"),
    (lambda: stores.window(hr.tumbling("1 minute"), grace="x"), ConfigError, "write it like"),
    (lambda: minutes.agg(window_start="min(at)"), SchemaError, "rename one"),
    (lambda: hr.tumbling("1 minuet"), ConfigError, "use ms, seconds, minutes"),
    (lambda: hr.tumbling("0 s"), PlanError, "must be above 0"),
    (lambda: hr.hopping("1 minute", every="2 minutes"), PlanError, "at most the size"),
    (lambda: hr.session(gap=timedelta(-1)), PlanError, "must be above 0"),
    (lambda: final.group_by("n").agg(m="count(*)"), PlanError, "use emit='final'"),
    (lambda: changing.select("n"), PlanError, "a table keeps its key: name the columns store"),
    (lambda: orders.join(clicks, on="order_id"), PlanError, "within='10 minutes'"),
    (lambda: orders.join(clicks, on="order_id", within="1 s", after="1 s"), PlanError, "either within= or"),
    (lambda: orders.join(clicks, on="order_id", within="1 s", how="cross"), PlanError, "inner, left, right, full"),
    (lambda: orders.join(clicks, on="page", within="1 s"), PlanError, "write on='a = b'"),
    (lambda: orders.join(clicks, on=None, within="1 s"), PlanError, "a column of both sides, or an equality"),
    (lambda: orders.join(clicks, on="store > 1", within="1 s"), PlanError, "put other conditions into filter(…)"),
    (lambda: orders.join(plain, on="store = a", within="1 s"), PlanError, "declare event_time= or time="),
    (lambda: orders.join(changing, on="store", within="1 s"), PlanError, "with a table say as_of="),
    (lambda: plain.join(alien, on="a", within="1 s"), PlanError, "through a topic"),
    # outputs
    (lambda: orders.to("a b"), TopicNameError, "letters, digits"),
    (lambda: orders.to("out", name="../../etc"), TopicNameError, "letters, digits"),
    (lambda: orders.to("orders"), PlanError, "would feed itself"),
    (lambda: orders.through("orders").to("out"), PlanError, "would feed itself"),
    (lambda: [stream(schema="a int").to("r"), app.stream("r", schema="a int").to("s")], PlanError, "r → s → r"),
    (lambda: orders.to("out", format="avro"), PlanError, "must be one of json, text, raw"),
    (lambda: orders.to("out", format="text"), PlanError, "the one column 'value'"),
    (lambda: orders.to("out", partitions="4"), PlanError, "whole number above 0"),
    (lambda: orders.to("out", latency="fast"), PlanError, "'batch' or 'realtime'"),
    (lambda: changing.to("out", latency="realtime"), PlanError, "leave latency away"),
    (lambda: plain.map(len, schema="a int").to("out", latency="realtime"), PlanError, "Spark SQL only"),
    (lambda: orders.to("out", latency="realtime", every="1 s"), PlanError, "leave every= away"),
    (lambda: orders.to("out", every="2 days"), ConfigError, "every must be a time"),
    (lambda: orders.sink("parquet", "out", every="soon"), ConfigError, "'10 seconds'"),
    (lambda: orders.sink("csv", "out"), PlanError, "parquet and json"),
    (lambda: orders.sink("parquet", 5), PlanError, "the path of a folder"),
    (lambda: orders.sink("parquet", "out", partition_by="nowhere"), PlanError, "nowhere"),
    (lambda: plain.sink("parquet", "out", partition_by=("a", "b")), PlanError, "no column for the files"),
    (lambda: changing.sink("parquet", "out"), PlanError, "Use emit='final'"),
    (lambda: [rows.to("twice") for rows in (orders, plain)], PlanError, "give one of them another name="),
    (lambda: [stores.agg(**{n: "count(*)"}, name="k").to(n) for n in "ab"], PlanError, "another name="),
]
# fmt: on


@pytest.mark.parametrize(("declare", "kind", "remedy"), WRONG, ids=[case[2] for case in WRONG])
def test_a_wrong_declaration_is_told_with_its_remedy_and_line(declare, kind, remedy):
    with pytest.raises(hr.HeadraceError) as raised:
        declare()
    assert type(raised.value) is kind, raised.value
    assert remedy in str(raised.value)
    assert len(str(raised.value)) < 1500
    assert raised.value.__notes__ == [f"declared at test_declarations.py, line {declare.__code__.co_firstlineno}"]


@pytest.mark.parametrize(
    ("rows", "columns", "key", "timed", "updates"),
    [
        (orders, ["order_id", "store", "amount", "tags", "at"], ("order_id",), True, False),
        (plain, ["a", "b"], (), False, False),
        (text, ["value"], (), False, False),
        (orders.filter("amount > 0"), orders.columns, ("order_id",), True, False),
        (orders.select("STORE", total="amount * 2"), ["store", "total"], (), True, False),
        (orders.select("order_id", "store"), ["order_id", "store"], ("order_id",), True, False),
        (orders.with_columns(order_id="'x'"), orders.columns, (), True, False),
        (orders.with_columns(Amount="amount * 2", vat="0.2"), [*orders.columns, "vat"], ("order_id",), True, False),
        (orders.drop("tags", "at"), ["order_id", "store", "amount"], ("order_id",), True, False),
        (orders.explode("tags", "tag"), ["order_id", "store", "amount", "tag", "at"], ("order_id",), True, False),
        (orders.map(dict, schema="a int", key="a"), ["a"], ("a",), True, False),
        (orders.map_batches(list, schema="a int"), ["a"], (), False, False),
        (orders.key_by("store"), orders.columns, ("store",), True, False),
        (orders.repartition("store"), orders.columns, ("store",), True, False),
        (orders.through("between"), orders.columns, ("order_id",), True, False),
        (orders.merge(orders.filter("store = 1")), orders.columns, ("order_id",), True, False),
        (orders.dedupe("order_id", within="1 h"), orders.columns, ("order_id",), True, False),
        (stores.agg(n="count(*)"), ["store", "n"], ("store",), False, True),
        (orders.group_by().agg(n="count(*)"), ["n"], (), False, True),
        (
            changing,
            ["window_start", "window_end", "store", "n"],
            ("store", "window_start", "window_end"),
            False,
            True,
        ),
        (final, ["window_start", "window_end", "store", "n"], ("store", "window_start", "window_end"), True, False),
        (
            final.group_by("window_start", "window_end").agg(m="sum(n)"),
            ["window_start", "window_end", "m"],
            ("window_start", "window_end"),
            True,
            False,
        ),
        (changing.filter("n > 1"), changing.columns, ("store", "window_start", "window_end"), False, True),
        (
            orders.join(clicks, on="order_id", within="1 h"),
            [*orders.columns, "page", "clicks_at"],
            ("order_id",),
            True,
            False,
        ),
    ],
    ids=lambda value: value.node.label[:40] if hasattr(value, "node") else "",
)
def test_what_rows_are_after_each_verb(rows, columns, key, timed, updates):
    assert rows.columns == columns
    assert (rows.node.key, rows.node.timed, rows.node.updates) == (key, timed, updates)


def test_the_line_of_a_declaration_over_several_lines_is_within_it():
    first = test_the_line_of_a_declaration_over_several_lines_is_within_it.__code__.co_firstlineno
    with pytest.raises(PlanError) as raised:
        (
            orders.filter("amount > 0")
            .group_by("stor")
            .agg(n="count(*)")
        )  # fmt: skip
    (note,) = raised.value.__notes__
    assert first < int(note.rpartition(" ")[2]) < first + 8


CONDITIONS = st.lists(st.sampled_from(["a > 1", "a > 1 or b = 'x'", "a is null", "b like '%y'", "not (a < 5)", "null"]))


@given(CONDITIONS.filter(bool), st.sampled_from([None, 0, 1, 2, 5, 9]), st.sampled_from([None, "x", "xy"]))
def test_a_row_goes_to_just_one_branch(conditions, a, b):
    branches = plain.branch(*conditions)
    assert len(branches) == len(conditions) + 1
    with closing(sqlite3.connect(":memory:")) as database:  # the same three-valued logic, without Spark
        row = "(select ? as a, ? as b)"
        values = [database.execute(f"select {sql} from {row}", (a, b)).fetchone()[0] for sql in conditions]
        kept = [
            number
            for number, rows in enumerate(branches)
            if database.execute(f"select 1 from {row} where {rows.node.condition.sql}", (a, b)).fetchone()
        ]
    assert kept == [next((number for number, value in enumerate(values) if value), len(conditions))]
