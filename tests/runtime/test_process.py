"""Operators of one's own in a running program: what fails leaves everything as it was."""

import pytest

import headrace as hr
from headrace.core.errors import QueryFailedError
from headrace.runtime import query
from tests.runtime.conftest import read, send


class Sum(hr.Processor):
    """Adds up, and fails at thirteen while it is broken."""

    def __init__(self, broken):
        self.broken = broken

    def on_rows(self, key, rows):
        key.state = (key.state or 0) + sum(row["n"] for row in rows)
        if self.broken and any(row["n"] == 13 for row in rows):
            raise ValueError("thirteen")
        return [{"k": key.value, "total": key.state}]


def declared(name, source, broken):
    app = hr.App(name)
    events = app.stream(source, schema="k string, n int", key="k", time="append")
    events.group_by("k").process(Sum(broken), "k string, total bigint", name="sum").to(f"{name}-out", partitions=1)
    return app


def test_a_batch_that_failed_is_neither_written_nor_remembered(source, name, monkeypatch):
    monkeypatch.setattr(query, "_TRIES", 2)
    send(source, [{"k": "a", "n": 1}, {"k": "b", "n": 2}], key="k")
    declared(name, source, broken=True).run(drain=True)
    send(source, [{"k": "a", "n": 13}], key="k")
    with pytest.raises(
        QueryFailedError, match=rf"'sum' failed at the key 'a', with {source}-\d-\d: ValueError: thirteen"
    ):
        declared(name, source, broken=True).run(drain=True)
    assert {event.key: event.value["total"] for event in read(f"{name}-out")} == {"a": 1, "b": 2}
    send(source, [{"k": "a", "n": 100}], key="k")
    declared(name, source, broken=False).run(drain=True)
    assert [event.value["total"] for event in read(f"{name}-out") if event.key == "a"] == [1, 14, 114]
