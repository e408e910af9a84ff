"""Joins of tables against the obvious way: all pairs of the current rows."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.operators.groups import THERE, Groups
from headrace.operators.operator import HASH, KEY, SIDE
from headrace.operators.pairs import LEFT, RIGHT, Pairs
from headrace.operators.versions import ORDER
from headrace.operators.weights import ROW, WEIGHT
from tests.operators.shelf import Hosted

PLACE = [(KEY, pa.string()), (HASH, pa.int64()), (ORDER, pa.int64()), (ROW, pa.string()), (WEIGHT, pa.int64())]
ROWS = pa.schema(
    [*PLACE, (SIDE, pa.int64()), ("l", pa.string()), ("x", pa.int64()), ("r", pa.string()), ("y", pa.int64())]
)
changes = st.lists(
    st.tuples(
        st.sampled_from([LEFT, RIGHT]),
        st.sampled_from("pqr"),
        st.none() | st.tuples(st.sampled_from("ab"), st.integers(0, 2)),
    ),
    min_size=1,
    max_size=6,
)


class Tables:
    """Two tables by primary key, and their changes as weighed rows."""

    def __init__(self):
        self.tables, self.number = ({}, {}), 0

    def change(self, side, pk, value):
        before = self.tables[side].pop(pk, None)
        self.number += 1
        if value is not None:
            self.tables[side][pk] = value
        return [self.row(side, pk, v, w) for v, w in ((before, -1), (value, 1)) if v is not None]

    def row(self, side, pk, value, weight):
        names = ("l", "x") if side == LEFT else ("r", "y")
        return {
            KEY: value[0],
            ORDER: self.number,
            ROW: pk,
            WEIGHT: weight,
            SIDE: side,
            **dict(zip(names, (pk, value[1]), strict=True)),
        }

    def joined(self, how):
        left, right = self.tables
        pairs = {(a, r, x, y) for a, (k, x) in left.items() for r, (j, y) in right.items() if k == j}
        keys = [{k for k, _ in side.values()} for side in self.tables]
        if how in ("left", "full"):
            pairs |= {(a, None, x, None) for a, (k, x) in left.items() if k not in keys[RIGHT]}
        if how in ("right", "full"):
            pairs |= {(None, r, None, y) for r, (k, y) in right.items() if k not in keys[LEFT]}
        return {(a, r): (x, y) for a, r, x, y in pairs}


def follow(known, out):
    """Apply a batch's results; of one that went here and came there, the coming counts."""
    for one in sorted(out, key=lambda one: one[THERE]):
        if one[THERE]:
            known[one["l"], one["r"]] = (one["x"], one["y"])
        else:
            known.pop((one["l"], one["r"]))  # it was told before


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
@given(batches=st.lists(changes, max_size=6), random=st.randoms())
def test_whoever_follows_has_the_join_of_the_current_tables(how, batches, random):
    host, tables, known = Hosted(Pairs(ROWS, ("l", "x"), ("r", "y"), False, how), ROWS), Tables(), {}
    for batch in batches:
        rows = [row for change in batch for row in tables.change(*change)]
        random.shuffle(rows)
        follow(known, host.send(rows))
        assert known == tables.joined(how)


@given(batches=st.lists(changes, max_size=6))
def test_where_a_left_row_has_one_partner_another_partner_replaces_it(batches):
    """The right side's key is what is joined by, so results are told apart by the left row alone."""
    host, tables, known = Hosted(Pairs(ROWS, ("l", "x"), ("r", "y"), True, "left"), ROWS), Tables(), {}
    for batch in batches:
        rows = []
        for side, pk, value in batch:
            fixed = value if side == LEFT or value is None else ("ab"["pqr".index(pk) % 2], value[1])
            rows += tables.change(side, pk if side == LEFT or pk != "r" else "p", fixed)
        out = host.send(rows)
        for one in sorted(out, key=lambda one: one[THERE]):
            known.pop(one["l"], None)
            if one[THERE]:
                known[one["l"]] = (one["r"], one["x"], one["y"])
        assert known == {a: (r, x, y) for (a, r), (x, y) in tables.joined("left").items()}


def test_a_change_of_one_row_tells_its_pairs_only():
    host, tables = Hosted(Pairs(ROWS, ("l", "x"), ("r", "y"), False, "inner"), ROWS), Tables()
    host.send([row for n in range(50) for row in tables.change(LEFT, f"l{n}", ("a", 0))])
    host.send([row for n in range(50) for row in tables.change(RIGHT, f"r{n}", ("a", 0))])
    assert len(host.send(tables.change(LEFT, "l7", ("a", 1)))) == 50


@given(batches=st.lists(changes, max_size=6), random=st.randoms())
def test_groups_that_changed_come_out_whole(batches, random):
    schema = pa.schema([*PLACE, ("k", pa.string()), ("x", pa.int64())])
    host, tables, known = Hosted(Groups(schema, ("k",)), schema), Tables(), {}
    for batch in batches:
        rows = [row for _, pk, value in batch for row in tables.change(LEFT, pk, value)]
        rows = [{**{name: row[name] for name in (KEY, ORDER, ROW, WEIGHT, "x")}, "k": row[KEY]} for row in rows]
        touched = {row["k"] for row in rows}
        random.shuffle(rows)
        told = {}
        for one in host.send(rows):
            told.setdefault(one["k"], []).append(one)
        assert told.keys() <= touched
        for k, group in told.items():
            known.pop(k, None)
            if group[0][THERE]:
                known[k] = sorted(one["x"] for one in group)
            else:
                assert len(group) == 1
        current = {}
        for k, x in tables.tables[LEFT].values():
            current.setdefault(k, []).append(x)
        assert known == {k: sorted(values) for k, values in current.items()}
