"""Events as the dashboard shows them, and looking for them."""

import re
from typing import Any

import orjson

from headrace.core.codec import decode_text, printable
from headrace.core.errors import ConfigError
from headrace.log.event import Event
from headrace.log.reader import Reader
from headrace.log.search import Found, Wanted, backward, forward, place
from headrace.web.asked import Asked
from headrace.web.site import Site

SHOWN = 16_384  # bytes of a value
_SHORT = 2_000  # characters of a key or a header
_PLACES = ("offset", "time", "from")
_MOST = 500  # events of one answer
_FLAT = 200  # lists and objects that can lie in each other
_INEXACT = re.compile(rb"[:\[,\s]-?\d{16}")  # numbers of so many digits are not what they were in a browser


def shown(event: Event, *, whole: bool = False) -> dict[str, Any]:
    """Return an event as JSON tells it: a JSON value as such, anything else as text."""
    value, key = event.raw_value, event.raw_key
    return {
        "partition": event.partition,
        "offset": event.offset,
        "time": event.timestamp,
        "event_time": event.event_time,
        "key": None if key is None else _text(key),
        **_value(value, whole),
        "tombstone": value is None,
        "headers": {printable(name)[:_SHORT]: _text(held or b"") for name, held in event.raw_headers},
        "size": len(value or b"") + len(key or b""),
    }


def events(site: Site, asked: Asked) -> dict[str, Any]:
    """Find events of a topic: the newest, those before, those from an offset or a time on."""
    topic, limit = asked.path["topic"], asked.limit(50, _MOST)
    whole = asked.flag("whole")
    if whole and limit != 1:
        raise ConfigError("whole=1 shows one event whole; give limit=1 too")
    key = asked.query.get("key") or None
    wanted = Wanted(limit, key, asked.query.get("contains") or None, asked.number("partition"))
    with site.log.reader() as reader:
        found = _found(reader, topic, wanted, asked, whole)
    from_a_place = any(asked.query.get(name) for name in _PLACES)
    return {
        "events": found.events,
        "more": found.newer if from_a_place else found.older,
        "before": found.before,
        "next": found.next,
    }


def _found(reader: Reader, topic: str, wanted: Wanted, asked: Asked, whole: bool) -> Found[dict[str, Any]]:
    def show(event: Event) -> dict[str, Any]:
        return shown(event, whole=whole)

    given = [name for name in (*_PLACES, "before") if asked.query.get(name)]
    if len(given) > 1:
        raise ConfigError(f"{' and '.join(given)} are two places to begin; give one")
    if (onward := asked.offsets("from")) is not None:
        return forward(reader, topic, wanted, show, onward)
    start = asked.moment("time") or asked.number("offset")
    if start is None:
        return backward(reader, topic, wanted, show, asked.offsets("before"))
    return forward(reader, topic, wanted, show, place(reader, topic, start))


def _value(value: bytes | None, whole: bool) -> dict[str, Any]:
    if value is None:
        return {"value": None}
    if len(value) > SHOWN and not whole:
        return {"text": _text(value[:SHOWN], SHOWN), "cut": True}
    if whole or _INEXACT.search(value):
        return {"text": _text(value, len(value))}
    try:
        parsed = orjson.loads(value)
        if value.count(b"[") + value.count(b"{") > _FLAT:
            orjson.dumps(parsed)  # what is nested too deeply can be read, but not written
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return {"text": _text(value, SHOWN)}
    return {"value": parsed}


def _text(data: bytes, most: int = _SHORT) -> str:
    return printable(decode_text(data[:most]))
