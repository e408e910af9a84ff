"""Times of one hour, as short as tests like them."""

from datetime import UTC, datetime, timedelta

HOUR = datetime(2024, 5, 1, 10, tzinfo=UTC)


def utc(clock: str | float) -> datetime:
    """The moment ``"minutes:seconds"``, or so many seconds, after ten o'clock."""
    if isinstance(clock, str):
        minutes, seconds = clock.split(":")
        return HOUR + timedelta(minutes=int(minutes), seconds=float(seconds))
    return HOUR + timedelta(seconds=clock)


def iso(clock: str | float) -> str:
    """The same as it stands in JSON."""
    return utc(clock).isoformat()
