"""Sessions against the obvious way: sort all events of a key and cut where the gap is larger."""

from collections import defaultdict

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headrace.operators.operator import HASH, KEY, TIME
from headrace.operators.sessions import Sessions
from headrace.operators.sliding import END, START
from tests.operators.shelf import Hosted

GAP = 10_000
ROWS = pa.schema([(KEY, pa.string()), (HASH, pa.int64()), (TIME, pa.int64()), ("k", pa.string()), ("v", pa.int64())])
events = st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 200), st.integers(0, 9)), min_size=1, max_size=8)


def row(k, t, v):
    return {KEY: k, TIME: t * 1000, "k": k, "v": v}


def hosted():
    return Hosted(Sessions(GAP, ROWS, ("k",)), ROWS)


def sessions(told):
    """Return the sorted rows of every session, by its key and bounds."""
    groups = []
    for k, t, v in sorted(told):
        if groups and groups[-1][-1][0] == k and t * 1000 <= groups[-1][-1][1] * 1000 + GAP:
            groups[-1].append((k, t, v))
        else:
            groups.append([(k, t, v)])
    return {(g[0][0], g[0][1] * 1000, g[-1][1] * 1000 + GAP): sorted((t, v) for _, t, v in g) for g in groups}


def follow(known, out):
    """Apply what a batch told to what is known."""
    told = defaultdict(list)
    for one in out:
        told[one["k"], one[START], one[END]].append(one)
    for session, rows in told.items():
        if rows[0][TIME] is None:
            assert len(rows) == 1
            del known[session]  # it was told before
    for session, rows in told.items():
        if rows[0][TIME] is not None:
            known[session] = sorted((one[TIME] // 1000, one["v"]) for one in rows)


@given(st.lists(events, max_size=6))
def test_whoever_follows_the_changes_has_the_sessions(batches):
    host, known, all_events = hosted(), {}, []
    for batch in batches:
        follow(known, host.send([row(*event) for event in batch]))
        all_events += batch
        assert known == sessions(all_events)


@given(events, events)
def test_only_sessions_with_new_events_are_told(before, new):
    host = hosted()
    host.send([row(*event) for event in before])
    told = {(one["k"], one[START], one[END]) for one in host.send([row(*event) for event in new]) if one[TIME]}
    keys = {(k, t * 1000) for k, t, _ in new}
    after = sessions(before + new)
    assert told == {s for s in after if any(k == s[0] and s[1] <= t < s[2] for k, t in keys)}


def test_an_event_at_the_very_end_of_a_session_joins_it_and_one_later_does_not():
    for t, expected in ((11, [(1000, 21_000)]), (12, [(12_000, 22_000)])):
        host = hosted()
        host.send([row("a", 1, 0)])
        assert {(o[START], o[END]) for o in host.send([row("a", t, 1)]) if o[TIME]} == set(expected)


def test_closed_sessions_are_forgotten_and_events_for_them_are_late():
    host = hosted()
    host.send([row("a", 1, 0)])
    assert host.send([], 11) == []
    assert host.shelf.blobs == {}
    assert host.send([row("a", 1, 1)], 11) == []
    assert host.late == 1
    assert len(host.send([row("a", 2, 1)], 11)) == 1
