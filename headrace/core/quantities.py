"""Time spans and sizes as people write them: ``"10 seconds"``, ``"64 MB"``."""

import re
from datetime import timedelta
from decimal import Decimal

from headrace.core.errors import ConfigError

_LONGEST_PAUSE = timedelta(days=1)
_SPANS = {
    "ms": timedelta(milliseconds=1),
    "millisecond": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "sec": timedelta(seconds=1),
    "second": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "minute": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "hour": timedelta(hours=1),
    "d": timedelta(days=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_SIZES = {"B": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("KMGT", start=1)
    for suffix, base in (("B", 1000), ("iB", 1024))
}
_LARGEST = 2**63 - 1  # bytes, as Kafka counts them
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")


def parse_span(given: str | timedelta) -> timedelta:
    """Return the time span that ``given`` says, at millisecond resolution.

    Example:
        >>> parse_span("1.5 minutes")
        datetime.timedelta(seconds=90)
    """
    if not isinstance(given, str | timedelta):
        raise ConfigError(f"{given!r} is not a time span; write it like '500 ms', '10 seconds', '7 days'")
    if isinstance(given, timedelta):
        return given
    amount, unit = _split(given, "time span", "'500 ms', '10 seconds', '2 hours', '7 days'")
    known = _SPANS.get(unit.lower()) or _SPANS.get(unit.lower().removesuffix("s"))
    if known is None:
        raise ConfigError(
            f"unknown unit {unit!r} in the time span {given!r}; use ms, seconds, minutes, hours, days, weeks"
        )
    try:
        span = known * float(amount)
    except OverflowError:
        raise ConfigError(f"the time span {given!r} is too long; the most is {timedelta.max.days} days") from None
    return span - span % _SPANS["ms"]


def parse_pause(given: str | timedelta) -> timedelta:
    """Return the time between the beginnings of two batches that ``given`` says."""
    if not timedelta(0) <= (pause := parse_span(given)) <= _LONGEST_PAUSE:
        raise ConfigError(f"every must be a time from 0 seconds to 1 day, not {given!r}")
    return pause


def milliseconds(span: timedelta) -> int:
    """Return a span as whole milliseconds, as Kafka counts."""
    return span // timedelta(milliseconds=1)


def parse_size(given: str | int) -> int:
    """Return the number of bytes that ``given`` says.

    Example:
        >>> parse_size("64 MiB")
        67108864
    """
    if isinstance(given, int):
        return given
    plain = given.strip().isdecimal()
    amount, unit = _split(f"{given} B" if plain else given, "size", "'500 KB', '64 MiB', '1 GB', or a number of bytes")
    factor = {name.lower(): value for name, value in _SIZES.items()}.get(unit.lower())
    if factor is None:
        raise ConfigError(f"unknown unit {unit!r} in the size {given!r}; use {', '.join(_SIZES)}")
    if (size := amount * factor) > _LARGEST:
        raise ConfigError(f"the size {given!r} is too large; the most is {_LARGEST} bytes")
    return int(size)


def show_size(size: int) -> str:
    """Return a size for people to read, such as ``4.2 MB``."""
    amount = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 999.95:  # noqa: PLR2004 - above it, rounding would show 1000.0
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def show_span(span: timedelta) -> str:
    """Return a span for people to read, such as ``2 h 5 min``."""
    seconds = int(span.total_seconds())
    parts = [
        (seconds // 86400, "d"),
        (seconds // 3600 % 24, "h"),
        (seconds // 60 % 60, "min"),
        (seconds % 60, "s"),
    ]
    told = [f"{amount} {unit}" for amount, unit in parts if amount]
    return " ".join(told[:2]) or "0 s"


def _split(given: str, noun: str, examples: str) -> tuple[Decimal, str]:
    match = _AMOUNT.fullmatch(given)
    if match is None:
        raise ConfigError(f"{given!r} is not a {noun}; write it like {examples}")
    return Decimal(match[1]), match[2]
