from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import ConfigError, PlanError
from headrace.plan.windows import Hop, hopping, session, show_span, tumbling

SPANS = st.integers(min_value=1, max_value=10**12).map(lambda n: timedelta(milliseconds=n))


def test_windows_tell_what_they_are():
    assert str(tumbling("1 minute")) == "tumbling 1 min"
    assert str(tumbling("500 ms")) == "tumbling 500 ms"
    assert str(hopping("10 minutes", every="90 seconds")) == "hopping 10 min every 1 min 30 s"
    assert str(session("30 minutes")) == "session gap 30 min"


def test_a_tumbling_window_is_a_hop_of_its_size():
    assert tumbling("1 hour") == hopping("1 hour", every="60 minutes") == Hop(timedelta(hours=1), timedelta(hours=1))


@given(SPANS, SPANS)
def test_two_spans_never_read_the_same(one, other):
    assert (show_span(one) == show_span(other)) is (one == other)


@given(SPANS, SPANS)
def test_windows_leave_no_event_out(size, every):
    if every <= size:
        assert hopping(size, every).every == every
    else:
        with pytest.raises(PlanError, match="at most the size, or events between two windows would be in none"):
            hopping(size, every)


@pytest.mark.parametrize("make", [tumbling, session, lambda span: hopping("1 h", span)])
@pytest.mark.parametrize(
    ("span", "kind", "told"),
    [
        ("0 s", PlanError, "must be above 0"),
        (timedelta(seconds=-1), PlanError, "must be above 0"),
        ("soon", ConfigError, "'soon' is not a time span; write it like"),
        (5, ConfigError, "5 is not a time span"),
        (None, ConfigError, "None is not a time span"),
    ],
)
def test_what_is_no_window_is_told_with_its_line(make, span, kind, told):
    with pytest.raises(kind, match=told) as error:
        make(span)
    assert "declared at test_windows.py, line" in error.value.__notes__[0]
