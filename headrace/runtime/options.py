"""How a program runs, as opposed to what it computes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from headrace.core.errors import ConfigError
from headrace.core.quantities import milliseconds, parse_pause

_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Options:
    """Attributes are those of `App`."""

    brokers: str | None = None
    checkpoints: str | None = None
    master: str | None = None
    spark: Mapping[str, Any] = field(default_factory=dict)
    max_batch: int = 500_000
    rate: int | None = None
    every: str | timedelta = timedelta(0)

    def __post_init__(self) -> None:
        for name in ("max_batch", "rate"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ConfigError(f"{name} must be a whole number above 0, not {value!r}")
        parse_pause(self.every)

    @property
    def pause(self) -> timedelta:
        """Return the least time from the beginning of a batch to that of the next; with a rate it is a second."""
        return max(parse_pause(self.every), _SECOND if self.rate else timedelta(0))

    @property
    def per_batch(self) -> int:
        """Return the most events of one batch."""
        return min(self.max_batch, max(1, int(self.rate * (self.pause / _SECOND)))) if self.rate else self.max_batch

    @property
    def trigger(self) -> dict[str, Any]:
        """Return when batches begin."""
        return {"processingTime": f"{milliseconds(self.pause)} milliseconds"}
