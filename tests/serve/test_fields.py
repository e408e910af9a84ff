"""Rows without a schema: the columns are what the rows have."""

import pytest

from headrace.core.errors import ViewError


def test_a_row_comes_back_as_it_was_sent(stored):
    row = {"id": "a", "n": 1, "x": 0.5, "yes": True, "no": None, "list": [1, {"b": 2}], "inner": {"c": "d"}, "ä": "ö"}
    assert stored([("a", row)]).get("a") == row


def test_columns_are_the_fields_that_rows_had_so_far(stored):
    store = stored([("a", {"id": "a", "n": 1}), ("b", {"id": "b", "text": "x", "inner": {"c": 2}})])
    assert store.query("select * from t order by id", [], 10, 5) == [
        {"id": "a", "n": 1, "text": None, "inner": None},
        {"id": "b", "n": None, "text": "x", "inner": '{"c":2}'},
    ]
    assert store.query("select json_extract(inner, '$.c') as c from t where id = 'b'", [], 10, 5) == [{"c": 2}]


def test_escaped_names_are_the_names_they_mean(stored):
    store = stored([("a", b'{"n\\u0061me": 1, "\\u00e4": 2}')])
    assert store.query('select name, "ä" from t', [], 10, 5) == [{"name": 1, "ä": 2}]


def test_strange_names_are_no_columns_but_stay_in_the_row(stored):
    row = {"id": "a", 'quo"te': 1, "back\\slash": 2, "new\nline": 3, "": 4, "it's": 5, "ID": 6}
    store = stored([("a", row)])
    assert store.get("a") == row
    assert store.query("select * from t", [], 10, 5) == [{"id": "a", "": 4, "it's": 5}]


def test_many_fields_are_not_too_many(stored):
    store = stored([(str(n), {f"f{n}": n, "also": n}) for n in range(3000)])
    assert store.count() == 3000
    assert store.get("2999") == {"f2999": 2999, "also": 2999}
    [row] = store.query("select * from t where also = 100", [], 1, 5)
    assert len(row) == 500
    assert row["f100"] == 100


@pytest.mark.parametrize(
    ("key", "sent"), [("a", "a"), (7, "7"), (True, "true"), ({"a": 1, "b": "x"}, '{"a":1,"b":"x"}')]
)
def test_rows_are_found_by_the_key_of_their_event(stored, key, sent):
    store = stored([(sent, {"n": 1})])
    assert store.get(key) == store.get(sent) == {"n": 1}
    assert store.get("b") is None


def test_ranges_go_by_the_text_of_the_key(stored):
    store = stored([(key, {"id": key}) for key in ("b", "10", "2")])
    assert [row["id"] for row in store.range(None, None, 10)] == ["10", "2", "b"]
    assert [row["id"] for row in store.range("2", "a", 10)] == ["2"]


def test_keys_that_are_no_text_are_kept_apart(stored):
    store = stored([(b"\xff", {"n": 1}), (b"\xfe", {"n": 2}), (b"\xfe", None)])
    assert store.count() == 1
    assert store.get(b"\xff") == {"n": 1}
    for wrong in (object(), "\ud800"):
        with pytest.raises(ViewError):
            store.get(wrong)


def test_an_empty_table_can_be_asked(stored):
    store = stored([])
    assert store.query("select count(*) as n from t", [], 10, 5) == [{"n": 0}]
    assert store.query("select * from t", [], 10, 5) == []
    assert store.get("a") is None
