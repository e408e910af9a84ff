"""De-duplication within a time, as a plan node."""

from dataclasses import dataclass
from datetime import timedelta

from headrace.core.errors import PlanError
from headrace.plan.node import Node, known_columns
from headrace.plan.windows import show_span


@dataclass(frozen=True)
class Dedupe(Node):
    """Keep the first row of equal ``columns``; others within ``within`` of its time vanish."""

    parent: Node
    columns: tuple[str, ...]
    within: timedelta
    step: str = ""

    def __post_init__(self) -> None:
        known_columns(self.parent.schema, self.columns, "dedupe")
        if not self.columns:
            raise PlanError("dedupe() needs the columns that make two rows the same, such as dedupe('order_id', …)")
        if not self.parent.timed:
            raise PlanError("dedupe() needs to know when events happened; declare event_time= or time= on the stream")
        if self.within <= timedelta(0):
            raise PlanError("within must be above 0")
        if self.parent.updates:
            raise PlanError("dedupe() works on streams; this is a table whose rows change")
        if any(node.stateful for node in self.parent.walk()):
            raise PlanError(
                "dedupe() must come before joins, aggregations and other dedupes: put it right after the stream"
            )

    @property
    def stateful(self) -> bool:
        return True

    @property
    def remembers(self) -> str:
        return f"a row per key for {show_span(self.within)}"

    @property
    def label(self) -> str:
        return f"dedupe {', '.join(self.columns)} within {show_span(self.within)}"
