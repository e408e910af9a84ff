"""Alerts that a target is still to be told of."""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

_MOST = 5_000  # alerts of a severity that are kept one by one; of others only the number


class Pending:
    """What has come since the last message: of each alert the last that happened.

    Attributes:
        since: When the first of them came, by the monotonic clock.
        more: How many there are beyond those that are kept.
    """

    def __init__(self) -> None:
        self.since: float | None = None
        self.more = 0
        self._alerts: dict[str, tuple[dict[str, Any], int]] = {}
        self._severities: Counter[str] = Counter()

    def add(self, alert: dict[str, Any], offset: int) -> None:
        """Take an alert, and where it lies in the topic; one that resolves takes the place of itself firing."""
        if self.since is None:
            self.since = time.monotonic()
        if self.has_room(alert):
            self._severities[alert["severity"]] += alert["id"] not in self._alerts
            self._alerts[alert["id"]] = (alert, offset)
        else:
            self.more += 1

    def has_room(self, alert: dict[str, Any]) -> bool:
        """Whether an alert would be kept; the worst are not kept out by those that matter less."""
        return alert["id"] in self._alerts or self._severities[alert["severity"]] < _MOST

    def clear(self) -> None:
        """Forget all."""
        self.since, self.more = None, 0
        self._alerts.clear()
        self._severities.clear()

    def __contains__(self, known: str) -> bool:
        return known in self._alerts

    def __iter__(self) -> Iterator[tuple[dict[str, Any], int]]:
        return iter(list(self._alerts.values()))

    def __len__(self) -> int:
        return len(self._alerts) + self.more
