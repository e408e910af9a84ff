import datetime
from dataclasses import dataclass, make_dataclass
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import SchemaError
from headrace.core.schema import Schema, quote

PLAIN = ["STRING", "INT", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP", "DATE", "BINARY", "DECIMAL(10, 2)", "FLOAT"]
NAMES = st.text(min_size=1, max_size=12).filter(lambda name: not name.startswith("__"))


def nested(inner):
    arrays = inner.map(lambda kind: f"ARRAY<{kind}>")
    maps = st.tuples(st.sampled_from(["STRING", "INT"]), inner).map(lambda pair: f"MAP<{pair[0]}, {pair[1]}>")
    fields = st.tuples(inner, inner).map(lambda pair: f"STRUCT<a: {pair[0]}, b: {pair[1]}>")
    return arrays | maps | fields


TYPES = st.recursive(st.sampled_from(PLAIN), nested, max_leaves=5)
COLUMNS = st.lists(st.tuples(NAMES, TYPES), min_size=1, max_size=6, unique_by=lambda column: column[0].lower())


@given(COLUMNS)
def test_what_a_schema_writes_it_reads(columns):
    schema = Schema(columns)
    assert Schema.of(schema.ddl) == schema
    assert Schema.of(dict(columns)) == schema


@pytest.mark.parametrize("name", ["select", "not", "case", "from", "a b", "ä", "1a", "it`s", "end"])
def test_names_that_sql_keeps_for_itself_survive(name):
    assert list(Schema.of(Schema([(name, "INT")]).ddl)) == [name]


def test_ordinary_names_stay_as_they_are():
    names = ["store", "at", "date", "order", "value", "key", "index", "timestamp"]
    assert [quote(name) for name in names] == names


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("long", "BIGINT"),
        ("short", "SMALLINT"),
        ("integer", "INT"),
        ("numeric(3,1)", "DECIMAL(3, 1)"),
        ("array<string>", "ARRAY<STRING>"),
        ("map<string,array<int>>", "MAP<STRING, ARRAY<INT>>"),
        ("struct<a: int, `b c`: string>", "STRUCT<a: INT, `b c`: STRING>"),
        ("int not null", "INT"),
        ("int comment 'of the shop'", "INT"),
    ],
)
def test_types_as_people_write_them(given, kind):
    assert Schema.of(f"c {given}")["c"] == kind


def test_names_are_found_whatever_their_case():
    schema = Schema.of("Store int, at timestamp")
    assert (schema.find("STORE"), schema.find("shop")) == ("Store", None)
    assert list(schema) == ["Store", "at"]


def test_a_dataclass_is_a_schema():
    @dataclass
    class Item:
        sku: str
        price: Decimal

    @dataclass
    class Order:
        store: int
        at: datetime.datetime
        day: datetime.date | None
        tags: list[str]
        items: list[Item]
        extra: dict[str, float]
        paid: bool
        raw: bytes

    Order.__annotations__["items"] = list[Item]
    assert dict(Schema.of(Order)) == {
        "store": "BIGINT",
        "at": "TIMESTAMP",
        "day": "DATE",
        "tags": "ARRAY<STRING>",
        "items": "ARRAY<STRUCT<sku: STRING, price: DECIMAL(38, 18)>>",
        "extra": "MAP<STRING, DOUBLE>",
        "paid": "BOOLEAN",
        "raw": "BINARY",
    }


def test_a_struct_type_is_a_schema():
    class StructType:  # PySpark's own says the same
        def simpleString(self):
            return "struct<store:int,at:timestamp>"

    assert Schema.of(StructType()) == Schema.of("store int, at timestamp")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", "'' is not a schema; write 'store int, at timestamp'"),
        ("store", "'store' is not a schema"),
        ("store itn", "'store itn' is not a schema.*Types are string, int"),
        ("store int at timestamp", "is not a schema"),
        ("store int; drop table x", "is not a schema"),
        ("store int '", "is not a schema"),
        ("store array<", "is not a schema"),
        ("x" * 100_000, r"^.{1,250}… \(100002 characters\) is not a schema"),
        ("c " + "array<" * 2000 + "int" + ">" * 2000, "is not a schema"),
        ("store uuid", "'store' has the unknown type 'UUID'. Types are string"),
        ("store datetime", "'store' has the unknown type 'DATETIME'"),
        ("tags array", "'tags' has the unknown type 'ARRAY'.*array<…>"),
        ("m map<int>", "'m' has the unknown type 'MAP<INT>'.*map<…, …>"),
        ("m array<int, int>", "unknown type 'ARRAY<INT, INT>'"),
        ("a int, A int", "'A' is there twice.*rename one"),
        ("__a int", "'__a' begins with '__', which is reserved; rename it"),
        ({}, "no columns; name at least one"),
        ({"": "int"}, "has no name"),
        ({"a": 5}, "'a' has the unknown type 5"),
        ({"a": "int, b int"}, "'a' has the unknown type 'int, b int'"),
        (None, "None is not a schema; write DDL like"),
        ([("a", "int")], "is not a schema"),
        (make_dataclass("Empty", []), "no columns"),
        (make_dataclass("Odd", [("x", complex)]), r"Odd\.x is .*complex.*which has no column type; use str, int"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_no_schema_is_told(given, told):
    with pytest.raises(SchemaError, match=told):
        Schema.of(given)
