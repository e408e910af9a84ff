"""Every aggregate, in updates and in final results, against plain Python."""

import math
import statistics
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import headrace as hr
from headrace.core.errors import ExpressionError, QueryFailedError
from headrace.testing import TestDriver
from tests.spark.times import iso

Rows = list[dict[str, Any]]
SENT: list[Rows] = [  # out of order, with nulls and duplicates; the times of one key are all different
    [
        {"k": "a", "x": 3.0, "n": 1, "s": "p", "m": {"q": 1}, "at": 5},
        {"k": "a", "x": 1.0, "n": 2, "s": "q", "m": None, "at": 2},
        {"k": "b", "x": 9.0, "n": 1, "s": "p", "m": {}, "at": 7},
        {"k": "a", "x": None, "n": 3, "s": None, "m": {"r": 2}, "at": 9},
    ],
    [
        {"k": "a", "x": 8.0, "n": 2, "s": "p", "m": None, "at": 1},
        {"k": "c", "x": None, "n": None, "s": None, "m": None, "at": 4},
        {"k": "a", "x": 3.0, "n": 2, "s": "q", "m": {"q": 3}, "at": 8},
        {"k": "b", "x": 2.0, "n": 5, "s": "r", "m": None, "at": 3},
    ],
]


def values(rows: Rows, name: str) -> list[Any]:
    """The values that are not null, in the order of time."""
    return [row[name] for row in sorted(rows, key=lambda row: row["at"]) if row[name] is not None]


def pick(rows: Rows, name: str, last: bool = False) -> Any:
    return (max if last else min)(rows, key=lambda row: row["at"])[name]


def percentile(given: list[float], share: float) -> float:
    ordered = sorted(given)
    place = share * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))


def or_none(function: Callable[..., Any], given: list[Any], least: int = 1) -> Any:
    return function(given) if len(given) >= least else None


def where(rows: Rows) -> Rows:
    return [row for row in rows if row["n"] is not None and row["n"] > 1]


def spread(given: list[float | None]) -> float:
    present = [value for value in given if value is not None]
    return max(present) - min(present) if present else -1.0


def shares(xs: list[float | None], ns: list[int | None]) -> str:
    return ",".join(f"{x}/{n}" for x, n in zip(xs, ns, strict=True))


REFERENCE: dict[str, tuple[Any, Callable[[Rows], Any]]] = {
    "count(*)": ("count(*)", len),
    "count": ("count(x)", lambda rows: len(values(rows, "x"))),
    "sum": ("sum(x)", lambda rows: or_none(sum, values(rows, "x"))),
    "min": ("min(x)", lambda rows: or_none(min, values(rows, "x"))),
    "max": ("max(x)", lambda rows: or_none(max, values(rows, "x"))),
    "avg": ("avg(x)", lambda rows: or_none(statistics.fmean, values(rows, "x"))),
    "variance": ("variance(x)", lambda rows: or_none(statistics.variance, values(rows, "x"), 2)),
    "stddev": ("stddev(x)", lambda rows: or_none(statistics.stdev, values(rows, "x"), 2)),
    "stddev_pop": ("stddev_pop(x)", lambda rows: or_none(statistics.pstdev, values(rows, "x"))),
    "percentile": ("percentile(x, 0.25)", lambda rows: or_none(lambda v: percentile(v, 0.25), values(rows, "x"))),
    "percentile_approx": ("percentile_approx(x, 0.5)", lambda rows: or_none(statistics.median_low, values(rows, "x"))),
    "median": ("median(x)", lambda rows: or_none(statistics.median, values(rows, "x"))),
    "approx_count_distinct": ("approx_count_distinct(s)", lambda rows: len(set(values(rows, "s")))),
    "distinct": ("count(distinct s)", lambda rows: len(set(values(rows, "s")))),
    "distinct_pairs": (
        "count(distinct s, n)",
        lambda rows: len({(r["s"], r["n"]) for r in rows if None not in (r["s"], r["n"])}),
    ),
    "distinct_where": ("count(distinct s) filter (where n > 1)", lambda rows: len(set(values(where(rows), "s")))),
    "first": ("first(x)", lambda rows: pick(rows, "x")),
    "last": ("last(x)", lambda rows: pick(rows, "x", last=True)),
    "first_present": ("first(s) ignore nulls", lambda rows: or_none(lambda v: v[0], values(rows, "s"))),
    "last_present": ("last(x, true)", lambda rows: or_none(lambda v: v[-1], values(rows, "x"))),
    "last_where": (
        "last(x) filter (where n > 1) ignore nulls",
        lambda rows: or_none(lambda v: v[-1], values(where(rows), "x")),
    ),
    "last_map": ("last(m)", lambda rows: pick(rows, "m", last=True)),
    "change": (
        "last(x, true) - first(x, true)",
        lambda rows: or_none(lambda v: v[-1] - v[0], values(rows, "x")),
    ),
    "list": ("collect_list(x)", lambda rows: values(rows, "x")),
    "list_where": ("collect_list(x) filter (where n > 1)", lambda rows: values(where(rows), "x")),
    "set": ("array_sort(collect_set(s))", lambda rows: sorted(set(values(rows, "s")))),
    "max_by": ("max_by(s, n)", lambda rows: or_none(lambda r: max(r, key=lambda x: x["n"])["s"], numbered(rows))),
    "top": ("top_n(x, x, 2)", lambda rows: top(rows)),  # noqa: PLW0108 - defined below
    "top_where": ("top_n(x, x, 2) filter (where x < 9)", lambda rows: top([r for r in rows if (r["x"] or 9) < 9])),
    "moving": ("moving_avg(x, 2)", lambda rows: or_none(lambda v: statistics.fmean(v[-2:]), values(rows, "x"))),
    "moving_where": (
        "moving_avg(x, 2) filter (where n > 1)",
        lambda rows: or_none(lambda v: statistics.fmean(v[-2:]), values(where(rows), "x")),
    ),
    "mode": (
        "mode(n, true)",
        lambda rows: or_none(lambda v: Counter(sorted(v)).most_common(1)[0][0], values(rows, "n")),
    ),
    "filtered": ("sum(x) filter (where n > 1)", lambda rows: or_none(sum, values(where(rows), "x"))),
    "mean": (
        "round(sum(x) / count(x), 3)",
        lambda rows: or_none(lambda v: round(statistics.fmean(v), 3), values(rows, "x")),
    ),
    "spread": (
        hr.aggregate(spread, "x", returns="double"),
        lambda rows: or_none(lambda v: max(v) - min(v), values(rows, "x")) if values(rows, "x") else -1.0,
    ),
    "shares": (
        hr.aggregate(shares, "x", "n + 1", returns="string"),
        lambda rows: ",".join(
            f"{r['x']}/{r['n'] + 1 if r['n'] else None}" for r in sorted(rows, key=lambda row: row["at"])
        ),
    ),
}


