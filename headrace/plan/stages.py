"""A program as a whole: its outputs, and the stages into which topics cut it."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any, Literal

from headrace.core.errors import PlanError
from headrace.plan.aggregate import Aggregate
from headrace.plan.alert import Alerts
from headrace.plan.dedupe import Dedupe
from headrace.plan.node import Node
from headrace.plan.process import Process
from headrace.plan.rows import MapPython
from headrace.plan.source import Source, Through, check_partitions, within
from headrace.plan.table_join import Enrich

Latency = Literal["batch", "realtime"]
BUCKETS = 16  # to which the keys of a paged step are hashed: as fixed as its state
_DERIVED = re.compile(r"(aggregate|join|dedupe|process|changes|alerts)-[0-9a-f]{8}")


@dataclass(frozen=True)
class TopicOutput:
    """Rows to a topic, each exactly once, or at least once within milliseconds."""

    topic: str
    partitions: int | None = None
    format: str = "json"
    latency: Latency = "batch"
    every: timedelta | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_partitions(self.partitions)

    @property
    def name(self) -> str:
        """Return how the stage is called that writes here."""
        return self.topic

    @property
    def label(self) -> str:
        """Return the output in the words of the program."""
        return f"to topic {self.topic}"


@dataclass(frozen=True)
class FileOutput:
    """Rows to files, a folder for each batch."""

    format: str
    path: str
    options: Mapping[str, Any] = field(default_factory=dict, compare=False)
    partition_by: tuple[str, ...] = ()
    every: timedelta | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """Return how the stage is called that writes here."""
        return f"{self.format}-{hashlib.sha256(self.path.encode()).hexdigest()[:8]}"

    @property
    def label(self) -> str:
        """Return the output in the words of the program."""
        folders = f", a folder for each {' and '.join(self.partition_by)}" if self.partition_by else ""
        return f"to {self.format} files in {self.path}{folders}"


Output = TopicOutput | FileOutput


@dataclass(frozen=True)
class Stage:
    """One Spark query: from topics, through steps, to one output."""

    name: str
    node: Node
    output: Output
    where: str = ""

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Return the steps of this stage, sources first; what lies behind a topic is another stage's."""
        return tuple(within(self.node))

    @property
    def inputs(self) -> tuple[Source | Through, ...]:
        """Return the topics that the stage reads."""
        return tuple(node for node in self.nodes if isinstance(node, Source | Through))

    @property
    def declared(self) -> dict[str, dict[str, str]]:
        """Return the columns that were declared for each topic that the stage reads."""
        return {node.topic: dict(node.columns) for node in self.inputs if isinstance(node, Source)}

    @property
    def stateful(self) -> tuple[Node, ...]:
        """Return the steps that keep state."""
        return tuple(node for node in self.nodes if node.stateful)

    @property
    def mode(self) -> Literal["append", "update"]:
        """Return Spark's output mode."""
        return "update" if self.node.updates else "append"

    @property
    def grace(self) -> timedelta:
        """Return how much longer than the streams' lateness windows wait."""
        return max((node.grace for node in self.nodes if isinstance(node, Aggregate | Enrich)), default=timedelta(0))

    @property
    def by_clock(self) -> bool:
        """Whether timers go by the clock: Spark then begins batch after batch, and never comes to rest."""
        return any(isinstance(node, Process) and node.clock == "processing" for node in self.nodes)

    @property
    def dedupes_alone(self) -> bool:
        """Whether the stage is one stream and a dedupe: Spark then lets the two have watermarks of their own."""
        return len(self.inputs) == 1 and any(isinstance(node, Dedupe) for node in self.nodes)

    @property
    def judges_now(self) -> bool:
        """Whether rows are late by the time that a batch begins with, not by that of the batch before."""
        return self.dedupes_alone or any(node.paged for node in self.nodes)

    @property
    def idle(self) -> timedelta | None:
        """Return after how long without events time goes on by itself; alerts that wait for a time do not wait long."""
        if pauses := [node.pause for node in self.nodes if isinstance(node, Alerts) and node.pause]:
            return min(pauses)
        spans = [source.idle for source in self.nodes if isinstance(source, Source) and not source.table]
        return None if any(span is None for span in spans) or not spans else max(span for span in spans if span)

    @property
    def fingerprint(self) -> tuple[str, ...]:
        """Return what must stay the same while the state is kept."""
        told = [f"reads {', '.join(node.topic for node in self.inputs)}"]
        for node in self.stateful:
            step = f"{getattr(node, 'step', '')}: {node.kept_as}"
            step += f" → {node.schema.ddl}" if isinstance(node, Aggregate) else ""
            told.append(f"{step} ({BUCKETS} buckets of pages)" if node.paged else step)
        return tuple(told) if self.stateful else ()

    def check(self) -> None:
        """Refuse what cannot run."""
        realtime = isinstance(self.output, TopicOutput) and self.output.latency == "realtime"
        if realtime and self.stateful:
            raise PlanError(
                f"latency='realtime' is for steps without memory, but '{self.stateful[0].label}' keeps state; "
                "leave latency away"
            )
        if realtime and (function := next((n for n in self.nodes if isinstance(n, MapPython)), None)):
            raise PlanError(f"latency='realtime' runs Spark SQL only, no Python; '{function.label}' is Python")


