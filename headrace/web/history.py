"""What queries did in the last quarter of an hour, second by second."""

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_KEPT = 900  # samples of each query
_SPAN = 5.0  # seconds over which a rate is reckoned


class Sample(NamedTuple):
    """One query at one moment."""

    t: float
    rows: int
    rate: float
    rows_per_second: float
    lag: int
    batch_seconds: float
    state_rows: int


class History:
    """Samples of queries; those of one that has gone are kept until they are too old."""

    def __init__(self) -> None:
        self._samples: dict[str, deque[Sample]] = {}
        self._lock = threading.Lock()

    def add(self, t: float, stages: Iterable[Mapping[str, Any]]) -> None:
        """Take a sample of each query."""
        with self._lock:
            for stage in stages:
                mine = self._samples.setdefault(stage["name"], deque(maxlen=_KEPT))
                mine.append(_sample(t, stage, mine))
            for name in [name for name, samples in self._samples.items() if samples[-1].t < t - _KEPT]:
                del self._samples[name]

    def of(self, query: str) -> dict[str, list[float]] | None:
        """Return the columns of a query's samples, oldest first, or None where nothing is known of it."""
        with self._lock:
            samples = list(self._samples.get(query, ()))
        if not samples:
            return None
        columns = zip(Sample._fields, zip(*samples, strict=True), strict=True)
        return {name: list(values) for name, values in columns}

    def rate(self, query: str) -> float:
        """Return how many rows a query takes per second, of late."""
        with self._lock:
            samples = self._samples.get(query)
            return samples[-1].rate if samples else 0.0


def _sample(t: float, stage: Mapping[str, Any], before: "deque[Sample]") -> Sample:
    rows = stage.get("rows") or 0
    first = next((one for one in reversed(before) if one.t <= t - _SPAN), before[0] if before else None)
    grown = 0.0 if first is None or rows < first.rows or t <= first.t else (rows - first.rows) / (t - first.t)
    return Sample(
        round(t, 3),
        rows,
        round(grown, 1),
        stage.get("rows_per_second") or 0.0,
        stage.get("lag") or 0,
        stage.get("batch_seconds") or 0.0,
        stage.get("state_rows") or 0,
    )
