"""What people are told: some alerts together, the worst first, never longer than can be read."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

SEVERITIES = ("critical", "warning", "info")  # the worst first
_LINES = 30  # alerts that a message tells one by one
_ITEMS = 100  # and a webhook
_LARGE = 4096  # bytes of a field beyond which it is left out
_NAMES = 5  # rules that a title names


@dataclass(frozen=True)
class Message:
    """A notification.

    Attributes:
        alerts: What fired or resolved; those that did both are there once, as resolved.
        more: How many there are beyond these.
        test: Whether it is only to see that it arrives.
    """

    alerts: tuple[Mapping[str, Any], ...]
    more: int = 0
    test: bool = False

    @property
    def delivery(self) -> str:
        """Return a text that is the same when the same is sent again."""
        told = sorted((alert["id"], alert["state"]) for alert in self.alerts)
        return hashlib.sha256(orjson.dumps([told, self.more])).hexdigest()[:32]

    @property
    def severity(self) -> str:
        """Return the worst severity of what fires; info if nothing does."""
        firing = {alert["severity"] for alert in self.alerts if alert["state"] == "firing"}
        return next((severity for severity in SEVERITIES if severity in firing), "info")

    @property
    def title(self) -> str:
        """Return it in one line."""
        if self.test:
            return "Headrace: a test notification"
        counts = Counter(alert["state"] for alert in self.alerts)
        told = [f"{counts[state]} {state}" for state in ("firing", "resolved") if counts[state]]
        told += [f"{self.more} more"] if self.more else []
        rules = list(dict.fromkeys(alert["rule"] for alert in self._sorted()))
        names = ", ".join(rules[:_NAMES]) + (", …" if len(rules) > _NAMES else "")
        return plain(f"Headrace: {', '.join(told)}: {names}")

    @property
    def body(self) -> str:
        """Return it in as many lines as it takes."""
        if self.test:
            return "This is how alerts will reach you. Nothing is wrong."
        shown = self._sorted()
        lines = [_line(alert) for alert in shown[:_LINES]]
        left = len(shown) - len(lines) + self.more
        return "\n".join([*lines, f"and {left} more; 'headrace alert list' shows them all"] if left else lines)

    def payload(self) -> dict[str, Any]:
        """Return it for programs."""
        shown = self._sorted()
        counts = Counter(alert["state"] for alert in shown)
        return {
            "title": self.title,
            "test": self.test,
            "severity": self.severity,
            "firing": counts["firing"],
            "resolved": counts["resolved"],
            "alerts": [_item(alert) for alert in shown[:_ITEMS]],
            "more": self.more + max(0, len(shown) - _ITEMS),
            "sent": datetime.now(UTC).isoformat(),
        }

    def _sorted(self) -> Sequence[Mapping[str, Any]]:
        return sorted(self.alerts, key=lambda alert: (alert["state"] != "firing", rank(alert["severity"]), alert["at"]))


def plain(text: str) -> str:
    """Return text in one line, without what terminals and headers take for orders."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def rank(severity: str) -> int:
    """Return the place of a severity among all, the worst first; one that nobody knows is the last."""
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)


def _line(alert: Mapping[str, Any]) -> str:
    what = alert["severity"].upper() if alert["state"] == "firing" else "resolved"
    return plain(f"[{what}] {alert['message']} ({alert['alert']}, since {_time(alert['since'])})"[:1000])


def _time(told: str) -> str:
    try:
        return datetime.fromisoformat(told).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except ValueError:
        return told


def _item(alert: Mapping[str, Any]) -> dict[str, Any]:
    """Return an alert for programs: as it lies in the topic, without what is too large for a message."""
    return {name: value for name, value in alert.items() if len(orjson.dumps(value, default=str)) <= _LARGE}
