"""Tables: browsed, looked up by key, queried with SQL that can only read."""

import base64
import binascii
import time
from collections.abc import Mapping
from typing import Any

import orjson
from starlette.exceptions import HTTPException

from headrace.core.errors import ConfigError, UnknownTopicError, ViewError
from headrace.log.names import check_topic_name
from headrace.serve.view import View
from headrace.web.asked import Asked
from headrace.web.site import Site
from headrace.web.views import catch_up

_MOST = 1000  # rows of one answer
_SECONDS = 10.0  # that a query may take
_EXACT = 2**53  # whole numbers beyond it are not what they were in a browser
_TEXT, _BYTES = "=", "~"  # how the place after a key is told: keys need not be text


def tables(site: Site, asked: Asked) -> list[dict[str, Any]]:
    """List the tables, with the rows and the lag of those that are stored here."""
    found = []
    for topic in site.watch.found().tables:
        rows, lag = site.views.stored(topic) or (None, None)
        found.append({"name": topic.name, "rows": rows, "lag": lag, "partitions": len(topic.partitions)})
    return found


def rows(site: Site, asked: Asked) -> dict[str, Any]:
    """Show rows in the order of their keys, from the first on or after a place."""
    limit, after = asked.limit(100, _MOST), _after(asked.query.get("after", ""))
    with site.views.use(_table(site, asked)) as view:
        complete = catch_up(view)
        found = view.page(after, limit=limit + 1)
        columns = _columns(view, [row for _, row in found[:limit]])
    more = len(found) > limit
    return {
        "columns": columns,
        "rows": [[cell(row.get(name)) for name in columns] for _, row in found[:limit]],
        "keys": [key if isinstance(key, str) else base64.b64encode(key).decode() for key, _ in found[:limit]],
        "more": more,
        "after": _place(found[limit - 1][0]) if more else None,
        "complete": complete,
    }


def row(site: Site, asked: Asked) -> dict[str, Any]:
    """Show the row of a key: as it lies in the topic, or, where it has columns, as JSON of these."""
    key = asked.query.get("key")
    if not key:
        raise ConfigError("say which row: key=…")
    with site.views.use(_table(site, asked)) as view:
        complete = catch_up(view)
        found = view.get(key)
        if found is None and key.startswith("{"):
            found = _by_columns(view, key)
    if found is None:
        raise HTTPException(404, f"there is no row with the key {key[:200]!r} in {asked.path['table']!r}")
    return {"key": key, "row": {name: cell(value) for name, value in found.items()}, "complete": complete}


def query(site: Site, asked: Asked) -> dict[str, Any]:
    """Show what SQL selects; it can only read, and takes neither too long nor too much."""
    sql, limit = asked.text("sql"), asked.body.get("limit", 100)
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= _MOST:
        raise ConfigError(f'"limit" must be a number from 1 to {_MOST}')
    with site.views.use(_table(site, asked)) as view:
        complete = catch_up(view)
        begun = time.monotonic()
        found = view.query(sql, limit=limit + 1, timeout=_SECONDS)
    return {
        "columns": list(found[0]) if found else [],
        "rows": [[cell(value) for value in row.values()] for row in found[:limit]],
        "more": len(found) > limit,
        "seconds": round(time.monotonic() - begun, 4),
        "complete": complete,
    }


def cell(value: Any) -> Any:
    """Return a value that a browser reads as it is: large numbers become text."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _EXACT:
        return str(value)
    if isinstance(value, Mapping):
        return {name: cell(one) for name, one in value.items()}
    return [cell(one) for one in value] if isinstance(value, list) else value


def _table(site: Site, asked: Asked) -> str:
    """Return the topic, if it is a table: of others nothing is stored."""
    name = check_topic_name(asked.path["table"])
    state = site.watch.found(5.0)
    if name not in state.compacted:
        state = site.watch.found(0.0)
    if name not in {topic.name for topic in state.topics}:
        raise UnknownTopicError(f"there is no table {name!r}; see what there is with 'headrace table list'")
    if name not in state.compacted:
        raise ViewError(f"{name!r} is no table: a table is a compacted topic")
    return name


def _columns(view: View, rows: list[dict[str, Any]]) -> list[str]:
    present = {name for row in rows for name in row}
    known = [name for name in view.columns if not rows or name in present]
    return known + sorted(present - set(known))


def _by_columns(view: View, key: str) -> dict[str, Any] | None:
    try:
        return view.get(orjson.loads(key))
    except orjson.JSONDecodeError:
        return None


def _place(key: str | bytes) -> str:
    return _TEXT + key if isinstance(key, str) else _BYTES + base64.urlsafe_b64encode(key).decode()


def _after(place: str) -> str | bytes | None:
    if not place:
        return None
    kind, rest = place[0], place[1:]
    try:
        if kind == _TEXT:
            return rest
        if kind == _BYTES:
            return base64.b64decode(rest, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        pass
    raise ConfigError(f"{place[:50]!r} is no place in a table; give what the page before had as 'after'")
