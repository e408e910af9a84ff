"""How a program runs, as opposed to what it computes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.core.errors import ConfigError


@dataclass(frozen=True)
class Options:
    """Attributes are those of `App`."""

    brokers: str | None = None
    checkpoints: str | None = None
    master: str | None = None
    spark: Mapping[str, Any] = field(default_factory=dict)
    max_batch: int = 500_000
    rate: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_batch", "rate"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ConfigError(f"{name} must be a whole number above 0, not {value!r}")

    @property
    def per_batch(self) -> int:
        """Return the most events of one batch; with a rate there is one batch each second."""
        return min(self.max_batch, self.rate) if self.rate else self.max_batch

    @property
    def trigger(self) -> dict[str, Any]:
        """Return when batches begin."""
        return {"processingTime": "1 second" if self.rate else "0 seconds"}
