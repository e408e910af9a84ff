"""Tells people what fires: in the background, each target for itself, until it has taken it."""

import logging
import threading
import time
from collections.abc import Sequence, Set
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self

from headrace.alerts.control import written
from headrace.alerts.log import AlertLog, alert_of
from headrace.alerts.message import Message
from headrace.alerts.pending import Pending
from headrace.alerts.targets import Target, targets_of
from headrace.alerts.topics import ALERTS, create
from headrace.core.errors import GroupError, HeadraceError, NotifyError
from headrace.core.quantities import parse_span
from headrace.core.settings import AlertSettings
from headrace.log.connection import connect
from headrace.log.consumer import Consumer
from headrace.log.event import Event
from headrace.log.groups import Groups
from headrace.log.names import check_topic_name
from headrace.log.topics import Topics

logger = logging.getLogger("headrace.alerts")
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0  # seconds between two attempts
_TICK = 0.25  # seconds between two looks whether there is anything to do
_LOOK = 3.0  # seconds between two looks whether a silence is over
_PATIENCE = 5.0  # seconds for the threads to end


@dataclass(frozen=True)
class _Plan:
    """Where alerts are, and how often to tell of them, in seconds."""

    brokers: str
    topic: str
    gather: float
    every: float


class Notifier:
    """Tells targets of alerts; each has a consumer group and a thread of its own, so none waits for another.

    What fires within a moment is told in one message. A target that does not take it gets it again, with growing
    pauses, together with what has come meanwhile. The position in the topic moves when a message was taken: whatever
    happens to this process, the next one goes on there, and a message may come twice but is not lost. Of several
    notifiers with the same target one works, and another goes on if it dies.

    Args:
        brokers: ``host:port,…``; what is configured, or the managed broker, unless given.
        targets: Addresses of apprise, such as ``mailto://…``, and of webhooks, ``https://…``.
        topic: Where the alerts are.
        secret: Signs webhooks.
        allow_private: Whether webhooks may go to private addresses.
        gather: How long to wait for further alerts before telling of the first.
        every: How long at least between two messages to a target.

    Example:
        >>> with Notifier(None, ["mailto://ops@example.org"]) as notifier:  # doctest: +SKIP
        ...     ...
    """

    def __init__(
        self,
        brokers: str | None,
        targets: Sequence[str],
        *,
        topic: str = ALERTS,
        secret: str | None = None,
        allow_private: bool = False,
        gather: str | timedelta = "5 seconds",
        every: str | timedelta = "30 seconds",
    ) -> None:
        spans = (max(0.0, parse_span(span).total_seconds()) for span in (gather, every))
        self._targets = targets_of(targets, secret, allow_private)
        self._plan = _Plan(str(connect(brokers)["bootstrap.servers"]), check_topic_name(topic), *spans)
        self._stopping = threading.Event()
        self._workers: list[_Worker] = []

    def start(self) -> None:
        """Begin: from here on no alert is missed, and those before are history."""
        with Topics(self._plan.brokers) as topics:
            create(topics, self._plan.topic)
        for known, target in self._targets.items():
            group = f"{self._plan.topic}.notify.{known}"
            self._place(group)
            self._workers.append(_Worker(target, group, self._plan, self._stopping))
        for worker in self._workers:
            worker.start()

    def stop(self) -> None:
        """End; what was not told is told by the next one."""
        self._stopping.set()
        deadline = time.monotonic() + _PATIENCE
        for worker in self._workers:
            if worker.is_alive():
                worker.join(max(0.0, deadline - time.monotonic()))

    def status(self) -> list[dict[str, Any]]:
        """Return for each target how many messages it took, how many alerts wait, and its last error."""
        return [worker.status() for worker in self._workers]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _place(self, group: str) -> None:
        """Note where a new group begins, so that it is known even if we die before the first message."""
        with Groups(self._plan.brokers) as groups:
            try:
                groups.describe(group)
            except GroupError:
                with suppress(GroupError):  # another one has just done it
                    groups.seek(group, self._plan.topic, "latest")


def notifier_of(settings: AlertSettings, brokers: str, topic: str) -> Notifier | None:
    """Return the notifier that the settings ask for; None if nobody is to be told."""
    if not settings.notify:
        return None
    return Notifier(
        brokers,
        settings.notify,
        topic=topic,
        secret=settings.secret,
        allow_private=settings.allow_private,
        gather=settings.gather,
        every=settings.every,
    )


