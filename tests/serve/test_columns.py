"""What a row was is what comes back, whatever its types."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from headrace.core.errors import ViewError

AT = datetime(2024, 5, 1, 10, 0, 5, 250_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "sent", "found"),
    [
        ("tinyint", -128, -128),
        ("smallint", 32767, 32767),
        ("int", -7, -7),
        ("bigint", 2**63 - 1, 2**63 - 1),
        ("double", 0.1, 0.1),
        ("double", 3, 3.0),
        ("double", "Infinity", math.inf),
        ("double", "NaN", None),
        ("float", 1.5, 1.5),
        ("boolean", True, True),
        ("boolean", False, False),
        ("string", "ä\0b", "ä\0b"),
        ("string", 7, "7"),
        ("varchar(3)", "abc", "abc"),
        ("timestamp", "2024-05-01T10:00:05.250Z", AT),
        ("timestamp", "2024-05-01T12:00:05.250000+02:00", AT),
        ("timestamp", "2024-05-01 10:00:05.25", AT),
        ("timestamp_ntz", "2024-05-01T10:00:05", datetime(2024, 5, 1, 10, 0, 5)),
        ("date", "2024-05-01", date(2024, 5, 1)),
        ("decimal(10, 2)", 12.3, Decimal("12.30")),
        ("decimal(15, 2)", 9999999999999.99, Decimal("9999999999999.99")),
        (
            "decimal(38, 18)",
            "12345678901234567890.123456789012345678",
            Decimal("12345678901234567890.123456789012345678"),
        ),
        ("binary", "AAH/", b"\0\1\xff"),
        ("array<int>", [1, 2, None], [1, 2, None]),
        ("map<string, int>", {"a": 1}, {"a": 1}),
        ("struct<a: int, b: array<string>>", {"a": 1, "b": ["x"]}, {"a": 1, "b": ["x"]}),
        ("int", None, None),
        ("timestamp", None, None),
    ],
)
def test_types_come_back(stored, kind, sent, found):
    store = stored([("a", {"id": "a", "v": sent})], f"id string, v {kind}")
    assert store.position().skipped == 0
    for row in (store.get("a"), *store.query("select id, v from t", [], 10, 5), *store.range("a", "a", 10)):
        assert row == {"id": "a", "v": found}
        assert type(row["v"]) is type(found)


def test_a_wide_decimal_written_as_a_number_keeps_its_digits(stored):
    store = stored([("a", b'{"id": "a", "v": 12345678901234567.89}')], "id string, v decimal(20, 2)")
    assert store.get("a")["v"] == Decimal("12345678901234567.89")


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("int", "7"),
        ("int", 7.5),
        ("int", True),
        ("int", 2**31),
        ("tinyint", 128),
        ("bigint", 2**63),
        ("double", "seven"),
        ("double", True),
        ("double", [1]),
        ("boolean", 1),
        ("boolean", "true"),
        ("timestamp", "yesterday"),
        ("timestamp", 7),
        ("timestamp", "0001-01-01T00:00:00+14:00"),
        ("date", "2024-13-01"),
        ("date", 5),
        ("decimal(4, 2)", 123.45),
        ("decimal(4, 2)", "x"),
        ("decimal(4, 2)", "NaN"),
        ("decimal(4, 2)", "Infinity"),
        ("binary", "not base64!"),
        ("binary", 5),
        ("array<int>", {"a": 1}),
        ("struct<a: int>", [1]),
        ("map<string, int>", "x"),
    ],
)
def test_a_value_of_another_type_leaves_its_row_out(stored, kind, wrong, caplog):
    store = stored([("a", {"id": "a", "v": wrong}), ("b", {"id": "b", "v": None})], f"id string, v {kind}")
    assert store.get("a") is None
    assert store.get("b") == {"id": "b", "v": None}
    assert store.position().skipped == 1
    assert "skips 1 event(s) that are no rows; the first is at offset 0 of partition 0" in caplog.text


def test_expressions_of_times_are_times_and_text_stays_text(stored):
    kept = "2024-05-01 10:00:05.250000+00:00"  # as the store writes timestamps
    store = stored([("a", {"id": "a", "at": kept, "note": kept})], "id string, at timestamp, note string")
    [row] = store.query("select max(at) as last, coalesce(at, id) as some, note, upper(id) as big from t", [], 10, 5)
    assert row == {"last": AT, "some": AT, "note": kept, "big": "A"}


def test_times_compare_as_times(stored):
    rows = [(key, {"id": key, "at": f"2024-05-01T{key}:00:00Z"}) for key in ("09", "10", "11")]
    store = stored(rows, "id string, at timestamp")
    after = datetime.fromisoformat("2024-05-01T11:30:00+02:00")
    assert [row["id"] for row in store.query("select id from t where at > ? order by at", [after], 10, 5)] == [
        "10",
        "11",
    ]
    assert [row["id"] for row in store.query("select id from t where at < '2024-05-01 10:00'", [], 10, 5)] == ["09"]
    assert store.query("select strftime('%H', at) as hour from t where id = '11'", [], 10, 5) == [{"hour": "11"}]


@pytest.mark.parametrize("kind", ["decimal(10, 2)", "decimal(30, 2)"])
def test_decimals_compare_and_sort_as_numbers(stored, kind):
    rows = [(str(n), {"id": str(n), "v": v}) for n, v in enumerate(("9.5", "10", "-3", "100.25"))]
    store = stored(rows, f"id string, v {kind}")
    found = store.query("select v from t where v > 9 order by v", [], 10, 5)
    assert [row["v"] for row in found] == [Decimal("9.50"), Decimal("10.00"), Decimal("100.25")]
    assert store.query("select count(*) as n from t where v <= ?", [Decimal("9.5")], 10, 5) == [{"n": 2}]


def test_columns_may_be_called_anything(stored):
    names = ["select", "two words", 'quo"te', "ключ", "headrace rows", "key", "a.b"]
    schema = ", ".join(f"`{name}` int" for name in names)
    row = {name: number for number, name in enumerate(names)}
    store = stored([("a", row)], schema, key=())
    assert store.get("a") == row
    assert store.query("select * from t", [], 10, 5) == [row]


def test_fields_beside_the_columns_are_left_out_and_missing_ones_are_null(stored):
    store = stored([("a", {"id": "a", "more": 1})], "id string, n int")
    assert store.get("a") == {"id": "a", "n": None}


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("int", [-5, 2, 10, 100]),
        ("double", [-1.5, 0.0, 2.25, 10.0]),
        ("date", ["2023-12-31", "2024-01-02", "2024-01-10", "2024-02-01"]),
        ("decimal(30, 2)", ["-1.00", "2.50", "10.00", "100.00"]),
        ("string", ["10", "2", "a", "ä"]),
    ],
)
def test_ranges_go_by_what_the_key_is_worth(stored, kind, keys):
    rows = [(str(key), {"id": key}) for key in reversed(keys)]
    store = stored(rows, f"id {kind}")
    everything = [row["id"] for row in store.range(None, None, 10)]
    assert [str(key) for key in everything] == [str(key) for key in keys]
    assert [row["id"] for row in store.range(everything[1], everything[2], 10)] == everything[1:3]
    assert [row["id"] for row in store.range(everything[2], None, 10)] == everything[2:]
    assert [row["id"] for row in store.range(None, everything[1], 10)] == everything[:2]
    assert [row["id"] for row in store.range(None, None, 3)] == everything[:3]
    assert store.range(everything[3], everything[0], 10) == []


def test_a_key_of_several_columns(stored):
    rows = [
        ({"shop": shop, "day": f"2024-05-0{day}"}, {"shop": shop, "day": f"2024-05-0{day}", "n": 10 * shop + day})
        for shop in (1, 2)
        for day in (1, 2)
    ]
    store = stored(rows, "shop int, day date, n int", key=("shop", "day"))
    assert store.get((2, date(2024, 5, 1)))["n"] == 21
    assert store.get({"day": date(2024, 5, 2), "shop": 1})["n"] == 12
    assert store.get({"day": "2024-05-02", "shop": 1})["n"] == 12
    assert store.get('{"shop":1,"day":"2024-05-02"}')["n"] == 12
    assert store.get((3, date(2024, 5, 1))) is None
    for wrong in (
        (1,),
        (1, 2, 3),
        {"shop": 1},
        {"shop": 1, "day": "2024-05-01", "n": 1},
        1,
        {"shop": "x", "day": None},
    ):
        with pytest.raises(ViewError, match="key column"):
            store.get(wrong)
    with pytest.raises(ViewError, match=r"range\(\) needs a key of one column, and this one has shop, day"):
        store.range(None, None, 10)


@pytest.mark.parametrize("wrong", ["x", 1.5, [1, 2], object(), 2**40])
def test_a_key_of_another_type_is_told(stored, wrong):
    store = stored([("1", {"id": 1})], "id int")
    assert store.get("1") == store.get(1) == store.get({"id": 1}) == store.get((1,)) == {"id": 1}
    if wrong == "x":  # text is the event's key, and there is none such
        assert store.get(wrong) is None
        return
    with pytest.raises(ViewError, match="key column"):
        store.get(wrong)
