"""Rows and offsets change together, whatever happens in between."""

import sqlite3
from contextlib import closing
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.schema import Schema
from headrace.serve.declared import Declared
from headrace.serve.reading import Reading
from headrace.serve.store import Store
from tests.serve.conftest import batch

LAYOUT = Declared(Schema.of("id string, n int"), ["id"])
CHANGES = st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | st.integers(-9, 9)), max_size=60)


def rows(path):
    with closing(Reading(path, "t")) as store:
        return {row["id"]: row["n"] for row in store.range(None, None, 1000)}


@settings(max_examples=60, deadline=None)
@given(CHANGES, st.lists(st.integers(0, 60), max_size=6), st.sampled_from([LAYOUT, None]))
def test_the_last_row_of_each_key_stays_however_changes_come_in_batches(tmp_path_factory, changes, cuts, layout):
    path = tmp_path_factory.mktemp("store") / "t.db"
    pairs = [(key, None if n is None else {"id": key, "n": n}) for key, n in changes]
    bounds = sorted({0, len(pairs), *(cut for cut in cuts if cut < len(pairs))})
    for begin, end in pairwise(bounds):
        with closing(Store.open(path, "t", layout)) as store:  # each batch in a life of its own
            if not begin:
                store.clear("life")
            assert store.position.offsets.get(0, 0) == begin
            store.apply(batch(pairs[begin:end], begin))
    expected = {key: n for key, n in dict(changes).items() if n is not None}
    assert (rows(path) if pairs else {}) == expected


def test_a_batch_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    path = tmp_path / "t.db"
    with closing(Store.open(path, "t", None)) as store:
        store.clear("life")
        store.apply(batch([("a", {"id": "a", "n": 1})]))
        with monkeypatch.context() as patch:
            patch.setattr(Store, "_note", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                store.apply(batch([("b", {"id": "b", "n": 2, "new": 3}), ("a", None)], 1))
        assert store.position.offsets == {0: 1}
        assert rows(path) == {"a": 1}
        store.apply(batch([("b", {"id": "b", "n": 2, "new": 3}), ("a", None)], 1))
    assert rows(path) == {"b": 2}
    with closing(Reading(path, "t")) as reading:
        assert reading.query("select new from t", [], 10, 5) == [{"new": 3}]


def test_what_does_not_fit_is_counted_once(tmp_path):
    path = tmp_path / "t.db"
    for _ in range(2):
        with closing(Store.open(path, "t", LAYOUT)) as store:
            store.apply(batch([("a", b"oops"), ("b", {"id": "b", "n": 1}), (None, {"id": "c", "n": 1})]))
    with closing(Reading(path, "t")) as reading:
        assert reading.position().skipped == 4
    with closing(Store.open(path, "t", LAYOUT)) as store:
        store.clear("another life")
        assert store.position.skipped == 0


@pytest.mark.parametrize("other", ["id string, n bigint", "id string", "id string, n int, m int"])
def test_a_store_of_other_columns_is_begun_anew(tmp_path, other):
    path = tmp_path / "t.db"
    with closing(Store.open(path, "t", LAYOUT)) as store:
        store.clear("life")
        store.apply(batch([("a", {"id": "a", "n": 1})]))
    with closing(Reading(path, "t")) as reading:
        assert reading.count() == 1
        with closing(Store.open(path, "t", Declared(Schema.of(other), ["id"]))) as store:
            assert store.position.offsets == {}
        assert reading.count() == 0, "a reader goes on with the new file"
        assert reading.layout.names == list(Schema.of(other))


def test_without_a_schema_the_columns_that_are_stored_stay(tmp_path):
    path = tmp_path / "t.db"
    for layout in (LAYOUT, None):
        with closing(Store.open(path, "t", layout)) as store:
            store.apply(batch([("a", {"id": "a", "n": 1, "more": 2})]))
    with closing(Reading(path, "t")) as reading:
        assert reading.get("a") == {"id": "a", "n": 1}


def test_a_store_of_another_format_is_begun_anew(tmp_path):
    path = tmp_path / "t.db"
    with closing(Store.open(path, "t", LAYOUT)) as store:
        store.apply(batch([("a", {"id": "a", "n": 1})]))
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("""update "headrace facts" set value = '0' where name = 'format'""")
    with closing(Store.open(path, "t", LAYOUT)) as store:
        assert store.position.offsets == {}


def test_a_table_that_is_cleared_shows_the_columns_of_its_next_rows(tmp_path):
    path = tmp_path / "t.db"
    with closing(Store.open(path, "t", None)) as store:
        for life in ("one", "another"):
            store.clear(life)
            store.apply(batch([("a", {"id": life, "n": 1})]))
            with closing(Reading(path, "t")) as reading:
                assert reading.query("select * from t", [], 10, 5) == [{"id": life, "n": 1}]


def test_columns_whose_type_is_not_known_take_what_comes(tmp_path):
    path = tmp_path / "t.db"
    layout = Declared(Schema([("id", "STRING"), ("v", "UNKNOWN")]), ["id"])
    values = [1, 0.5, "x", True, None, [1], {"a": 1}]
    with closing(Store.open(path, "t", layout)) as store:
        store.clear("life")
        store.apply(batch([(str(n), {"id": str(n), "v": v}) for n, v in enumerate(values)]))
        store.apply(batch([("huge", b'{"v": 18446744073709551615}')], 7))
        assert store.position.skipped == 1
    with closing(Store.open(path, "t", layout)) as store, closing(Reading(path, "t")) as reading:
        assert store.position.offsets == {0: 8}
        assert [row["v"] for row in reading.range(None, None, 10)] == [1, 0.5, "x", 1, None, "[1]", '{"a":1}']
