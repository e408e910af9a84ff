"""Alerts as the dashboard shows and settles them."""

from collections.abc import Callable
from typing import Any, TypeVar

from headrace.alerts import AlertLog
from headrace.core.errors import BrokerError, ConfigError, UnknownTopicError
from headrace.core.quantities import parse_span
from headrace.web.asked import Asked
from headrace.web.kept import Kept
from headrace.web.log import Log

Rows = list[dict[str, Any]]
Found = TypeVar("Found")
_BY = "dashboard"
_LONGEST = 500  # characters of a comment


class Alerts:
    """Keeps the log of alerts open, for one who asks at a time."""

    def __init__(self, log: Log) -> None:
        self._kept: Kept[AlertLog] = Kept(log.brokers, AlertLog)

    def current(self) -> Rows:
        """Return what fires now; nothing where there are no alerts yet."""
        return self.ask(lambda alerts: alerts.current())

    def ask(self, work: Callable[[AlertLog], Rows]) -> Rows:
        """Return what ``work`` finds, which is nothing where nobody has declared an alert yet."""
        with self._kept.alone():
            try:
                return work(self._kept.client())
            except UnknownTopicError:
                return []
            except Exception:
                self._kept.drop()
                raise

    def do(self, work: Callable[[AlertLog], Found]) -> Found:
        """Return what ``work`` does."""
        with self._kept.alone():
            try:
                return work(self._kept.client())
            except BrokerError:
                self._kept.drop()
                raise

    def close(self) -> None:
        """Let go of the connections; what is under way is not waited for long."""
        self._kept.close()


def acknowledge(alerts: Alerts, asked: Asked) -> dict[str, Any]:
    """Note that somebody looks after an alert."""
    alert, comment = asked.text("id"), _comment(asked)
    alerts.do(lambda log: log.ack(alert, _BY, comment))
    return {"acked": alert}


def resolve(alerts: Alerts, asked: Asked) -> dict[str, Any]:
    """Write that an alert is over which nobody looks after any more."""
    alert, comment = asked.text("id"), _comment(asked)
    alerts.do(lambda log: log.resolve(alert, _BY, comment))
    return {"resolved": alert}


def silence(alerts: Alerts, asked: Asked) -> dict[str, Any]:
    """Have nobody told of a rule, or of one of its keys, for a while."""
    rule, comment, key = asked.text("rule"), _comment(asked), asked.body.get("key")
    if key is not None and not isinstance(key, dict):
        raise ConfigError('"key" must be an object of the key\'s columns, or null for the whole rule')
    span = asked.text("span")
    parse_span(span)
    return {"silenced": alerts.do(lambda log: log.silence(rule, key=key, span=span, by=_BY, comment=comment))}


def unsilence(alerts: Alerts, asked: Asked) -> dict[str, Any]:
    """End a silence."""
    silenced = asked.text("id")
    alerts.do(lambda log: log.unsilence(silenced))
    return {"unsilenced": silenced}


def _comment(asked: Asked) -> str:
    comment = asked.text("comment", "")
    if len(comment) > _LONGEST:
        raise ConfigError(f"a comment may have {_LONGEST} characters, not {len(comment):,}")
    return comment
