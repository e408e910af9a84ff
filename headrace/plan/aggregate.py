"""Aggregation per key, over all time or in windows, as plan nodes."""

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from headrace.core.errors import PlanError
from headrace.core.schema import Schema
from headrace.plan.aggregates import Agg, simple
from headrace.plan.node import Emit, Node, known_columns
from headrace.plan.source import within
from headrace.plan.table import Weighed
from headrace.plan.windows import Hop, Session, Sliding, Window, show_span

BOUNDS = ("window_start", "window_end")


@dataclass(frozen=True)
class Aggregate(Node):
    """Aggregate rows per key, and per window where one is given.

    With ``updates`` a row is sent whenever its group has changed, once per batch; with ``final`` once, when the
    window has closed: when the newest time seen is ``lateness + grace`` beyond its end.

    Attributes:
        parent: Whose rows.
        keys: The columns that tell groups apart.
        aggs: What to compute.
        window: None for one group per key over all time.
        grace: How long after its end a window still takes late rows.
        emit: Changes as they happen, or results once.
        step: The name under which the state is kept.
    """

    parent: Node
    keys: tuple[str, ...]
    aggs: tuple[Agg, ...]
    window: Window | None = None
    grace: timedelta = timedelta(0)
    emit: Emit = "updates"
    step: str = ""

    def __post_init__(self) -> None:
        known_columns(self.parent.schema, self.keys, "group_by")
        if not self.aggs:
            raise PlanError("agg() computes nothing; write for example agg(sales='count(*)', revenue='sum(amount)')")
        if self.emit not in ("updates", "final"):
            raise PlanError(f"emit must be 'updates' or 'final', not {self.emit!r}")
        if self.window is not None and not self.parent.timed:
            raise PlanError("window() needs to know when events happened; declare event_time= or time= on the stream")
        if self.grace < timedelta(0):
            raise PlanError("grace must not be below 0")
        if self.window is None and self.emit == "final" and not self.by_parent_window:
            raise PlanError("emit='final' needs a window: without one no result is ever final. Use emit='updates'")
        self._check_parent()
        _ = self.schema

    def _check_parent(self) -> None:
        if self.parent.updates:
            raise PlanError("a table whose rows change must be weighed before it is aggregated")
        if self.emit == "updates" and (before := next((n for n in within(self.parent) if n.stateful), None)):
            raise PlanError(
                f"emit='updates' cannot follow '{before.label}' in one step: use emit='final', or write that "
                "with .to(topic) and read it with app.stream(topic, …)"
            )

    @property
    def by_parent_window(self) -> bool:
        """Whether groups are the windows of an earlier, final aggregation."""
        return self.window is None and self.parent.timed and BOUNDS[1] in self.keys and self.parent_hop is not None

    @property
    def parent_hop(self) -> Hop | None:
        """Return the aligned window of the last final aggregation before this one."""
        earlier = [node for node in self.parent.walk() if isinstance(node, Aggregate)]
        last = earlier[-1] if earlier else None
        if last is None:
            return None
        return last.window if isinstance(last.window, Hop) else last.parent_hop

    @cached_property
    def schema(self) -> Schema:
        bounds = [(name, "TIMESTAMP") for name in BOUNDS] if self.window else []
        keys = [(key, self.parent.schema[key]) for key in self.keys]
        return Schema([*bounds, *keys, *((agg.name, agg.type) for agg in self.aggs)])

    @property
    def key(self) -> tuple[str, ...]:
        return (*self.keys, *BOUNDS) if self.window else self.keys

    @property
    def timed(self) -> bool:
        return self.emit == "final"

    @property
    def stateful(self) -> bool:
        return True

    @property
    def remembers(self) -> str:
        if self.paged:
            return "the rows of each group" if self.retracts else "the rows of each key in open windows"
        return "a row per key" if self.window is None else "a row per key and open window"

    @property
    def updates(self) -> bool:
        return self.emit == "updates"

    @property
    def paged(self) -> bool:
        """Whether this is a form that Spark does not have.

        Those are sliding windows, sessions that tell each change, and aggregates that cannot take a table's row back.
        """
        if self.retracts:
            folds = (simple(agg, self.parent.schema, decimals=True) for agg in self.aggs)
            return any(fold is None or fold.fold in ("min", "max") for fold in folds)
        return isinstance(self.window, Sliding) or (self.updates and isinstance(self.window, Session))

    @property
    def retracts(self) -> bool:
        """Whether the rows are those of a table, which come and go."""
        return isinstance(self.parent, Weighed)

    @property
    def label(self) -> str:
        told = [f"group by {', '.join(self.keys)}" if self.keys else "aggregate all"]
        if self.window:
            told.append(str(self.window) + (f" grace {show_span(self.grace)}" if self.grace else ""))
        told.append(", ".join(f"{agg.given} as {agg.name}" for agg in self.aggs))
        return f"{' | '.join(told)} (emit {self.emit})"
