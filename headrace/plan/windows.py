"""Windows of time, half-open and aligned to the epoch."""

from dataclasses import dataclass
from datetime import timedelta

from headrace.core.errors import PlanError
from headrace.core.quantities import parse_span
from headrace.plan.where import declared

Span = str | timedelta
_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "min": timedelta(minutes=1), "s": timedelta(seconds=1)}


def show_span(span: timedelta) -> str:
    """Return a span in full: steps with different spans must not read the same.

    Example:
        >>> show_span(timedelta(hours=1, milliseconds=500))
        '1 h 500 ms'
    """
    told, rest = [], abs(span)
    for unit, length in [*_UNITS.items(), ("ms", timedelta(milliseconds=1))]:
        amount, rest = divmod(rest, length)
        told += [f"{amount} {unit}"] if amount else []
    return ("-" if span < timedelta(0) else "") + (" ".join(told) or "0 s")


@dataclass(frozen=True)
class Hop:
    """Windows ``[n * every, n * every + size)`` for every whole n: each row lies in ``size / every`` of them."""

    size: timedelta
    every: timedelta

    def __post_init__(self) -> None:
        if self.size <= timedelta(0):
            raise PlanError(f"a window's size must be above 0, not {show_span(self.size)}")
        if not timedelta(0) < self.every <= self.size:
            raise PlanError(
                f"hopping(size={show_span(self.size)}, every={show_span(self.every)}): every must be above 0 and at "
                "most the size, or events between two windows would be in none"
            )

    def __str__(self) -> str:
        if self.every == self.size:
            return f"tumbling {show_span(self.size)}"
        return f"hopping {show_span(self.size)} every {show_span(self.every)}"


@dataclass(frozen=True)
class Session:
    """Windows that grow with the rows of a key: ``[first, last + gap)``, until ``gap`` passes without one."""

    gap: timedelta

    def __post_init__(self) -> None:
        if self.gap <= timedelta(0):
            raise PlanError(f"a session's gap must be above 0, not {show_span(self.gap)}")

    def __str__(self) -> str:
        return f"session gap {show_span(self.gap)}"


@dataclass(frozen=True)
class Sliding:
    """Windows of the rows of a key that lie within ``size`` of each other, both ends included, in milliseconds.

    For every row's time t: ``[t - size, t]`` and, where it is not empty, ``[t + 1 ms, t + 1 ms + size]``.
    """

    size: timedelta

    def __post_init__(self) -> None:
        if self.size < timedelta(milliseconds=1):
            raise PlanError(f"a sliding window's size must be at least 1 ms, not {show_span(self.size)}")

    def __str__(self) -> str:
        return f"sliding {show_span(self.size)}"


Window = Hop | Session | Sliding


@declared
def tumbling(size: Span) -> Hop:
    """Windows side by side: each row lies in one.

    Example:
        >>> print(tumbling("1 minute"))
        tumbling 1 min
    """
    span = parse_span(size)
    return Hop(span, span)


@declared
def hopping(size: Span, every: Span) -> Hop:
    """Windows of ``size`` that begin at each ``every``: a row lies in several.

    Example:
        >>> print(hopping("10 minutes", every="1 minute"))
        hopping 10 min every 1 min
    """
    return Hop(parse_span(size), parse_span(every))


@declared
def session(gap: Span) -> Session:
    """Windows of activity: they end when ``gap`` passes without a row of the key.

    Example:
        >>> print(session("30 minutes"))
        session gap 30 min
    """
    return Session(parse_span(gap))


@declared
def sliding(size: Span) -> Sliding:
    """Windows that are looked at anew whenever a row enters or leaves: as many as there are different sets of rows.

    Example:
        >>> print(sliding("10 minutes"))
        sliding 10 min
    """
    return Sliding(parse_span(size))
