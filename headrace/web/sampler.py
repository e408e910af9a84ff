"""The thread that looks at everything once a second, and tells those who follow."""

import logging
import threading
import time
from typing import Any

from headrace.core.errors import HeadraceError
from headrace.core.settings import Settings
from headrace.runtime import control
from headrace.web.alerts import Alerts
from headrace.web.history import History
from headrace.web.log import Log
from headrace.web.overview import Scene, overview
from headrace.web.streams import Told
from headrace.web.watch import LogWatch

logger = logging.getLogger("headrace.web")
_TICK = 1.0
_AGE = 5.0  # seconds that what is known of the log may be old here; pages that show topics ask for newer


class Sampler(threading.Thread):
    """Keeps the history of the queries, and the state that live pages get each second.

    What asks the log is done by a thread of its own: a broker that does not answer holds up nothing else.
    """

    def __init__(self, settings: Settings, log: Log, watch: LogWatch, alerts: Alerts) -> None:
        super().__init__(name="headrace-ui-sampler", daemon=True)
        self._settings, self._log, self._watch, self._alerts = settings, log, watch, alerts
        self._ended = threading.Event()
        self._told = threading.Condition()
        self._number = 0
        self._firing: list[dict[str, Any]] = []
        self._looking = threading.Thread(target=self._look, name="headrace-ui-log", daemon=True)
        self.history = History()
        self.scene = Scene(managed=log.managed)

    def run(self) -> None:
        """Sample until told to stop."""
        self._looking.start()
        due = time.monotonic()
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            due = max(due + _TICK, time.monotonic())
            try:
                self._sample()
            except Exception as error:  # one that fails must not be the last
                logger.error("a look at the programs failed", exc_info=error)

    def stop(self) -> None:
        """Stop both threads; one that waits for a broker is not waited for."""
        self._ended.set()
        with self._told:
            self._told.notify_all()
        if self.is_alive():
            self.join(2 * _TICK)

    def overview(self) -> dict[str, Any]:
        """Return the overview of this moment."""
        return overview(self.scene)

    def programs(self) -> list[dict[str, Any]]:
        """Return the programs as they were a moment ago."""
        return [dict(program) for program in self.scene.programs]

    def wait(self, after: int, seconds: float) -> int:
        """Return the number of the newest sample, once it is another than ``after`` or time is up."""
        with self._told:
            self._told.wait_for(lambda: self._number != after or self._ended.is_set(), seconds)
            return self._number

    def _sample(self) -> None:
        programs = [shown(program) for program in control.programs(self._settings)]
        stages = [stage for program in programs for stage in program["stages"]]
        self.history.add(time.time(), stages)
        for stage in stages:
            stage["rate"] = self.history.rate(stage["name"])
        self.scene = Scene(
            programs,
            list(control.fallen(self._settings)),
            self._watch.state,
            self._watch.seen,
            self._log.managed,
            self._firing,
            sum(stage["rate"] for stage in stages),
        )
        with self._told:
            self._number += 1
            self._told.notify_all()

    def _look(self) -> None:
        while not self._ended.is_set():
            try:
                state = self._watch.look(_AGE / 2)
                self._firing = self._alerts.current() if state.brokers else []
            except HeadraceError as error:  # the broker has just gone: the next look says so
                logger.debug("a look at the log failed: %s", error)
            except Exception as error:
                logger.error("a look at the log failed", exc_info=error)
            self._ended.wait(_AGE / 2)


class LiveFeed:
    """The state of everything, each second."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._seen = -1

    def next(self) -> Told | None:
        """Return the next state."""
        number = self._sampler.wait(self._seen, 2 * _TICK)
        if number == self._seen:
            return None
        self._seen = number
        return "state", {"overview": self._sampler.overview(), "programs": self._sampler.programs()}

    def close(self) -> None:
        """Nothing is held."""


def shown(program: dict[str, Any]) -> dict[str, Any]:
    """Return a program's status without what is nobody's business outside this machine."""
    return {name: value for name, value in program.items() if name != "folder"}
