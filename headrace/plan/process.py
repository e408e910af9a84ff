"""Operators of the user's own, as a plan node."""

from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Literal

from headrace.core.errors import PlanError
from headrace.core.schema import Schema
from headrace.operators.processor import Processor
from headrace.plan.node import Node, known_columns

TimerClock = Literal["event", "processing"]


@dataclass(frozen=True)
class Process(Node):
    """Rows of each key through a `Processor`, which keeps a state for it; its rows have no time any more.

    Attributes:
        parent: Whose rows.
        keys: The columns that tell keys apart.
        logic: The processor.
        result: The columns that it returns.
        clock: By which timers go.
        patience: How long one call may take.
        step: The name under which the state is kept.
    """

    parent: Node
    keys: tuple[str, ...]
    logic: Processor = field(compare=False)
    result: Schema
    clock: TimerClock
    patience: timedelta
    step: str = ""

    def __post_init__(self) -> None:
        known_columns(self.parent.schema, self.keys, "group_by")
        if not self.keys:
            raise PlanError("process() keeps a state for each key; name its columns in group_by(…)")
        if not callable(getattr(self.logic, "on_rows", None)):
            raise PlanError(f"process() needs an hr.Processor, an object with on_rows(key, rows), not {self.logic!r}")
        if self.parent.updates:
            raise PlanError("process() works on streams; of a table, take its changes()")
        if self.clock not in ("event", "processing"):
            raise PlanError(f"clock must be 'event' or 'processing', not {self.clock!r}")
        if self.clock == "event" and not self.parent.timed:
            raise PlanError(
                "process() by event time needs to know when events happened; declare the stream with "
                "event_time='column', or use clock='processing'"
            )
        if self.patience <= timedelta(0):
            raise PlanError("patience must be above 0")

    @cached_property
    def schema(self) -> Schema:
        return self.result

    @property
    def key(self) -> tuple[str, ...]:
        return self.keys if all(name in self.result for name in self.keys) else ()

    @property
    def timed(self) -> bool:
        return False

    @property
    def stateful(self) -> bool:
        return True

    @property
    def remembers(self) -> str:
        return f"what {type(self.logic).__name__} keeps per key"

    @property
    def paged(self) -> bool:
        return True

    @property
    def label(self) -> str:
        return f"process {type(self.logic).__name__} per {', '.join(self.keys)} by {self.clock} time"