def writes(stage: Stage) -> str | None:
    """Return the topic that a stage writes, if it does."""
    return stage.output.topic if isinstance(stage.output, TopicOutput) else None


def read_again(topic: str, stages: Sequence[Stage]) -> bool:
    """Whether a later stage goes on with what is written to a topic."""
    return any(isinstance(n, Through) and n.topic == topic for stage in stages for n in stage.nodes)


def cut(outputs: Sequence[tuple[Node, Output, str, str]]) -> tuple[Stage, ...]:
    """Cut a program into stages, those that write a topic before those that read it."""
    stages: dict[str, Stage] = {}
    for node, output, name, where in outputs:
        for stage in _stages(node, output, name, where):
            known = stages.get(stage.name)
            if known is not None and (known.node is not stage.node or known.output != stage.output):
                raise PlanError(
                    f"two steps are called {stage.name!r}: one at {known.where or '?'}, one at {stage.where or '?'}; "
                    "give one of them another name="
                )
            stages.setdefault(stage.name, stage)
    _check_steps(stages)
    for stage in stages.values():
        stage.check()
    return _writers_first(tuple(stages.values()))


def _writers_first(stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """Return the stages in an order in which those that write a topic come before those that read it."""
    ordered: dict[str, Stage] = {}

    def visit(stage: Stage, path: tuple[str, ...]) -> None:
        if stage.name in path:
            around = " → ".join((*path[path.index(stage.name) :], stage.name))
            raise PlanError(
                f"the topic {writes(stage)} would feed itself, without end: {around}; write to another topic"
            )
        topics = {node.topic for node in stage.inputs}
        for writer in stages:
            if writes(writer) in topics:
                visit(writer, (*path, stage.name))
        ordered.setdefault(stage.name, stage)

    for stage in stages:
        visit(stage, ())
    return tuple(ordered.values())


def unchained(node: Node, alone: bool = False) -> str | None:
    """Return a name for the topic that must lie between a node and a stateful step, where Spark cannot chain the two.

    Args:
        node: Whose rows the step takes.
        alone: Whether the step can follow no other at all.
    """

    def ends(step: Node) -> bool:
        return isinstance(step, Dedupe) or step.paged or (step.stateful and (alone or step.updates))

    last = next((step for step in reversed(tuple(within(node))) if ends(step)), None)
    if last is None:
        return None
    step = str(getattr(last, "step", ""))
    return step if node is last else f"{step}-{digest(node)}"


def digest(node: Node) -> str:
    """Return a few letters for all steps up to a node."""
    return hashlib.sha256("|".join(step.label for step in node.walk()).encode()).hexdigest()[:8]


def _stages(node: Node, output: Output, name: str, where: str) -> Iterator[Stage]:
    for step in within(node):
        if isinstance(step, Through):
            yield from _stages(step.parent, TopicOutput(step.topic, step.partitions), step.topic, step.where)
    yield Stage(name, node, output, where)


def _check_steps(stages: Mapping[str, Stage]) -> None:
    named: dict[str, Node] = {}
    for stage in stages.values():
        for node in stage.stateful:
            step = str(getattr(node, "step", ""))
            if _DERIVED.fullmatch(step):  # names of ours may coincide: the state is kept apart by the stages' names
                continue
            if named.setdefault(step, node) is not node and named[step] != node:
                raise PlanError(
                    f"two steps are called {step!r}: one at {named[step].where or '?'}, one at {node.where or '?'}; "
                    "give one of them another name="
                )
