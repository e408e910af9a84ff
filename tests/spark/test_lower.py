"""Every step of a plan has a rule."""

import importlib
import pkgutil

import pytest

import headrace.plan
import headrace.spark.lower
from headrace.plan.node import Node
from headrace.spark.lowering import lower

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
