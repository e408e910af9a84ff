"""Programs run side by side in one Spark session, until somebody stops them."""

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from headrace.runtime.display import Display
from headrace.runtime.signals import Signals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from headrace.runtime.app import App
    from headrace.runtime.run import Run

_TICK = 0.2  # seconds between two looks


def together(
    apps: "Sequence[App]",
    *,
    drain: bool = False,
    show: bool = True,
    enough: "Callable[[Sequence[dict[str, Any]]], bool]" = lambda _: False,
    in_turn: float = 0.0,
) -> None:
    """Start programs, show what they do, and stop them after the batch under way when asked to, or when one fails.

    Args:
        apps: The programs.
        drain: Stop them when all that the inputs hold is processed.
        show: Show what they do.
        enough: Told the status of all again and again; stops them when it returns true.
        in_turn: Seconds that a program has for its first batches before the next one starts: those that come first
            then have results before the last have started, at the price of a longer start in all.
    """
    with Signals() as asked, ExitStack() as stack:
        runs: list[Run] = []
        with Display(show) as display:

            def look() -> bool:
                told = [run.status() for run in runs]
                display.update(told)
                return enough(told)

            display.say(f"Starting {', '.join(app.name for app in apps)} on Spark…")
            for app in apps:
                runs.append(app.start())
                stack.callback(runs[-1].stop)
                until = time.monotonic() + in_turn
                while not (_has_begun(runs[-1]) or look() or asked.is_set() or time.monotonic() >= until):
                    asked.wait(_TICK)
                if asked.is_set():
                    break
            display.say("Running; stop with Ctrl-C." if not drain else "Running until all there is has been processed.")
            read: list[Any] = []
            busy = list(runs)
            while not asked.is_set() and not any(run.wait(0) for run in runs) and not look():
                if not drain:
                    asked.wait(_TICK)
                elif not (busy := [run for run in busy if not run.drained(_TICK)]):
                    before, read = read, [run.reached() for run in runs]
                    if len(runs) == 1 or read == before:  # no program has given another one something to do
                        break
                    busy = list(runs)
            begun = time.monotonic()
            for run in runs:  # all at once, and not one after the other
                run.stop(wait=False)
            stack.close()
            display.update([run.status() for run in runs], last=True)
            display.say(f"Stopped after the batch under way, in {time.monotonic() - begun:.1f} s.")
        for run in runs:
            run.wait(0)


def _has_begun(run: "Run") -> bool:
    """Whether every stage of a program has ended a batch."""
    return all(stage["batch"] is not None for stage in run.status()["stages"])
