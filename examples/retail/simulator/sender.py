"""Sends what the world gives, in step with the clock, at a rate that can be turned while it runs."""

import math
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

from examples.retail.simulator.history import SLICE
from examples.retail.simulator.sent import RESERVATIONS, SHOPS, SUPPLIES, TILLS, Sent
from examples.retail.simulator.world import World
from headrace.core.errors import ConfigError
from headrace.log import Producer, Topics

PARTITIONS = 2
FASTEST = 100_000  # invoices per second that can be asked for
_TICK = 0.05  # seconds between two sendings
_AT_ONCE = 5_000  # invoices of one sending: when the machine cannot keep up, they become fewer per second
_LOOK = 0.5  # seconds between two looks at the dial
_ON_TIME = timedelta(seconds=1)
_KEPT = "6 hours"  # what tills sent


class Dial:
    """A rate that others can turn, by writing a number into a small file.

    Args:
        path: The file; it need not exist.
        rate: What holds until somebody turns it.
    """

    def __init__(self, path: Path, rate: float) -> None:
        self._path, self._rate = path, rate
        self._looked, self._read = -math.inf, path.read_bytes() if path.is_file() else None

    def turn(self, rate: float) -> None:
        """Set the rate for whoever looks at the same file."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        hidden = self._path.with_name(f".{self._path.name}")
        hidden.write_text(f"{checked_rate(rate)}\n")
        hidden.replace(self._path)

    @property
    def rate(self) -> float:
        """Return what holds now; what is no rate is not obeyed."""
        if time.monotonic() - self._looked >= _LOOK:
            self._looked = time.monotonic()
            self._look()
        return self._rate

    def _look(self) -> None:
        try:
            found = self._path.read_bytes()[:100]
        except OSError:
            return
        if found == self._read:
            return
        self._read = found
        try:
            self._rate = checked_rate(found.decode().strip())
        except (ConfigError, UnicodeDecodeError) as error:
            print(f"{self._path}: {error}; going on with {self._rate:g}", flush=True)


def checked_rate(given: str | float) -> float:
    """Return a rate that can be sent; ``max`` is as fast as the machine sends, 0 is a pause."""
    if given == "max":
        return FASTEST
    try:
        rate = float(given)
    except ValueError:
        rate = math.nan
    if not 0 <= rate <= FASTEST:
        raise ConfigError(f"{given!r} is no rate; give invoices per second from 0 to {FASTEST:,}, or max")
    return rate


def create_topics(brokers: str | None = None) -> None:
    """Create the topics that the simulator writes, where they are missing."""
    with Topics(brokers) as topics:
        for name in (TILLS, SUPPLIES, RESERVATIONS):
            topics.create(name, partitions=PARTITIONS, retention=_KEPT, exist_ok=True)
        topics.create(SHOPS, partitions=PARTITIONS, compact=True, exist_ok=True)


def has_begun(brokers: str | None = None) -> bool:
    """Whether anything was ever sent, also if it is no longer kept.

    Then the past cannot be sent: its invoices would come too late for revenue.
    """
    with Topics(brokers) as topics:
        found = [topics.describe(name) for name in (TILLS, SUPPLIES)]
    return any(partition.latest > 0 for topic in found for partition in topic.partitions)


def send(producer: Producer, events: Iterable[Sent], now: datetime) -> int:
    """Send events; what was due long before is stamped as sent now. Return how many."""
    count = 0
    for event in events:
        sent = event.sent_at(now, _ON_TIME)
        producer.send(sent.topic, sent.value, key=sent.key)
        count += 1
    return count


def send_history(producer: Producer, events: Iterable[Sent]) -> int:
    """Send the past in its order, so that whoever reads along meets no event far behind the newest."""
    count, upto = 0, None
    for event in events:
        if event.happened is not None and (upto is None or event.happened >= upto):
            producer.flush()
            upto = event.happened + SLICE
        count += send(producer, [event], datetime.now(UTC))
    producer.flush()
    return count


def send_live(
    producer: Producer, world: World, rate: Callable[[], float], ended: Event, tell: Callable[[int, float], None]
) -> int:
    """Send what happens from now on until told to end; then the shops close.

    Args:
        producer: Sends.
        world: What happens.
        rate: Returns the invoices per second that are wanted now.
        ended: Is set when it is time to end.
        tell: Hears how many events were sent so far, and at which rate.
    """
    count = 0
    while not ended.wait(_TICK):
        now = datetime.now(UTC)
        passed = max((now - world.now).total_seconds(), _TICK)
        wanted = min(rate(), _AT_ONCE / passed)
        count += send(producer, world.advance(now, wanted), now)
        tell(count, wanted)
    return count + send(producer, world.close(), datetime.now(UTC))
