"""The rows that rules look at: those that may change anything."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headrace.operators.alert_rules import Rule, Seen
from headrace.operators.operator import (
    GONE,
    HASH,
    KEY,
    ORDER,
    TIME,
    Flags,
    Numbers,
    codes,
    milliseconds,
    numbers,
    objects,
    starts,
)

GROUP = "__group"  # by which of its keys the row is here
ROW = "__row"  # the row as JSON
_LATEST = 1 << 47  # milliseconds: the year 6429, beyond which times are wrong, and would not fit when spans are added


@dataclass(frozen=True)
class Rows:
    """Rows by key, and those of a key in their order.

    Attributes:
        table: The rows.
        at: Their times in milliseconds, which do not go back within a key.
        first: Which are the first of their key.
        which: To which key each belongs, as a number.
        names: The keys by their numbers.
        places: Their hashes.
    """

    table: pa.Table
    at: Numbers
    first: Flags
    which: Numbers
    names: list[str]
    places: list[int]

    @staticmethod
    def of(rows: pa.Table, by_log: bool) -> "Rows":
        """Sort rows: by their place in the log, or by their time."""
        order, at, code = numbers(rows, ORDER), numbers(rows, TIME), codes(rows.column(KEY))
        sorting = np.lexsort((at, order, code) if by_log else (order, at, code))
        table, first = rows.take(pa.array(sorting)), starts(code[sorting])
        keys = table.select([KEY, HASH]).filter(pa.array(first))
        which = np.cumsum(first) - 1
        when = np.minimum(milliseconds(table), _LATEST)
        columns = (column.to_pylist() for column in keys.columns)
        return Rows(table, _rising(when, which) if by_log else when, first, which, *columns)


def _rising(at: Numbers, which: Numbers) -> Numbers:
    """Return times that do not go back within a key: what was written later is later."""
    times, ranks = np.unique(at, return_inverse=True)
    apart = which * len(times)
    risen: Numbers = times[np.maximum.accumulate(ranks + apart) - apart]
    return risen


def matter(rule: Rule, rows: Rows, known: Flags) -> Flags:
    """Return which rows may change anything: the first and the last of each run of rows that say the same."""
    table, first = rows.table, rows.first.copy()
    if rule.change is not None:
        return np.ones(len(first), np.bool_)
    gone = _flags(table, GONE)
    if rule.absent is not None:
        first[1:] |= (np.diff(rows.at) > rule.absent) | gone[1:] | gone[:-1]
        return first | _before(first)
    assert rule.when is not None
    holds = _flags(table, rule.when)
    says = holds * 1 + gone * 2 + (_flags(table, rule.until) * 4 if rule.until else 0)
    first[1:] |= np.diff(says) != 0
    chosen = first | _before(first) | (holds & (rule.lasting > 0))  # while it lasts, the newest row is to be told
    anything = np.zeros(len(rows.names), np.bool_)
    anything[rows.which[holds]] = True
    found: Flags = chosen & (known | anything[rows.which])
    return found


def _before(first: Flags) -> Flags:
    """Return the rows after which another run begins."""
    return np.append(first[1:], True)


def seen_by(rule: Rule, rows: Rows, chosen: Numbers) -> Iterator[Seen]:
    """Yield rows as a rule sees them."""
    table = rows.table.take(pa.array(chosen))
    holds = _flags(table, rule.when) if rule.when else np.zeros(len(chosen), np.bool_)
    ends = _flags(table, rule.until) & ~holds if rule.until else ~holds
    values = objects(table.column(rule.change.value)) if rule.change else [None] * len(chosen)
    before = np.where(rows.first, -1, np.append(-1, rows.at[:-1]))[chosen]
    places, texts = numbers(table, ORDER).tolist(), objects(table.column(ROW))
    columns = (rows.at[chosen].tolist(), places, texts, holds.tolist(), ends.tolist())
    return (Seen(*one) for one in zip(*columns, _flags(table, GONE).tolist(), values, before.tolist(), strict=True))


def _flags(table: pa.Table, name: str) -> Flags:
    found: Flags = table.column(name).to_numpy()
    return found
