"""What a running stage has done: one entry for each batch."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from headrace.core.quantities import milliseconds

_EPOCH = datetime.fromtimestamp(0, UTC)
Offsets = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Progress:
    """One batch.

    Attributes:
        batch: Its number.
        rows: Events read, heartbeats among them.
        seconds: How long it took.
        watermark: Up to which time windows are closed, in milliseconds since the epoch; 0 for no time yet.
        state: Rows that the stage remembers.
        dropped: Rows that came too late, or groups of them.
        dead: Events that could not be processed, as far as they are not among the output.
        begin: For each input, the offsets before the batch.
        end: For each input, the offsets after it.
        lag: Events that were there but not in the batch.
    """

    batch: int
    rows: int = 0
    seconds: float = 0.0
    watermark: int = 0
    state: int = 0
    dropped: int = 0
    dead: int = 0
    begin: Offsets = field(default_factory=dict)
    end: Offsets = field(default_factory=dict)
    lag: int = 0

    @property
    def reached(self) -> Offsets:
        """Return the offsets after the batch, without those of heartbeats."""
        return {topic: offsets for topic, offsets in self.end.items() if not topic.endswith(".heartbeat")}


def read(query: Any, after: int) -> Iterator[Progress]:
    """Yield what a query has done since the batch ``after``."""
    return map(parse, entries(query, after))


def entries(query: Any, after: int) -> Iterator[dict[str, Any]]:
    """Yield what Spark tells of the batches since ``after``.

    It tells also that it is idle, under the number of the batch to come; such entries have no ``addBatch``.
    """
    new: list[dict[str, Any]] = []
    newest = query._jsq.lastProgress()
    if newest is None or newest.batchId() <= after:
        return iter(new)
    for entry in reversed(query._jsq.recentProgress()):  # from the end: each look at an entry is a call to Java
        if entry.batchId() <= after:
            break
        told = json.loads(entry.json())
        if "addBatch" in told["durationMs"] or "addBatchNoData" in told["durationMs"]:
            new.append(told)
    return iter(new[::-1])


def parse(told: Mapping[str, Any]) -> Progress:
    """Return an entry of Spark in our terms."""
    operators = told.get("stateOperators", [])
    metrics = told.get("observedMetrics", {}).values()
    begin, end, latest = (merged(told["sources"], side) for side in ("startOffset", "endOffset", "latestOffset"))
    return Progress(
        batch=told["batchId"],
        rows=told["numInputRows"],
        seconds=told["durationMs"].get("triggerExecution", 0) / 1000,
        watermark=to_millis(told.get("eventTime", {}).get("watermark")),
        state=sum(operator["numRowsTotal"] for operator in operators),
        dropped=sum(operator["numRowsDroppedByWatermark"] for operator in operators),
        dead=sum(int(metric.get("dead") or 0) for metric in metrics),
        begin=begin,
        end=end,
        lag=distance(end, latest),
    )


def merged(sources: Sequence[Mapping[str, Any]], side: str) -> Offsets:
    """Return the offsets of all sources of a query together; two may read the same topic, at different places."""
    found: Offsets = {}
    for source in sources:
        for topic, offsets in (source.get(side) or {}).items():
            known = found.setdefault(topic, {})
            choose = min if side == "startOffset" else max
            known.update({n: choose(offset, known.get(n, offset)) for n, offset in offsets.items()})
    return found


def distance(begin: Offsets, end: Offsets) -> int:
    """Return how many offsets lie between two places."""
    return sum(
        max(0, offset - begin.get(topic, {}).get(n, 0))
        for topic, offsets in end.items()
        for n, offset in offsets.items()
    )


def to_millis(told: str | None) -> int:
    """Return a time of Spark as milliseconds since the epoch."""
    return max(0, milliseconds(datetime.fromisoformat(told) - _EPOCH)) if told else 0
