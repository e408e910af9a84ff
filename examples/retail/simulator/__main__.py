"""Run it: ``python -m examples.retail.simulator --rate 1000 --history "25 hours"``.

The past is sent only where nothing was sent before: it would come too late for those who have read on.

While it runs, ``python -m examples.retail.simulator --turn 5000`` turns its rate: it writes the number into a small
file, ``retail.rate`` beside the broker's data, which anybody may write by hand.
"""

import argparse
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread, Timer

from examples.retail.simulator.sender import Dial, checked_rate, create_topics, has_begun, send_history, send_live
from examples.retail.simulator.world import World
from headrace.core.errors import HeadraceError
from headrace.core.quantities import parse_span
from headrace.core.settings import Settings
from headrace.log import Producer

_TOLD_EVERY = 10.0  # seconds


def main(arguments: list[str] | None = None) -> int:
    """Send until Ctrl-C, SIGTERM, or as long as was asked for; return the exit code."""
    given = _parser().parse_args(arguments)
    try:
        dial = Dial(Path(given.dial or Settings.load().home / "retail.rate"), checked_rate(given.rate))
        if given.turn is not None:
            dial.turn(checked_rate(given.turn))
            return 0
        _send(given, dial)
    except HeadraceError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


def _send(given: argparse.Namespace, dial: Dial) -> None:
    history = parse_span(given.history) if given.history else None
    ended = _until(given.seconds, given.leash)
    create_topics(given.brokers)
    world = World(given.seed, datetime.now(UTC))
    with Producer(given.brokers) as producer:
        if history is not None and has_begun(given.brokers):
            print("the past is not sent: the topics have events already, and it must come before them", flush=True)
        elif history is not None:
            count = send_history(producer, world.history(history, dial.rate))
            print(f"sent {count:,} events of the past {given.history}", flush=True)
        count = send_live(producer, world, lambda: dial.rate, ended, _Told())
    print(f"sent {count:,} events since; all are acknowledged", flush=True)


def _until(seconds: float | None, leash: bool) -> Event:
    """Return what is set when it is time to end."""
    ended = Event()
    if leash:
        Thread(target=lambda: (sys.stdin.buffer.read(), ended.set()), daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    if seconds is not None:
        timer = Timer(seconds, ended.set)
        timer.daemon = True
        timer.start()
    return ended


class _Told:
    """Prints a line every few seconds."""

    def __init__(self) -> None:
        self._count, self._at = 0, time.monotonic()

    def __call__(self, count: int, rate: float) -> None:
        passed = time.monotonic() - self._at
        if passed >= _TOLD_EVERY:
            print(f"{(count - self._count) / passed:,.0f} events/s of {rate:,.0f} invoices/s asked for", flush=True)
            self._count, self._at = count, time.monotonic()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.retail.simulator", description=__doc__)
    parser.add_argument("--rate", default="100", help="invoices per second, or max (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of all chance (default: %(default)s)")
    parser.add_argument("--history", metavar="SPAN", help="send the past first, such as '25 hours', once")
    parser.add_argument("--seconds", type=float, help="end after so many seconds")
    parser.add_argument("--leash", action="store_true", help="end when standard input does")
    parser.add_argument("--turn", metavar="RATE", help="turn the rate of a simulator that runs, and end")
    parser.add_argument("--dial", metavar="FILE", help="by which the rate is turned (default: retail.rate)")
    parser.add_argument("--brokers", help="host:port,… (default: what is configured, or the managed broker)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
