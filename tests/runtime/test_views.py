"""Tables of a running program, asked by key and with SQL."""

import pytest

import headrace as hr
from headrace.core.errors import PlanError, ViewError
from tests.runtime.conftest import send, until


def test_tables_are_asked_while_they_change(app, source, name):
    words = app.stream(source, schema="word string, n int", key="word")
    counts = words.group_by("word").agg(n="sum(n)")
    counts.to(f"{name}-counts")
    send(source, [{"word": "a", "n": 1}], key="word")
    with app.start() as run:
        run.drain()
        assert counts.get("a") == {"word": "a", "n": 1}
        assert counts.get("b") is None
        send(source, [{"word": word, "n": 2} for word in "abc"], key="word")
        run.drain()
        until(lambda: len(counts.range()) == 3 and counts.get("a")["n"] == 3)
        assert counts.range("b", "c") == [{"word": "b", "n": 2}, {"word": "c", "n": 2}]
        table = f'"{name}-counts"'
        assert counts.query(f"select sum(n) as n from {table} where word < ?", "c") == [{"n": 5}]
        with pytest.raises(ViewError):
            counts.query(f"delete from {table}")
    app.stop()


def test_what_lies_in_no_topic_cannot_be_asked():
    app = hr.App("unasked")
    table = app.table("people", schema="id string, city string", key="id")
    with pytest.raises(PlanError, match=r"write the table with \.to\(topic\) first"):
        table.filter("city = 'X'").get("a")
