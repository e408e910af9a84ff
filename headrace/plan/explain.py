"""What a program will do, for people to read."""

from collections.abc import Mapping, Sequence

from headrace.plan.describe import guarantee
from headrace.plan.node import Node
from headrace.plan.stages import Stage, TopicOutput
from headrace.plan.windows import show_span


def explain(program: str, version: str, stages: Sequence[Stage], settings: Mapping[str, str]) -> str:
    """Return the stages with their steps, state and guarantees, and Spark's settings."""
    lines = [f"program {program}, version {version}: {len(stages)} {'stage' if len(stages) == 1 else 'stages'}"]
    for number, stage in enumerate(stages, start=1):
        lines += ["", *_stage(number, stage)]
    lines += ["", "Spark settings"]
    lines += [f"  {name} = {value}" for name, value in sorted(settings.items())]
    return "\n".join(lines)


def _stage(number: int, stage: Stage) -> list[str]:
    numbers = {id(node): n for n, node in enumerate(stage.nodes, start=1)}
    lines = [f"stage {number}: {stage.name}" + (f"  ({stage.where})" if stage.where else "")]
    for n, node in enumerate(stage.nodes, start=1):
        after = [str(numbers[id(parent)]) for parent in node.parents if id(parent) in numbers]
        follows = f"  after {', '.join(after)}" if after and after != [str(n - 1)] else ""
        lines.append(f"  {n}. {node.label}{follows}")
    lines.append(f"  → {stage.output.label}")
    lines.append(f"  columns     {stage.node.schema.ddl}")
    lines.append(f"  key         {', '.join(stage.node.key) or 'none'}")
    lines.append(f"  state       {'; '.join(map(_state, stage.stateful)) or 'none'}")
    lines.append(f"  time        {_time(stage)}")
    lines.append(f"  guarantee   {guarantee(stage)}{_how(stage)}")
    return lines


def _state(node: Node) -> str:
    return f"{getattr(node, 'step', '')} keeps {node.remembers}"


def _time(stage: Stage) -> str:
    if not stage.stateful:
        return "not needed"
    idle = f"; goes on by itself after {show_span(stage.idle)} without events" if stage.idle else ""
    return f"windows close {show_span(stage.grace)} after lateness{idle}" if stage.grace else f"by the events{idle}"


def _how(stage: Stage) -> str:
    if not isinstance(stage.output, TopicOutput):
        return ": a folder for each batch, replaced if it is repeated"
    if stage.output.latency == "realtime":
        return ": within milliseconds, without batches"
    return ": transactions with a marker for each batch"