def numbered(rows: Rows) -> Rows:
    """Rows of which just one has the largest number."""
    most = max((r["n"] for r in rows if r["n"] is not None), default=None)
    return [r for r in rows if r["n"] == most and most is not None]


def top(rows: Rows) -> list[Any] | None:
    ordered = sorted((r["x"] for r in rows), key=lambda x: (x is not None, x), reverse=True)[:2]
    return ordered or None


def expected(rows: Rows) -> dict[str, Any]:
    return {name: reference(rows) for name, (_, reference) in REFERENCE.items()}


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not name.startswith("window_")}


def close(found: Any, wanted: Any) -> bool:
    return found == (pytest.approx(wanted) if isinstance(wanted, float) else wanted)


def test_every_aggregate_in_updates_and_final() -> None:
    app = hr.App("aggregates")
    events = app.stream(
        "events", schema="k string, x double, n int, s string, m map<string, int>, at timestamp", event_time="at"
    )
    given = {name: expression for name, (expression, _) in REFERENCE.items()}
    events.group_by("k").agg(**given).to("ever")
    events.group_by("k").window(hr.tumbling("1 minute")).agg(**given).to("updates")
    events.group_by("k").window(hr.tumbling("1 minute"), emit="final").agg(**given).to("final")
    with TestDriver(app) as t:
        seen: Rows = []
        for batch in SENT:
            t.send("events", [row | {"at": iso(row["at"])} for row in batch])
            seen += batch
            for topic in ("ever", "updates"):
                found = {row["k"]: plain(row) for row in t.read(topic)}
                assert found.keys() == {row["k"] for row in batch}  # groups that changed, and no others
                check(found, seen)
        assert t.read("final") == []
        t.advance_to(iso("2:00"))
        check({row["k"]: plain(row) for row in t.read("final")}, seen)
        assert t.read("ever") == t.read("updates") == []
        assert t.dead_letters() == t.late() == []


def check(found: dict[str, dict[str, Any]], seen: Rows) -> None:
    for key, row in found.items():
        wanted = {"k": key} | expected([r for r in seen if r["k"] == key])
        assert {n: (row[n], wanted[n]) for n in wanted if not close(row[n], wanted[n])} == {}, key


def test_without_keys_and_without_time() -> None:
    app = hr.App("all")
    events = app.stream("events", schema="x int")
    events.group_by().agg(n="count(*)", total="sum(x)", most=hr.aggregate(max, "x", returns="int")).to("all")
    with TestDriver(app) as t:
        t.send("events", b"junk")
        t.advance_to(iso(0))
        assert t.read("all") == []  # nothing changed, nothing is told
        t.send("events", [{"x": 2}, {"x": 1}])
        t.send("events", b"junk")
        assert t.read("all") == [{"n": 2, "total": 3, "most": 2}]
        t.send("events", {"x": 5})
        assert t.read("all") == [{"n": 3, "total": 8, "most": 5}]
        assert len(t.dead_letters()) == 2
    with pytest.raises(ExpressionError, match="follows the time of events"):
        events.group_by().agg(x="last(x)")
    with pytest.raises(ExpressionError, match="do not sum them"):
        events.group_by().agg(x="sum(distinct x)")


def test_an_aggregate_that_raises_stops_the_stage_and_is_named() -> None:
    def ratio(xs: list[int]) -> float:
        return 1 / sum(xs)

    app = hr.App("raising")
    app.stream("events", schema="x int").group_by().agg(r=hr.aggregate(ratio, "x", returns="double")).to("ratios")
    with TestDriver(app) as t, pytest.raises(QueryFailedError, match=r"ratio\(x\) raised ZeroDivisionError"):
        t.send("events", {"x": 0})
