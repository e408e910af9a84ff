"""Sessions against the obvious way: sort all events of a key and cut where the gap is larger."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.operators.sessions import Session, add, still_open
from headrace.spark.sessions import decode_page, encode_page

GAP = 10
events = st.lists(st.tuples(st.integers(-50, 200), st.text(max_size=2)), max_size=12)


def reference(all_events):
    groups = []
    for event in sorted(all_events):
        if groups and event[0] <= groups[-1][-1][0] + GAP:
            groups[-1].append(event)
        else:
            groups.append([event])
    return [Session(group[0][0], group[-1][0] + GAP, tuple(group)) for group in groups]


@given(st.lists(events, max_size=6))
def test_any_order_and_any_batches_make_the_same_sessions(batches):
    sessions = []
    for batch in batches:
        sessions = add(sessions, batch, GAP).sessions
    assert sessions == reference([event for batch in batches for event in batch])


@given(st.lists(events, max_size=6))
def test_whoever_follows_the_changes_has_the_sessions(batches):
    sessions, followed = [], {}
    for batch in batches:
        change = add(sessions, batch, GAP)
        for bounds in change.gone:
            del followed[bounds]  # each was told before
        followed |= {(session.start, session.stop): session.events for session in change.changed}
        sessions = change.sessions
        assert followed == {(session.start, session.stop): session.events for session in sessions}


@given(events, events)
def test_only_sessions_with_new_events_change(before, new):
    first = add([], before, GAP).sessions
    change = add(first, new, GAP)
    touched = [s for s in change.sessions if s not in first]
    assert change.changed == touched


def test_an_event_at_the_very_end_of_a_session_joins_it_and_one_later_does_not():
    begun = add([], [(0, "a")], GAP).sessions
    assert [s.stop for s in add(begun, [(GAP, "b")], GAP).sessions] == [2 * GAP]
    assert [s.start for s in add(begun, [(GAP + 1, "b")], GAP).sessions] == [0, GAP + 1]


def test_an_event_between_two_sessions_joins_them():
    before = add([], [(0, "a"), (18, "b")], GAP).sessions
    change = add(before, [(9, "c")], GAP)
    assert [(s.start, s.stop) for s in change.sessions] == [(0, 28)]
    assert change.gone == [(0, 10), (18, 28)]


def test_a_session_is_open_until_time_has_passed_its_end():
    sessions = [Session(0, 10, ()), Session(20, 30, ())]
    assert still_open(sessions, 9) == sessions
    assert still_open(sessions, 10) == sessions[1:]


@given(st.dictionaries(st.text(max_size=5), events.map(reference), max_size=5))
def test_pages_survive_being_written(page):
    assert decode_page(encode_page(page)) == page
