"""Tables of a running program, asked by key and with SQL."""

import time

import pytest

import headrace as hr
from headrace.core.errors import PlanError, ViewError
from headrace.log import Producer


def test_tables_are_asked_while_they_change(app, name):
    words = app.stream(f"{name}-words", schema="word string, n int", key="word")
    counts = words.group_by("word").agg(n="sum(n)")
    counts.to(f"{name}-counts")
    with Producer() as producer:
        producer.send(f"{name}-words", {"word": "a", "n": 1}, key="a")
    with app.start() as run:
        run.drain()
        assert counts.get("a") == {"word": "a", "n": 1}
        assert counts.get("b") is None
        with Producer() as producer:
            for word in "abc":
                producer.send(f"{name}-words", {"word": word, "n": 2}, key=word)
        run.drain()
        deadline = time.monotonic() + 10
        while len(counts.range()) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
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
