"""Programs run side by side in one Spark session, until somebody stops them."""

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from headrace.runtime.display import Display
from headrace.runtime.signals import Signals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.runtime.app import App
    from headrace.runtime.run import Run

_TICK = 0.2  # seconds between two looks


def together(apps: "Sequence[App]", *, drain: bool = False, show: bool = True) -> None:
    """Start programs, show what they do, and stop them after the batch under way when asked to, or when one fails."""
    with Signals() as asked, ExitStack() as stack:
        runs: list[Run] = []
        with Display(show) as display:
            display.say(f"Starting {', '.join(app.name for app in apps)} on Spark…")
            for app in apps:
                runs.append(app.start())
                stack.callback(runs[-1].stop)
            display.say("Running; stop with Ctrl-C." if not drain else "Running until all there is has been processed.")
            while not asked.is_set() and not any(run.wait(0) for run in runs):
                display.update([run.status() for run in runs])
                if drain and all([run.drained(_TICK) for run in runs]):
                    break
                if not drain:
                    asked.wait(_TICK)
            begun = time.monotonic()
            stack.close()
            display.update([run.status() for run in runs], last=True)
            display.say(f"Stopped after the batch under way, in {time.monotonic() - begun:.1f} s.")
        for run in runs:
            run.wait(0)
