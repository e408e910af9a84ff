"""Alerts: rows in, what fires and what resolves out.

Conditions come as boolean columns. Most rows tell nothing new, and never become objects of Python: only where a
condition changes, or a key is silent for too long, is the life of the alert looked at.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from headrace.operators.alert_messages import render
from headrace.operators.alert_rows import GROUP, ROW, Rows, matter, seen_by
from headrace.operators.alert_rules import FIRING, GRACE, HOLDING, QUIET, Life, News, Rule
from headrace.operators.operator import (
    DUE,
    HASH,
    KEY,
    ORDER,
    PLACE,
    Flags,
    Turn,
    readable,
)

_SAMPLE = pa.struct([("at", pa.int64()), ("value", pa.float64())])
_AT = pa.timestamp("us", "UTC")
_SAME_TIME = 1 << 15  # alerts of one millisecond that keep their order
_LONGEST = 500  # characters of a key that is told as it is, and of each of its values
_LARGEST = 64 * 1024  # characters of a row that is told with its alert
KEPT = pa.schema(
    [
        *PLACE,
        pa.field(DUE, pa.int64()),
        pa.field("__rule", pa.string()),
        pa.field("__made", pa.string()),
        pa.field("__state", pa.int8()),
        pa.field("__began", pa.int64()),
        pa.field("__place", pa.int64()),
        pa.field("__last", pa.int64()),
        pa.field(ROW, pa.string()),
        pa.field("__samples", pa.list_(_SAMPLE)),
    ]
)
OUT = pa.schema(
    [
        *((name, pa.string()) for name in ("id", "alert", "rule", "program", "key", "state", "severity", "message")),
        ("row", pa.string()),
        ("since", _AT),
        ("at", _AT),
        (ORDER, pa.int64()),
    ]
)
Lives = dict[tuple[str, str], tuple[int, Life]]  # by rule and key, each with the hash of the key


class Alerting:
    """The rules over the same rows.

    Rows have the columns `KEY` (the key's columns and values as a JSON object), `HASH`, `TIME`, `ORDER`, `GONE`,
    `GROUP`, `ROW`, and those that the rules name.

    Args:
        program: Whose rules they are.
        rules: The rules.
    """

    def __init__(self, program: str, rules: Sequence[Rule]) -> None:
        self._program, self._rules = program, tuple(rules)
        self._named = {rule.name: rule for rule in rules}
        self.kept, self.out = KEPT, OUT

    def turn(self, kept: pa.Table, rows: pa.Table, now: int) -> Turn:
        """Put the rows of a batch through the rules, then let time go on."""
        read = readable(rows)
        touched = pc.is_in(kept.column(KEY), value_set=pc.unique(read.column(KEY)))
        due = pc.fill_null(pc.less_equal(kept.column(DUE), now), False)
        mine = pc.or_(pc.or_(touched, due), self._others(kept))
        told: list[dict[str, Any]] = []
        lives = self._lives(kept.filter(mine), told, now)
        for group in sorted({rule.group for rule in self._rules}):
            rules = [rule for rule in self._rules if rule.group == group]
            ordered = Rows.of(read.filter(pc.equal(read.column(GROUP), group)), rules[0].by_log)
            for rule in rules if ordered.names else ():
                self._see(rule, ordered, lives, now)
        left = []
        for (name, key), (place, life) in lives.items():
            life.tick(now)
            told += (_told(self._program, name, life.rule, key, news) for news in life.news)
            if life.matters(now):
                left.append(_entry(key, place, life))
        told.sort(key=lambda one: one["at"])
        for number, one in enumerate(told):
            one[ORDER] = one["at"] // 1000 * _SAME_TIME + min(number, _SAME_TIME - 1)
        rest = self._worth(kept.filter(pc.invert(mine)), now)
        all_left = pa.concat_tables([rest, pa.Table.from_pylist(left, KEPT)])
        return Turn(all_left, pa.Table.from_pylist(told, OUT), rows.num_rows - read.num_rows)

    def _others(self, kept: pa.Table) -> pa.ChunkedArray:
        """Return what was kept by rules that are no more, or are others by now."""
        names, made = (pa.array([getattr(rule, of) for rule in self._rules], pa.string()) for of in ("name", "made"))
        same = (pc.is_in(kept.column(of), value_set=known) for of, known in (("__rule", names), ("__made", made)))
        return pc.invert(pc.and_(*same))

    def _lives(self, kept: pa.Table, told: list[dict[str, Any]], now: int) -> Lives:
        """Return what is known; what fires by a rule that is no more resolves."""
        found: Lives = {}
        for row in kept.to_pylist():
            rule = self._named.get(row["__rule"])
            if rule is None or tuple(orjson.loads(row[KEY])) != rule.per:
                if row["__state"] == FIRING:
                    gone = Rule(row["__rule"], message="the rule is no more")
                    began, place = row["__began"], row["__place"]
                    news = News("resolved", began, place, max(now, began), row[ROW], None)
                    told.append(_told(self._program, gone.name, gone, row[KEY], news))
                continue
            life = Life(rule, row["__state"], row["__began"], row["__place"], row["__last"], row[ROW])
            if row["__made"] == rule.made:
                life.samples = [(sample["at"], sample["value"]) for sample in row["__samples"]]
            elif life.state == HOLDING:
                life.state, life.row = QUIET, None
            found[row["__rule"], row[KEY]] = (row[HASH], life)
        return found

    def _see(self, rule: Rule, rows: Rows, lives: Lives, now: int) -> None:
        known = np.fromiter(((rule.name, name) in lives for name in rows.names), np.bool_, len(rows.names))
        chosen = np.flatnonzero(matter(rule, rows, known[rows.which]))
        if not rule.by_log:
            quiet = np.ones(len(rows.names), np.bool_)
            quiet[rows.which[chosen]] = False
            lives |= self._noted(rule, rows, quiet, now)
        for index, seen in zip(rows.which[chosen].tolist(), seen_by(rule, rows, chosen), strict=True):
            at = (rule.name, rows.names[index])
            if at not in lives:
                lives[at] = (rows.places[index], Life(rule))
            lives[at][1].see(seen)

    def _noted(self, rule: Rule, rows: Rows, quiet: Flags, now: int) -> Lives:
        """Remember the newest row of keys at which nothing happens: an older one may come, and must not count."""
        last = rows.at[np.append(np.flatnonzero(rows.first)[1:], len(rows.first)) - 1]
        found = np.flatnonzero(quiet & (last > now - GRACE)).tolist()
        return {(rule.name, rows.names[n]): (rows.places[n], Life(rule, last=int(last[n]))) for n in found}

    def _worth(self, kept: pa.Table, now: int) -> pa.Table:
        """Return what is still worth keeping of what was not looked at."""
        waits = pc.or_(pc.not_equal(kept.column("__state"), QUIET), pc.is_valid(kept.column(DUE)))
        sampled = pc.greater(pc.list_value_length(kept.column("__samples")), 0)
        recent = pc.greater(kept.column("__last"), now - GRACE)
        return kept.filter(pc.or_(pc.or_(waits, sampled), recent))


def _entry(key: str, place: int, life: Life) -> dict[str, Any]:
    return {
        KEY: key,
        HASH: place,
        DUE: life.due,
        "__rule": life.rule.name,
        "__made": life.rule.made,
        "__state": life.state,
        "__began": life.began,
        "__place": life.place,
        "__last": life.last,
        ROW: life.row,
        "__samples": [{"at": at, "value": value} for at, value in life.samples],
    }


def _told(program: str, name: str, rule: Rule, key: str, news: News) -> dict[str, Any]:
    alert = f"{program}/{name}{_label(key)}"
    known = hashlib.sha256(f"{program}\0{name}\0{key}\0{news.since}\0{news.place}".encode()).hexdigest()
    return {
        "id": known[:16],
        "alert": alert,
        "rule": name,
        "program": program,
        "key": _key(key),
        "state": news.state,
        "severity": rule.severity,
        "message": render(rule.message, news.told),
        "row": news.row if news.row and len(news.row) <= _LARGEST else None,
        "since": news.since * 1000,
        "at": news.at * 1000,
    }


def _label(key: str) -> str:
    """Return a key for the end of an alert's name: a single value as it is, several as JSON, a long one cut short."""
    values = list(orjson.loads(key).values())
    label = key if len(values) > 1 or values == [None] else "".join(values)
    if len(label) > _LONGEST:
        label = f"{label[:_LONGEST]}…{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    return f"/{label}" if values else ""


def _key(key: str) -> str:
    """Return the columns of a key and their values, none of which is longer than people can use."""
    if len(key) <= _LONGEST:
        return key
    cut = {name: value[:_LONGEST] if value else value for name, value in orjson.loads(key).items()}
    return orjson.dumps(cut).decode()
