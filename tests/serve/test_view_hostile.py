"""Whatever lies in the topic, the view goes on."""

import pytest

from headrace.serve import View

GOOD = ("good", {"id": "good", "n": 1})
NO_ROWS = [
    b"not JSON",
    b"",
    b"{",
    b'{"id": "x", "n": 1}}',
    b"\xff\xfe",
    b'{"id": "\xff"}',
    b"[1, 2]",
    b"null",
    b"7",
    b'"text"',
    b"[" * 100_000 + b"]" * 100_000,
    b'{"id":' * 5000 + b"1" + b"}" * 5000,
    b'{"id": "x", "n": NaN}',
    b'{"id": "\\ud800"}',
]


@pytest.mark.parametrize("schema", ["id string, n int", "id string, n decimal(30, 2)", None])
def test_what_is_no_row_is_skipped_and_counted(view, put, schema, caplog):
    put(*((f"k{number}", value) for number, value in enumerate(NO_ROWS)), GOOD)
    found = view(schema)
    found.wait()
    assert found.range() == [GOOD[1]]
    assert found.skipped == len(NO_ROWS)
    assert found.lag() == 0
    assert "event(s) that are no rows" in caplog.text


def test_a_row_stays_until_another_one_takes_its_place(view, put):
    put(("x", {"id": "x", "n": 5}), ("x", b"not JSON"), GOOD)
    found = view()
    found.wait()
    assert found.get("x") == {"id": "x", "n": 5}
    put(("x", {"id": "x", "n": 6}))
    found.wait()
    assert found.get("x") == {"id": "x", "n": 6}


@pytest.mark.parametrize("schema", ["id string, n int", None])
def test_events_without_a_key_are_no_rows(put, topic, schema, tmp_path):
    put((None, {"id": "x", "n": 1}), (None, None), GOOD, topic=topic)  # a compacted topic would not take them
    with View(topic, schema, folder=tmp_path) as found:
        found.wait()
        assert (len(found), found.skipped, found.get("good")) == (1, 2, GOOD[1])


def test_values_of_other_types_are_skipped(view, put):
    wrong = [b'"text"', b"1.5", b"[1]", b'{"a": 1}', b"true", str(2**31).encode(), str(10**400).encode()]
    put(*((f"k{n}", b'{"id": "x", "n": ' + value + b"}") for n, value in enumerate(wrong)), GOOD)
    found = view()
    found.wait()
    assert found.range() == [GOOD[1]]
    assert found.skipped == len(wrong)


def test_large_rows_are_kept(view, put):
    large = "ä" * 450_000
    put(("x", {"id": "x", "text": large, "list": [large[:1000]] * 10}), GOOD, ("x" * 100_000, {"id": "long"}))
    found = view("id string, text string, list array<string>")
    found.wait()
    assert found.get("x")["text"] == large
    assert found.query(f"select length(text) as n from {found.table} where id = 'x'") == [{"n": 450_000}]
    assert found.get("x" * 100_000)["id"] == "long"
    assert found.skipped == 0


def test_names_and_values_that_look_like_sql_are_only_text(view, put):
    names = ['"; drop table x; --', "') from x; --", "a\0b", "[x]", "x`y", "%s", "$", "$.x", "é" * 300]
    put(*((name, {name: name, "id": "x"}) for name in names))
    found = view(None)
    found.wait()
    for name in names:
        assert found.get(name) == {name: name, "id": "x"}
    assert found.query(f"select distinct id from {found.table}") == [{"id": "x"}]
    assert len(found) == len(names)


def test_the_same_key_in_other_bytes_is_another_key(view, put):
    put((b"\xff", {"id": "bytes", "n": 1}), ("ÿ", {"id": "text", "n": 2}), (b"\xff", {"id": "bytes", "n": 3}))
    found = view(None)
    found.wait()
    assert len(found) == 2
    assert found.get(b"\xff")["n"] == 3
    assert found.get("ÿ")["n"] == 2
