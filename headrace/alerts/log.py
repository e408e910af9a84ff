"""Alerts as they are now and were before, with what people said to them."""

import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Self

from headrace.alerts import control
from headrace.alerts.control import Alert
from headrace.alerts.following import Following
from headrace.alerts.message import rank
from headrace.alerts.topics import ALERTS, control_topic, create_control
from headrace.core.errors import ConfigError, DecodeError, UnknownAlertError
from headrace.log.connection import connect
from headrace.log.event import Event
from headrace.log.names import check_topic_name
from headrace.log.producer import Producer
from headrace.log.topics import Topics

_REMEMBERED = 10_000  # events of the history that can be asked for
_SHORTEST = 4  # characters of an id that may stand for all of it


class AlertLog:
    """The alerts of all programs of a cluster, read up to now by every call; several threads may share it.

    Args:
        brokers: ``host:port,…``; what is configured, or the managed broker, unless given.
        topic: Where the alerts are.

    Example:
        >>> with AlertLog() as log:  # doctest: +SKIP
        ...     for alert in log.current():
        ...         print(alert["severity"], alert["message"])
    """

    def __init__(self, brokers: str | None = None, topic: str = ALERTS) -> None:
        self.topic = check_topic_name(topic)
        client = connect(brokers)
        self._brokers = str(client["bootstrap.servers"])
        self._events = Following(client, topic)
        self._control = Following(client, control_topic(topic))
        self._begun = (0, 0)
        self._producer: Producer | None = None
        self._lock = threading.RLock()
        self._firing: dict[str, Alert] = {}  # by name
        self._history: OrderedDict[tuple[str, str], Alert] = OrderedDict()
        self._first: dict[tuple[str, str], int] = {}  # where each lies that is in the history
        self._acks: dict[str, Alert] = {}
        self._silences: dict[str, Alert] = {}
        self._held: dict[str, Alert] = {}

    def current(self) -> list[Alert]:
        """Return what fires now, the worst first, each with ``acked_by``, ``ack_comment`` and ``silenced_until``."""
        with self._lock:
            self._read()
            firing = [self._seen(alert) for alert in self._firing.values()]
        return sorted(firing, key=_badness)

    def history(self, limit: int = 200) -> list[Alert]:
        """Return what fired and resolved, the newest first."""
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise ConfigError(f"limit must be a whole number above 0, not {limit!r}")
        with self._lock:
            self._read()
            return [dict(alert) for alert, _ in zip(reversed(self._history.values()), range(limit), strict=False)]

    def silences(self) -> list[Alert]:
        """Return the silences that hold now, those that end first before others."""
        with self._lock:
            self._read()
            return sorted(filter(control.holds, self._silences.values()), key=control.until)

    def ack(self, id: str, by: str, comment: str = "") -> Alert:
        """Note that somebody has seen an alert that fires, and return it.

        Args:
            id: Of the alert, or its beginning where no other begins so.
            by: Who.
            comment: What there is to say.

        Raises:
            UnknownAlertError: No such alert fires.
        """
        with self._lock:
            alert = self._fires(id)
            self._say({f"ack/{alert['id']}": control.ack_of(alert["id"], by, comment)})
            return alert

    def resolve(self, id: str, by: str, comment: str = "") -> Alert:
        """Write that an alert is over, which nothing else will: its rule or its program is gone. Return what it was.

        An alert whose rule still looks after it fires again only after the rule itself has seen it resolve.

        Args:
            id: Of the alert, or its beginning where no other begins so.
            by: Who.
            comment: What there is to say.

        Raises:
            UnknownAlertError: No such alert fires.
        """
        with self._lock:
            alert = self._fires(id)
            self._write(self.topic, {alert["alert"]: control.resolution_of(alert, by, comment)})
            return alert

    def silence(
        self, rule: str, *, key: Mapping[str, Any] | None = None, span: str | timedelta, by: str, comment: str = ""
    ) -> str:
        """Have nobody told of a rule's alerts for a while; return the id of the silence.

        Args:
            rule: Its name, ``program/rule``, or ``*`` for every rule.
            key: Only for alerts whose key has these values.
            span: For how long.
            by: Who wants it.
            comment: Why.
        """
        known = uuid.uuid4().hex[:12]
        with self._lock:
            self._say({f"silence/{known}": control.silence_of(known, rule, key, span, by=by, comment=comment)})
        return known

    def unsilence(self, id: str) -> None:
        """End a silence.

        Raises:
            UnknownAlertError: There is none.
        """
        with self._lock:
            if control.checked(id, "id") not in [silence["id"] for silence in self.silences()]:
                raise UnknownAlertError(f"there is no silence {id[:100]!r}; 'headrace alert silences' shows them")
            self._say({f"silence/{id}": None})

    def silenced_until(self, alert: Alert) -> str | None:
        """Return until when nobody is to be told of an alert, as far as is known from the last call."""
        found = [silence for silence in self._silences.values() if control.covers(silence, alert)]
        last = max(filter(control.holds, found), key=control.until, default=None)
        return None if last is None else str(last["until"])

    def held(self, group: str) -> set[str]:
        """Return the ids of alerts of which a group was not told because of a silence, as known from the last call."""
        return {known.removeprefix(f"{group}/") for known in self._held if known.startswith(f"{group}/")}

    def hold(self, group: str, ids: Iterable[str]) -> None:
        """Note that a group is to be told of alerts once they are silenced no more, whoever runs then."""
        names = [f"{group}/{known}" for known in ids]
        with self._lock:
            self._say({f"held/{name}": {"kind": "held", "id": name} for name in names})

    def release(self, group: str, ids: Iterable[str]) -> None:
        """Note that a group knows of alerts, or need not know of them any more."""
        with self._lock:
            self._say({f"held/{group}/{known}": None for known in ids})

    def repeats(self, alert: Alert, offset: int) -> bool:
        """Whether the same was told before, as far as is known from the last call."""
        return self._first.get((alert["id"], alert["state"]), offset) < offset

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            for following in (self._events, self._control):
                following.close()
            if self._producer is not None:
                self._producer.close()
                self._producer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        said = list(self._control.news())  # first: what is said of alerts that nobody has read would be forgotten
        events = list(self._events.news())
        begun, self._begun = self._begun, (self._events.anew, self._control.anew)
        if begun[0] != self._begun[0]:
            self._firing, self._history, self._first = {}, OrderedDict(), {}
        if begun[1] != self._begun[1]:
            self._acks, self._silences, self._held = {}, {}, {}
        for event in events:
            self._note(event)
        for event in said:
            self._hear(event)
        firing = {alert["id"] for alert in self._firing.values()}
        self._acks = {known: ack for known, ack in self._acks.items() if known in firing}

    def _note(self, event: Event) -> None:
        alert = alert_of(event)
        if alert is None:
            return
        if alert["state"] == "firing":
            self._firing[alert["alert"]] = alert
        else:
            self._firing.pop(alert["alert"], None)
        known = (alert["id"], alert["state"])
        self._history.setdefault(known, alert)  # a repeat is known as one
        self._first.setdefault(known, event.offset)
        if len(self._history) > _REMEMBERED:
            del self._first[self._history.popitem(last=False)[0]]

    def _hear(self, event: Event) -> None:
        kind, _, known = (event.key or "").partition("/")
        kept = {"ack": self._acks, "silence": self._silences, "held": self._held}.get(kind)
        if kept is None:
            return
        said = _value(event)
        if said is None:
            kept.pop(known, None)
        elif said.get("id") == known:
            kept[known] = said

    def _seen(self, alert: Alert) -> Alert:
        ack = self._acks.get(alert["id"], {})
        told = {"acked_by": ack.get("by"), "ack_comment": ack.get("comment")}
        return {**alert, **told, "silenced_until": self.silenced_until(alert)}

    def _fires(self, id: str) -> Alert:
        """Return the alert that fires and has an id, or the only one whose id begins so."""
        control.checked(id, "id")
        short = len(id) >= _SHORTEST
        found = [alert for alert in self.current() if alert["id"] == id or (short and alert["id"].startswith(id))]
        if len(found) != 1:
            many = f"{len(found)} alerts fire whose id begins with {id!r}; give more of it"
            raise UnknownAlertError(
                many if found else f"no alert {id[:100]!r} fires now; 'headrace alert list' shows those that do"
            )
        return found[0]

    def _say(self, said: Mapping[str, Alert | None]) -> None:
        self._write(control_topic(self.topic), said)

    def _write(self, topic: str, values: Mapping[str, Alert | None]) -> None:
        if not values:
            return
        if self._producer is None:
            with Topics(self._brokers) as topics:
                create_control(topics, self.topic)
            self._producer = Producer(self._brokers)
        for key, value in values.items():
            self._producer.send(topic, value, key=key)
        self._producer.flush()


def alert_of(event: Event) -> Alert | None:
    """Return the alert that an event tells of; None for what somebody else wrote there."""
    value = _value(event)
    if value is None or value.get("state") not in ("firing", "resolved"):
        return None
    texts = ("id", "alert", "rule", "program", "severity", "message", "since", "at")
    if not all(isinstance(value.get(name), str) for name in texts) or not isinstance(value.get("key"), dict):
        return None
    return value


def _value(event: Event) -> Alert | None:
    try:
        return event.value if isinstance(event.value, dict) else None
    except DecodeError:
        return None


def _badness(alert: Alert) -> tuple[Any, ...]:
    silenced, acked = alert["silenced_until"] is not None, alert["acked_by"] is not None
    return silenced, rank(alert["severity"]), acked, alert["since"], alert["id"]
