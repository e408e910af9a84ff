from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.codec import decode_text, decoder, encode, printable
from headrace.core.errors import ConfigError, DecodeError, EncodeError

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=8)


@dataclass
class Order:
    id: str
    at: datetime


@given(st.lists(JSON) | st.dictionaries(TEXT, JSON) | st.booleans() | st.integers(-(2**63), 2**64 - 1))
def test_what_is_no_text_becomes_json_and_comes_back(value):
    assert decoder("json")(encode(value)) == value


@given(st.binary())
def test_any_bytes_come_back_as_bytes_and_through_text(data):
    assert decoder("raw")(encode(data)) == data
    assert encode(decoder("text")(data)) == data


@given(TEXT)
def test_text_is_utf8(text):
    assert encode(text) == text.encode()
    assert decode_text(encode(text)) == text


@given(st.binary())
def test_what_is_printable_can_be_printed_anywhere(data):
    shown = printable(decode_text(data))
    assert shown == data.decode("utf-8", "replace")
    assert printable(shown) == shown


def test_none_is_a_tombstone():
    assert encode(None) is None


def test_dataclasses_times_and_ids_have_a_form_in_json():
    order = Order("1", datetime(2024, 5, 1, tzinfo=UTC))
    assert encode(order) == b'{"id":"1","at":"2024-05-01T00:00:00+00:00"}'
    assert encode([UUID(int=7)]) == b'["00000000-0000-0000-0000-000000000007"]'


@pytest.mark.parametrize("value", [object(), {1, 2}, {1: "a"}, 2**64, {"a": b"x"}, {"a": "\udcff"}])
def test_what_has_no_form_in_json_is_refused(value):
    with pytest.raises(EncodeError, match=r"cannot be written as JSON: .*; use dicts with text keys, lists, text"):
        encode(value)


def test_half_a_character_is_refused():
    with pytest.raises(EncodeError, match=r"is no text .*; send it as bytes"):
        encode("\ud800")


def test_a_large_value_does_not_flood_the_message():
    with pytest.raises(EncodeError) as raised:
        encode({"key": [object()] * 1000, "text": "x" * 100_000})
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize("data", [b"", b"not json", b'{"a":', b"\xff", b'{"a":"\0"}', b"NaN", b'"\\ud800"'])
def test_what_is_not_json_is_told_with_its_beginning(data):
    with pytest.raises(DecodeError, match="the value is not JSON"):
        decoder("json")(data)


def test_an_unknown_format_is_told_with_the_known_ones():
    with pytest.raises(ConfigError, match="unknown format 'xml'; known are json, text, raw"):
        decoder("xml")
