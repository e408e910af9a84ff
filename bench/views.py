"""A view while changes arrive: how fast it catches up, how fast it answers, how far it lags."""

import random
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from headrace.log import Producer, Topics
from headrace.serve import View

ROWS = 100_000
RATE = 5_000  # changes a second
SECONDS = 20.0
SCHEMA = "id string, shop int, amount double, at timestamp, sent double"
CLOCK = "clock"  # the key of a row that tells when it was sent
AGGREGATE = "select shop, count(*) as sales, sum(amount) as revenue from {} group by shop order by revenue desc"
_TURN = 0.01  # seconds between two sendings
_PAUSE = 0.002  # seconds between two look-ups


@dataclass(frozen=True)
class Figures:
    """What was measured: rates in rows a second, times in seconds, as p50 and p99."""

    catching_up: float
    get: tuple[float, float]
    lag: tuple[float, float]
    query: float
    size: int


def row(number: int) -> dict[str, Any]:
    return {
        "id": f"c{number}",
        "shop": number % 100,
        "amount": round(random.random() * 100, 2),
        "at": "2024-05-01T10:00:05.000000Z",
        "sent": time.time(),
    }


def measure() -> Figures:
    topic = f"bench-{uuid.uuid4()}"
    with Topics() as topics, tempfile.TemporaryDirectory() as folder:
        topics.create(topic, compact=True)
        with Producer() as producer:
            for number in range(ROWS):
                producer.send(topic, row(number), key=f"c{number}")
        begun = time.perf_counter()
        with View(topic, SCHEMA, key="id", folder=folder) as view:
            view.wait()
            rate = ROWS / (time.perf_counter() - begun)
            gets, lags, query = _under_load(view, topic)
            assert len(view) == ROWS + 1, f"{len(view)} rows"
        size = sum(path.stat().st_size for path in Path(folder).glob("*.db*"))
        topics.delete(topic)
    return Figures(rate, _spread(gets), _spread(lags), query, size)


def send(topic: str) -> None:
    """Send changes at the rate, in a process of its own: it shares nothing with the view but the machine."""
    begun = time.monotonic()
    sent = 0
    with Producer() as producer:
        while (elapsed := time.monotonic() - begun) < SECONDS:
            while sent < elapsed * RATE:
                number = random.randrange(ROWS)
                producer.send(topic, row(number), key=f"c{number}")
                sent += 1
            producer.send(topic, row(0) | {"id": CLOCK}, key=CLOCK)
            time.sleep(_TURN)


def _under_load(view: View, topic: str) -> tuple[list[float], list[float], float]:
    gets, lags, queries = [], [], []
    with subprocess.Popen([sys.executable, "-m", "bench.views", topic]) as sender:
        while view.get(CLOCK) is None:
            time.sleep(_TURN)
        while sender.poll() is None:
            gets += [_timed(view.get, f"c{random.randrange(ROWS)}") for _ in range(50) if not time.sleep(_PAUSE)]
            lags.append(time.time() - view.get(CLOCK)["sent"])
            if len(lags) % 10 == 0:
                queries.append(_timed(view.query, AGGREGATE.format(view.table)))
    view.wait()
    trim = len(lags) // 10  # the sender starting and ending
    return gets, lags[trim:-trim], median(queries)


def _timed(run: Any, *arguments: Any) -> float:
    begun = time.perf_counter()
    run(*arguments)
    return time.perf_counter() - begun


def _spread(taken: list[float]) -> tuple[float, float]:
    return median(taken), quantiles(taken, n=100)[98]


if __name__ == "__main__":
    send(sys.argv[1])
