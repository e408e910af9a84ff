"""Pages: cost follows what is touched; what cannot be read is refused by name."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import StateFormatError
from headrace.operators.changes import AFTER, BEFORE, Remember
from headrace.operators.operator import HASH, KEY
from headrace.operators.pages import LARGE, Layout
from headrace.operators.versions import GONE, ORDER
from tests.operators.shelf import Hosted, placed_at

ROWS = pa.schema([(KEY, pa.string()), (HASH, pa.int64()), (ORDER, pa.int64()), (GONE, pa.bool_()), ("v", pa.string())])


def hosted():
    return Hosted(Remember(ROWS, ("v",)), ROWS)


def row(key, v, order=0):
    return {KEY: key, ORDER: order, GONE: v is None, "v": v}


def test_pages_split_as_they_grow_and_no_key_is_lost():
    host = hosted()
    for first in range(0, 4000, 500):
        host.send([row(f"k{n}", "x" * 100) for n in range(first, first + 500)])
    sizes = [len(blob) for blob in host.shelf.blobs.values()]
    assert len(sizes) > 10
    assert max(sizes) < 4 * LARGE
    out = host.send([row(f"k{n}", "y", 1) for n in range(4000)])
    assert all(one[BEFORE] == {"v": "x" * 100} and one[AFTER] == {"v": "y"} for one in out)
    assert len(out) == 4000


def test_a_batch_reads_and_writes_only_the_pages_of_its_keys():
    host = hosted()
    host.send([row(f"k{n}", "x" * 100) for n in range(20_000)])
    assert len(host.shelf.blobs) > 50
    host.shelf.reads = host.shelf.writes = 0
    host.send([row("k7", "y", 1)])
    assert (host.shelf.reads, host.shelf.writes) == (1, 1)


def test_pages_that_become_empty_are_taken_away():
    host = hosted()
    host.send([row(f"k{n}", "x" * 100) for n in range(2000)])
    host.send([row(f"k{n}", None, 1) for n in range(2000)])
    assert host.shelf.blobs == {}


@given(st.lists(st.text(max_size=8), min_size=1, max_size=50), st.integers(1, 300), st.integers(0, 300))
def test_keys_move_only_from_parents_to_new_pages(keys, count, more):
    hashes = pa.array([placed_at(key) for key in keys]).to_numpy()
    layout = Layout("")
    layout.resize(count)
    before, parents = layout.page_of(hashes), layout.parents(count + more)
    layout.resize(count + more)
    for old, new in zip(before, layout.page_of(hashes), strict=True):
        assert old == new or (new >= count and old in parents)


def test_state_of_another_format_is_refused_by_name():
    host = hosted()
    host.send([row("a", "x")])
    host.shelf.stored = b"\x63" + host.shelf.stored[1:]
    with pytest.raises(StateFormatError, match="state of 'step' has the format 99, this Headrace reads 1"):
        host.send([row("a", "y")])


def test_a_page_of_another_format_is_refused_by_name():
    host = hosted()
    host.send([row("a", "x")])
    host.shelf.blobs[0] = b"\x63" + host.shelf.blobs[0][1:]
    with pytest.raises(StateFormatError, match="a page of 'step' has the format 99"):
        host.send([row("a", "y")])


def test_state_of_other_columns_is_refused_with_both():
    host = hosted()
    host.send([row("a", "x")])
    other = pa.schema([*list(ROWS)[:4], ("v", pa.int64())])
    host.operator, host.rows = Remember(other, ("v",)), other
    with pytest.raises(StateFormatError, match=r"kept as .*v string.* read as .*v int64"):
        host.send([row("a", 1)])
