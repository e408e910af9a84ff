from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import ConfigError
from headrace.core.quantities import milliseconds, parse_size, parse_span, show_size, show_span

LONGS = st.integers(0, 2**63 - 1)
UNITS = {"B": 1, "KB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9, "GiB": 2**30, "TB": 10**12}


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("500 ms", timedelta(milliseconds=500)),
        ("1 millisecond", timedelta(milliseconds=1)),
        ("10 seconds", timedelta(seconds=10)),
        ("10s", timedelta(seconds=10)),
        ("10 sec", timedelta(seconds=10)),
        ("1.5 minutes", timedelta(seconds=90)),
        ("5 min", timedelta(minutes=5)),
        ("5m", timedelta(minutes=5)),
        ("  2  Hours ", timedelta(hours=2)),
        ("7 DAYS", timedelta(days=7)),
        ("1 week", timedelta(days=7)),
        ("0 s", timedelta(0)),
    ],
)
def test_spans_are_read_as_people_write_them(text, span):
    assert parse_span(text) == span


def test_a_span_that_is_one_stays():
    assert parse_span(timedelta(microseconds=7)) == timedelta(microseconds=7)


@given(st.integers(0, 10**13))
def test_whole_milliseconds_survive(count):
    assert milliseconds(parse_span(f"{count} ms")) == count


@given(st.decimals(0, 10**6, places=6))
def test_spans_have_millisecond_resolution(amount):
    span = parse_span(f"{amount} seconds")
    assert span == timedelta(milliseconds=milliseconds(span))
    assert abs(span.total_seconds() - float(amount)) < 0.001


@pytest.mark.parametrize("text", ["", "s", "soon", "5", "-5 s", "1e3 s", "5 s 3", "1,5 s", "five minutes", "1..5 s"])
def test_what_is_no_span_is_refused_with_examples(text):
    with pytest.raises(ConfigError, match="is not a time span; write it like '500 ms', '10 seconds'"):
        parse_span(text)


@pytest.mark.parametrize("text", ["5 fortnights", "5 KB", "5 months"])
def test_an_unknown_unit_of_time_is_told_with_the_known_ones(text):
    with pytest.raises(ConfigError, match=r"unknown unit .* use ms, seconds, minutes"):
        parse_span(text)


@pytest.mark.parametrize("text", ["9999999999 days", "9" * 400 + " s"])
def test_a_span_too_long_is_refused(text):
    with pytest.raises(ConfigError, match="is too long"):
        parse_span(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("64 MiB", 67_108_864), ("1 GB", 10**9), ("1.5kb", 1500), ("0.1 KB", 100), (" 42 ", 42), ("0", 0), ("7 b", 7)],
)
def test_sizes_are_read_as_people_write_them(text, size):
    assert parse_size(text) == size


def test_a_number_of_bytes_stays():
    assert parse_size(-1) == -1  # no limit, in Kafka's words


@given(LONGS)
def test_bytes_are_exact(size):
    assert parse_size(str(size)) == parse_size(f"{size} B") == size


@given(st.integers(0, 9_000_000), st.sampled_from(sorted(UNITS)))
def test_units_multiply(amount, unit):
    assert parse_size(f"{amount} {unit}") == parse_size(f"{amount}{unit.lower()}") == amount * UNITS[unit]


@pytest.mark.parametrize("text", ["", " ", "KB", "much", "-1", "1e3", "1 2 KB", "½ MB", "³"])
def test_what_is_no_size_is_refused_with_examples(text):
    with pytest.raises(ConfigError, match="is not a size; write it like '500 KB'"):
        parse_size(text)


def test_an_unknown_unit_of_size_is_told_with_the_known_ones():
    with pytest.raises(ConfigError, match="unknown unit 'k' in the size '1 k'; use B, KB, KiB, MB"):
        parse_size("1 k")


@pytest.mark.parametrize("text", [str(2**63), "9" * 5000, "9" * 400 + " TB", "10000000 TB"])
def test_a_size_beyond_what_kafka_counts_is_refused(text):
    with pytest.raises(ConfigError, match="is too large; the most is 9223372036854775807 bytes"):
        parse_size(text)


@given(st.text() | st.from_regex(r"\d{1,30}(\.\d{1,9})? ?[A-Za-z]{1,3}", fullmatch=True))
def test_any_text_is_read_or_refused_with_reason(text):
    for parse in (parse_span, parse_size):
        try:
            parse(text)
        except ConfigError as error:
            assert repr(text) in str(error)


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KB"),
        (999_949, "999.9 KB"),
        (999_950, "1.0 MB"),
        (4_200_000, "4.2 MB"),
        (10**12, "1.0 TB"),
        (10**16, "10000.0 TB"),
    ],
)
def test_sizes_are_shown_for_people(size, shown):
    assert show_size(size) == shown


@given(st.integers(0, 10**15))
def test_a_size_shown_is_the_size_to_a_twentieth_of_its_unit(size):
    shown = show_size(size)
    assert abs(parse_size(shown) - size) <= UNITS[shown.split()[1]] / 20


@pytest.mark.parametrize(
    ("span", "shown"),
    [
        (timedelta(0), "0 s"),
        (timedelta(milliseconds=400), "0 s"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(hours=2, minutes=5, seconds=30), "2 h 5 min"),
        (timedelta(days=3, hours=4), "3 d 4 h"),
    ],
)
def test_spans_are_shown_for_people(span, shown):
    assert show_span(span) == shown


@pytest.mark.parametrize("given", [5, 1.5, None, True])
def test_a_bare_number_is_no_time_span(given):
    with pytest.raises(ConfigError, match="is not a time span; write it like"):
        parse_span(given)