class _Worker(threading.Thread):
    """Tells one target."""

    def __init__(self, target: Target, group: str, plan: _Plan, stopping: threading.Event) -> None:
        super().__init__(name=f"headrace-notify-{target.name}", daemon=True)
        self._target, self._group, self._plan, self._stopping = target, group, plan, stopping
        self._pending = Pending()
        self._failures = self._taken = 0
        self._error: str | None = None
        self._told_at = self._looked_at = float("-inf")  # when a message was taken last, and when there was a look
        self._again_at = 0.0

    def status(self) -> dict[str, Any]:
        """Return how far it is."""
        waiting = len(self._pending)
        return {"target": self._target.name, "taken": self._taken, "waiting": waiting, "error": self._error}

    def run(self) -> None:
        """Work until told to stop; what goes wrong is tried again, and nobody else notices."""
        while not self._stopping.is_set():
            try:
                self._work()
            except Exception as error:
                self._failed(str(error) if isinstance(error, HeadraceError) else f"{type(error).__name__}: {error}")
                self._stopping.wait(max(0.0, self._again_at - time.monotonic()))

    def _work(self) -> None:
        plan = self._plan
        with (
            AlertLog(plan.brokers, plan.topic) as log,
            closing(Consumer(plan.topic, self._group, commit="manual", brokers=plan.brokers)) as consumer,
        ):
            self._pending.clear()
            log.current()  # from here on it is known what is silenced
            while not self._stopping.is_set():
                event = consumer.poll(_TICK)
                if event is not None:
                    self._take(event, log)
                elif not consumer.partitions():
                    self._pending.clear()  # another notifier has them
                    continue
                if self._is_time():
                    self._tell(log, consumer)
            self._finish(log, consumer)

    def _take(self, event: Event, log: AlertLog) -> None:
        alert = alert_of(event)
        if alert is None:
            return
        if not self._pending.has_room(alert) and log.silenced_until(alert) is not None:
            log.hold(self._group, [alert["id"]] if alert["state"] == "firing" else [])  # not one of those to be counted
        else:
            self._pending.add(alert, event.offset)

    def _finish(self, log: AlertLog, consumer: Consumer) -> None:
        """Tell what has come, without waiting for more; what is not taken now is the next one's."""
        while (event := consumer.poll(_TICK)) is not None:
            self._take(event, log)
        if self._pending and consumer.partitions() and not self._failures:
            self._tell(log, consumer)

    def _is_time(self) -> bool:
        """Whether to tell: not too soon, and not too often; what is silenced is looked at now and then."""
        now, since = time.monotonic(), self._pending.since
        ready = now >= (self._looked_at + _LOOK if since is None else since + self._plan.gather)
        return ready and now >= max(self._again_at, self._told_at + self._plan.every)

    def _tell(self, log: AlertLog, consumer: Consumer) -> None:
        self._looked_at = time.monotonic()
        firing, held = log.current(), log.held(self._group)
        seen = [alert for alert, offset in self._pending if not log.repeats(alert, offset)]
        seen += [written(alert) for alert in firing if alert["id"] in held and alert["id"] not in self._pending]
        told = [alert for alert in seen if self._is_told(alert, log, held)]
        if told or self._pending.more:
            try:
                self._target.send(Message(tuple(told), self._pending.more))
            except NotifyError as error:
                self._failed(str(error))
                return
            self._taken, self._failures, self._error = self._taken + 1, 0, None
            self._told_at = time.monotonic()
        silent = {alert["id"] for alert in seen if alert["state"] == "firing"} - {alert["id"] for alert in told}
        log.hold(self._group, silent - held)
        log.release(self._group, held & {alert["id"] for alert in seen} - silent)
        if self._pending:
            consumer.commit()
            self._pending.clear()

    @staticmethod
    def _is_told(alert: dict[str, Any], log: AlertLog, held: Set[str]) -> bool:
        """Whether people are told: not while it is silenced, and not that it resolved if they never heard of it."""
        unheard = alert["id"] in held and alert["state"] == "resolved"
        return log.silenced_until(alert) is None and not unheard

    def _failed(self, why: str) -> None:
        self._failures += 1
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(self._failures - 1, 20))
        self._error, self._again_at = why, time.monotonic() + pause
        logger.warning("%s; trying again in %.0f s", why, pause)
