"""The topology of a program as data."""

from collections.abc import Sequence
from typing import Any

from headrace.plan.node import Node
from headrace.plan.stages import FileOutput, Stage


def describe(program: str, version: str, stages: Sequence[Stage]) -> dict[str, Any]:
    """Return stages with their steps, each with the numbers of those it follows."""
    return {
        "program": program,
        "version": version,
        "stages": [_stage(stage) for stage in stages],
    }


def _stage(stage: Stage) -> dict[str, Any]:
    numbers = {id(node): number for number, node in enumerate(stage.nodes)}
    output = stage.output
    return {
        "name": stage.name,
        "reads": [node.topic for node in stage.inputs],
        "writes": output.path if isinstance(output, FileOutput) else output.topic,
        "kind": "files" if isinstance(output, FileOutput) else "topic",
        "emits": "updates" if stage.node.updates else "rows",
        "guarantee": guarantee(stage),
        "declared": stage.where,
        "steps": [_step(number, node, numbers) for number, node in enumerate(stage.nodes)],
    }


def _step(number: int, node: Node, numbers: dict[int, int]) -> dict[str, Any]:
    return {
        "id": number,
        "kind": type(node).__name__,
        "label": node.label,
        "after": [numbers[id(parent)] for parent in node.parents if id(parent) in numbers],
        "schema": dict(node.schema),
        "key": list(node.key),
        "state": getattr(node, "step", "") if node.stateful else None,
        "declared": node.where,
    }


def guarantee(stage: Stage) -> str:
    """Return how often a row comes out after crashes."""
    if isinstance(stage.output, FileOutput):
        return "exactly once"
    return "exactly once" if stage.output.latency == "batch" else "at least once"
