"""Operators of one's own keep what the page about them says; without Spark, which the page itself runs."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import headrace as hr
from headrace.core.errors import OperatorError, PlanError
from headrace.operators.operator import HASH, KEY, TIME
from headrace.operators.process import FROM, Keyed
from headrace.operators.versions import ORDER
from tests.operators.shelf import Hosted

PLACE = [(KEY, pa.string()), (HASH, pa.int64()), (TIME, pa.int64()), (ORDER, pa.int64()), (FROM, pa.string())]
ROWS = pa.schema([*PLACE, ("id", pa.string()), ("n", pa.int64())])
OUT = pa.schema([("id", pa.string()), ("n", pa.int64())])
Rows = list[dict[str, Any]]


@dataclass
class Point:
    x: int


def row(id: str, n: int, second: int) -> dict[str, Any]:
    return {KEY: id, TIME: second * 1_000_000, ORDER: n, FROM: f"topic-0-{n}", "id": id, "n": n}


def hosted(logic: hr.Processor, keys: tuple[str, ...] = ("id",)) -> Hosted:
    return Hosted(Keyed(ROWS, keys, OUT, logic=logic, step="step", patience=5.0), ROWS)


class Keeps(hr.Processor):
    """Keeps a thing, and gives back what has become of the one that it kept before."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing
        self.found: list[Any] = []

    def on_rows(self, key: Any, rows: Rows) -> None:
        self.found.append(key.state)
        key.state = self.thing


@pytest.mark.parametrize(
    ("thing", "back"),
    [
        (2**63 - 1, 2**63 - 1),
        (0.5, 0.5),
        ("text", "text"),
        (b"bytes", b"bytes"),
        (True, True),
        (datetime(2024, 5, 1, tzinfo=UTC), datetime(2024, 5, 1, tzinfo=UTC)),
        ({"a": [1, None, {"b": "c"}]}, {"a": [1, None, {"b": "c"}]}),
        ((1, 2), [1, 2]),
        ({3}, [3]),
        (Point(4), {"x": 4}),
        (Decimal("1.50"), "1.50"),
    ],
)
def test_what_may_be_in_the_state(thing: Any, back: Any) -> None:
    logic = Keeps(thing)
    host = hosted(logic)
    host.send([row("a", 1, 1)])
    host.send([row("a", 2, 2)])
    assert logic.found == [None, back]


def test_an_object_of_ones_own_class_and_a_number_too_large_are_errors() -> None:
    for thing in (object(), 2**64):
        with pytest.raises(OperatorError, match="'step' failed at the key 'a', with topic-0-1"):
            hosted(Keeps(thing)).send([row("a", 1, 1)])


class Sums(hr.Processor):
    """Adds up, and forgets a key a minute after its last row."""

    def on_rows(self, key: Any, rows: Rows) -> Rows:
        key.state = (key.state or 0) + sum(one["n"] for one in rows)
        key.wake(datetime.fromtimestamp(60, UTC) + timedelta(seconds=rows[-1]["n"]))
        return [{"id": f"{[one['n'] for one in rows]}", "n": key.state}]

    def on_timer(self, key: Any) -> Rows:
        key.state = None
        return [{"n": int(key.now.timestamp())}]


def test_rows_come_by_key_in_the_order_of_their_time_and_late_ones_too() -> None:
    host = hosted(Sums())
    out = host.send([row("a", 3, 30), row("b", 9, 5), row("a", 1, 10), row("a", 2, 20)])
    assert sorted(map(str, out)) == ["{'id': '[1, 2, 3]', 'n': 6}", "{'id': '[9]', 'n': 9}"]
    assert host.send([row("a", 4, 1)], now=50_000) == [{"id": "[4]", "n": 10}]


def test_a_key_has_one_timer_and_is_forgotten_with_its_state() -> None:
    host = hosted(Sums())
    host.send([row("a", 1, 1)])  # due at 61 s
    host.send([row("a", 5, 2)])  # due at 65 s instead
    assert host.send([], now=64_999) == []
    assert host.send([], now=65_000) == [{"id": None, "n": 65}]  # a column that is left away is null
    assert host.shelf.blobs == {}
    assert host.send([row("a", 7, 70)], now=66_000) == [{"id": "[7]", "n": 7}]


class Tuples(hr.Processor):
    """Tells the value of the key."""

    def on_rows(self, key: Any, rows: Rows) -> Rows:
        return [{"id": repr(key.value)}]


def test_the_value_of_a_key_of_several_columns_is_a_tuple() -> None:
    assert hosted(Tuples(), ("id", "n")).send([row("a", 1, 1)]) == [{"id": "('a', 1)", "n": None}]


def test_a_column_that_the_schema_lacks_is_an_error() -> None:
    class Extra(hr.Processor):
        def on_rows(self, key: Any, rows: Rows) -> Rows:
            return [{"other": 1}]

    with pytest.raises(OperatorError, match="it returned the columns other; its schema has id, n"):
        hosted(Extra()).send([row("a", 1, 1)])


def declared(logic: hr.Processor, clock: Any = "processing") -> tuple[str, ...]:
    app = hr.App("declared")
    values = app.stream("values", schema="id string, at timestamp", event_time="at")
    values.group_by("id").process(logic, "id string, n bigint", clock=clock, name="step").to("out")
    return app.stages[0].fingerprint


def test_another_class_or_clock_under_the_same_name_is_another_step() -> None:
    assert declared(Sums()) == declared(Sums())
    assert declared(Sums()) != declared(Tuples())
    assert declared(Sums()) != declared(Sums(), "event")


def test_results_have_the_key_but_no_time() -> None:
    app = hr.App("key")
    values = app.stream("values", schema="id string, at timestamp", event_time="at")
    done = values.group_by("id").process(Sums(), "id string, n bigint")
    assert done.node.key == ("id",)
    with pytest.raises(PlanError, match="needs to know when events happened"):
        done.group_by("id").window(hr.tumbling("1 minute"))
    untimed = app.stream("others", schema="id string")
    with pytest.raises(PlanError, match="by event time needs to know when events happened"):
        untimed.group_by("id").process(Sums(), "id string, n bigint")
