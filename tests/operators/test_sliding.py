"""Sliding windows against their definition: look at every time of every key."""

from collections import defaultdict

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.operators.operator import HASH, KEY, TIME
from headrace.operators.sliding import END, START, Measure, Sliding
from tests.operators.shelf import Hosted

SIZE = 10
ROWS = pa.schema([(KEY, pa.string()), (HASH, pa.int64()), (TIME, pa.int64()), ("k", pa.string()), ("v", pa.int64())])
MEASURES = (
    Measure("n", "count", None, pa.int64()),
    Measure("some", "count", "v", pa.int64()),
    Measure("total", "sum", "v", pa.int64()),
    Measure("mean", "avg", "v", pa.float64()),
    Measure("low", "min", "v", pa.int64()),
    Measure("high", "max", "v", pa.int64()),
)
events = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(1, 60), st.none() | st.integers(-5, 5)), min_size=1, max_size=10
)
batches = st.lists(st.tuples(events, st.integers(0, 15)), max_size=6)


def row(k, t, v):
    return {KEY: k, TIME: t * 1000 + 3, "k": k, "v": v}


def windows(told):
    """Return the rows of every window of some events, by its key and bounds."""
    by_key = defaultdict(list)
    for k, t, v in told:
        by_key[k].append((t, v))
    found = {}
    for k, rows in by_key.items():
        for t in {t for t, _ in rows}:
            for start in (t - SIZE, t + 1):
                inside = [v for at, v in rows if start <= at <= start + SIZE]
                if inside:
                    found[k, start, start + SIZE] = inside
    return found


def measured(values):
    there = [v for v in values if v is not None]
    total = sum(there) if there else None
    mean = total / len(there) if there else None
    low, high = (min(there), max(there)) if there else (None, None)
    return {"n": len(values), "some": len(there), "total": total, "mean": mean, "low": low, "high": high}


def bounds(told):
    return told["k"], told[START] // 1000, told[END] // 1000


def run(given_batches, operator):
    """Return what came out, batch by batch, and the events that were not late."""
    host, now, counted, outs, late = Hosted(operator, ROWS), 0, [], [], 0
    for rows, step in given_batches:
        outs.append(host.send([row(*event) for event in rows], now))
        counted += [event for event in rows if event[1] > now]
        late += sum(event[1] <= now for event in rows)
        now += step
        outs.append(host.send([], now))
    assert host.late == late
    return host, outs, counted


@given(batches)
def test_the_last_update_of_every_window_is_its_result(given_batches):
    _, outs, counted = run(given_batches, Sliding(SIZE, ROWS, ("k",), MEASURES, final=False))
    last = {bounds(told): told for out in outs for told in out}
    expected = windows(counted)
    assert last.keys() == expected.keys()
    for window, values in expected.items():
        assert {name: last[window][name] for name in measured(values)} == measured(values)


@given(batches)
def test_every_window_is_told_once_when_it_has_closed(given_batches):
    host, outs, counted = run(given_batches, Sliding(SIZE, ROWS, ("k",), MEASURES, final=True))
    outs.append(host.send([], 1000))
    told = [(bounds(one), {name: one[name] for name in measured([1])}) for out in outs for one in out]
    assert dict(told) == {window: measured(values) for window, values in windows(counted).items()}
    assert len(told) == len(dict(told))
    host.send([], 2000)
    assert host.shelf.blobs == {}


@given(batches, st.booleans())
def test_rows_of_windows_are_given_out_for_others_to_aggregate(given_batches, final):
    host, outs, counted = run(given_batches, Sliding(SIZE, ROWS, ("k",), None, final))
    outs.append(host.send([], 1000))
    last = {}
    for out in outs:
        of_batch = defaultdict(list)
        for told in out:
            of_batch[bounds(told)].append(told["v"])
        last |= of_batch
    order = lambda values: sorted(values, key=lambda v: (v is None, v or 0))  # noqa: E731 - short
    assert {w: order(v) for w, v in last.items()} == {w: order(v) for w, v in windows(counted).items()}


@given(batches)
def test_a_batch_tells_only_windows_that_changed(given_batches):
    host, now, counted = Hosted(Sliding(SIZE, ROWS, ("k",), MEASURES, final=False), ROWS), 0, []
    for rows, step in given_batches:
        before = windows(counted)
        counted += [event for event in rows if event[1] > now]
        after = windows(counted)
        told = {bounds(one) for one in host.send([row(*event) for event in rows], now)}
        assert told == {window for window in after if len(before.get(window, ())) != len(after[window])}
        now += step


def test_nothing_is_kept_of_a_key_that_went_silent():
    host = Hosted(Sliding(SIZE, ROWS, ("k",), MEASURES, final=False), ROWS)
    host.send([row("a", 5, 1)], 0)
    assert host.shelf.blobs
    host.send([], 5 + SIZE + 2)
    assert host.shelf.blobs == {}


@pytest.mark.parametrize("fold", ["min", "max"])
def test_not_a_number_is_the_largest(fold):
    schema = ROWS.set(4, pa.field("v", pa.float64()))
    host = Hosted(Sliding(SIZE, schema, ("k",), (Measure("m", fold, "v", pa.float64()),), final=False), schema)
    (first, *_) = host.send([row("a", 5, float("nan")), row("a", 5, 1.0)])
    assert (first["m"] == 1.0) if fold == "min" else (first["m"] != first["m"])
