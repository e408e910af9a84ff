"""What people say to alerts: that they have seen them, and that they want to hear no more of them for a while."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from headrace.core.errors import ConfigError
from headrace.core.quantities import parse_span

Alert = dict[str, Any]
_LONGEST_TEXT = 2000
_MOST_COLUMNS = 50
_SAID = ("acked_by", "ack_comment", "silenced_until")
_LONGEST = timedelta(days=366)
ANY = "*"


def ack_of(known: str, by: str, comment: str) -> Alert:
    """Return the acknowledgement of an alert."""
    said = {"by": checked(by, "by"), "comment": checked(comment, "comment", empty=True)}
    return {"kind": "ack", "id": known, **said, "at": _now().isoformat()}


def resolution_of(alert: Mapping[str, Any], by: str, comment: str) -> Alert:
    """Return what is written of an alert that somebody says is over."""
    said = {"resolved_by": checked(by, "by"), "resolve_comment": checked(comment, "comment", empty=True)}
    return {**written(alert), "state": "resolved", "at": _now().isoformat(), **said}


def written(alert: Mapping[str, Any]) -> Alert:
    """Return an alert as it lies in the topic, without what people have said to it."""
    return {name: value for name, value in alert.items() if name not in _SAID}


def silence_of(
    known: str, rule: str, key: Mapping[str, Any] | None, span: str | timedelta, *, by: str, comment: str
) -> Alert:
    """Return a silence, from now on."""
    length = parse_span(span)
    if not timedelta(0) < length <= _LONGEST:
        raise ConfigError(f"an alert can be silenced for up to {_LONGEST.days} days, not for {span!r}")
    now = _now()
    return {
        "kind": "silence",
        "id": known,
        "rule": checked(rule, "rule"),
        "key": _key(key),
        "since": now.isoformat(),
        "until": (now + length).isoformat(),
        "by": checked(by, "by"),
        "comment": checked(comment, "comment", empty=True),
    }


def holds(silence: Mapping[str, Any]) -> bool:
    """Whether a silence is not over."""
    return until(silence) > _now()


def until(silence: Mapping[str, Any]) -> datetime:
    """Return when a silence is over; one that cannot be read is."""
    try:
        found = datetime.fromisoformat(silence["until"])
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    except (KeyError, TypeError, ValueError):
        return datetime.min.replace(tzinfo=UTC)


def covers(silence: Mapping[str, Any], alert: Mapping[str, Any]) -> bool:
    """Whether a silence is about an alert: of its rule, and of the values of the columns that it names."""
    rule, key = silence.get("rule"), silence.get("key")
    if rule not in (ANY, alert.get("rule"), f"{alert.get('program')}/{alert.get('rule')}"):
        return False
    known = alert.get("key")
    values = known if isinstance(known, Mapping) else {}
    return not isinstance(key, Mapping) or all(name in values and values[name] == given for name, given in key.items())


def checked(text: object, noun: str, empty: bool = False) -> str:
    """Return a text if it is one, and not too long."""
    if not isinstance(text, str) or not (empty or text.strip()):
        raise ConfigError(f"{noun} must be text{'' if empty else ' that is not empty'}, not {text!r}")
    if len(text) > _LONGEST_TEXT:
        raise ConfigError(f"{noun} has {len(text)} characters; the most is {_LONGEST_TEXT}")
    return text


def _key(given: object) -> dict[str, str | None] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or not given or len(given) > _MOST_COLUMNS:
        raise ConfigError(f"key must name columns and their values, such as {{'shop': 'S01'}}, not {given!r}")
    texts = {checked(name, "key"): None if value is None else str(value) for name, value in given.items()}
    return {name: None if text is None else checked(text, name, empty=True) for name, text in texts.items()}


def _now() -> datetime:
    return datetime.now(UTC)
