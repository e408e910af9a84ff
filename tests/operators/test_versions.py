"""As-of look-ups against the obvious way: go through all versions of the key."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.operators.operator import HASH, KEY, SIDE, TIME
from headrace.operators.versions import GONE, ORDER, STREAM, TABLE, AsOf
from tests.operators.shelf import Hosted

ROWS = pa.schema(
    [
        (KEY, pa.string()),
        (HASH, pa.int64()),
        (SIDE, pa.int32()),
        (TIME, pa.int64()),
        (ORDER, pa.int64()),
        (GONE, pa.bool_()),
        ("id", pa.int64()),
        ("city", pa.string()),
    ]
)
HISTORY = 50
changes = st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 60), st.none() | st.sampled_from("xyz")), max_size=6)
asked = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 60)), max_size=6)
batches = st.lists(st.tuples(changes, asked), max_size=5)


def version(key, t, city, order=0):
    return {KEY: key, SIDE: TABLE, TIME: t * 1000, ORDER: order, GONE: city is None, "city": city}


def event(key, t, id=0):
    return {KEY: key, SIDE: STREAM, TIME: t * 1000, ORDER: 0, GONE: False, "id": id}


def hosted(how="left", history=HISTORY, waits=False):
    return Hosted(AsOf(ROWS, ("id",), ("city",), how=how, history=history, waits=waits), ROWS)


def held(versions, key, t):
    """Return what held at a time: the last written of the newest that are not newer."""
    known = [(at, order, city) for k, at, city, order in versions if k == key and at <= t]
    return max(known)[2] if known else None


@given(batches, st.sampled_from(["inner", "left"]))
def test_every_event_gets_the_version_that_held_at_its_time(given_batches, how):
    host, versions, number = hosted(how), [], 0
    for new, events in given_batches:
        rows = []
        for key, t, city in new:
            number += 1
            versions.append((key, t, city, number))
            rows.append(version(key, t, city, number))
        out = host.send([*(event(k, t, n) for n, (k, t) in enumerate(events)), *rows])
        expected = [(n, held(versions, k, t)) for n, (k, t) in enumerate(events)]
        assert sorted((row["id"], row["city"]) for row in out) == [
            pair for pair in expected if how == "left" or pair[1] is not None
        ]


@given(batches)
def test_latest_is_the_last_written_whatever_its_time(given_batches):
    host, latest, number = hosted(history=None), {}, 0
    for new, events in given_batches:
        rows = []
        for key, t, city in new:
            number += 1
            latest[key] = city
            rows.append(version(key, t, city, number))
        out = host.send([*rows, *(event(k, t, n) for n, (k, t) in enumerate(events))])
        assert sorted((row["id"], row["city"]) for row in out) == [
            (n, latest.get(k)) for n, (k, _) in enumerate(events)
        ]


@given(batches)
def test_events_that_wait_see_versions_that_come_after_them(given_batches):
    host, versions, events, number, out = hosted(waits=True), [], [], 0, []
    for new, asked_now in given_batches:
        rows = []
        for key, t, city in new:
            number += 1
            versions.append((key, t, city, number))
            rows.append(version(key, t, city, number))
        rows += [event(k, t, len(events) + n) for n, (k, t) in enumerate(asked_now)]
        events += asked_now
        out += host.send(rows, 0)
        assert out == []
    out = host.send([], 100)
    assert sorted((row["id"], row["city"]) for row in out) == [
        (n, held(versions, k, t)) for n, (k, t) in enumerate(events)
    ]


def test_versions_replaced_longer_ago_than_their_history_are_forgotten():
    host = hosted()
    host.send([version("a", 10, "x", 1), version("a", 20, "y", 2)], 0)
    assert [row["city"] for row in host.send([event("a", 15)], 20 + HISTORY - 1)] == ["x"]
    assert [row["city"] for row in host.send([event("a", 15)], 20 + HISTORY)] == ["x"]  # forgotten after this turn
    assert [row["city"] for row in host.send([event("a", 15), event("a", 99)], 20 + HISTORY)] == [None, "y"]


def test_a_key_that_was_deleted_long_ago_is_forgotten():
    host = hosted()
    host.send([version("a", 10, "x", 1), version("a", 20, None, 2)], 0)
    assert [row["city"] for row in host.send([event("a", 15), event("a", 25)], 30)] == ["x", None]
    host.send([event("a", 15)], 20 + HISTORY)
    assert host.shelf.blobs == {}


@pytest.mark.parametrize("history", [HISTORY, None])
def test_a_row_that_could_not_be_read_is_counted_and_left_away(history):
    host = hosted(history=history)
    assert host.send([{**event("a", 1), TIME: -2_208_988_800_000_000}, {**version("a", 1, "x"), TIME: -1}]) == []
    assert (host.late, host.shelf.blobs) == (2, {})


def test_rows_that_only_look_things_up_write_nothing():
    host = hosted()
    host.send([version(f"k{n}", 1, "x" * 500) for n in range(500)])
    writes = host.shelf.writes
    assert len(host.shelf.blobs) > 5
    host.send([event(f"k{n}", 2) for n in range(500)])
    assert host.shelf.writes == writes
