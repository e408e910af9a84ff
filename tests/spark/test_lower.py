"""Every step of a plan has a rule, and none hands rows over where there is one task."""

import importlib
import pkgutil

import pytest

import headrace as hr
import headrace.plan
import headrace.spark.lower
from headrace.plan.node import Node
from headrace.spark.lowering import lower
from headrace.testing import TestDriver

for module in pkgutil.iter_modules(headrace.plan.__path__):
    importlib.import_module(f"headrace.plan.{module.name}")


def kinds(node: type[Node]) -> list[type[Node]]:
    """The kinds of steps; what several have in common is none itself."""
    return [kind for child in node.__subclasses__() for kind in kinds(child) or [child]]


def test_there_are_steps() -> None:
    assert {"Source", "Filter", "Aggregate", "Join"} <= {kind.__name__ for kind in kinds(Node)}


@pytest.mark.parametrize("kind", kinds(Node), ids=lambda kind: kind.__name__)
def test_every_step_has_a_rule(kind: type[Node]) -> None:
    assert lower.dispatch(kind) is not lower.dispatch(Node), f"spark/ has no rule for {kind.__name__}"


def test_where_there_is_one_task_it_reads_what_it_remembers() -> None:
    app = hr.App("alone")
    left, right = (
        app.stream(topic, schema="k string, n int, at timestamp", key="k", event_time="at")
        for topic in ("left", "right")
    )
    left.dedupe("n", within="1 minute").to("once")
    left.group_by("k").window(hr.tumbling("1 minute"), emit="updates").agg(c="count(*)").to("counts")
    left.group_by("k").window(hr.session("1 minute"), emit="updates").agg(c="count(*)").to("sessions")
    left.join(right.select(k="k", m="n"), on="k", within="1 minute").to("pairs")
    with TestDriver(app) as t:
        for topic in ("left", "right"):
            t.send(topic, {"k": "a", "n": 1, "at": "2024-05-01T10:00:00Z"})
        assert all(len(t.read(topic)) == 1 for topic in ("once", "counts", "sessions", "pairs"))
        plans = {running.stage.output.name: running.query._jsq.explainInternal(False) for running in t._running}
    assert {name for name, plan in plans.items() if "Coalesce 1" in plan} == {"once", "counts", "sessions", "pairs"}
    assert not {name for name, plan in plans.items() if "Exchange" in plan}
