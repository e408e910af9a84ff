"""Alerts against their definition: look at every millisecond of every key."""

from collections import defaultdict
from dataclasses import replace
from functools import partial

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.operators.alert_messages import fields_of, render
from headrace.operators.alert_rows import GROUP, ROW
from headrace.operators.alert_rules import GRACE, SLOTS, Change, Rule
from headrace.operators.alerting import Alerting
from headrace.operators.operator import GONE, HASH, KEY, ORDER, TIME
from tests.operators.shelf import Hosted

ROWS = pa.schema(
    [
        (KEY, pa.string()),
        (HASH, pa.int64()),
        (TIME, pa.int64()),
        (ORDER, pa.int64()),
        (GONE, pa.bool_()),
        (GROUP, pa.int32()),
        (ROW, pa.string()),
        ("when", pa.bool_()),
        ("until", pa.bool_()),
        ("value", pa.float64()),
    ]
)
KEYED = partial(Rule, per=("k",), when="when")
END = 200  # beyond all that is tried
RULES = {
    "at once": Rule("r", per=("k",), when="when"),
    "lasting": Rule("r", per=("k",), when="when", lasting=7),
    "hysteresis": Rule("r", per=("k",), when="when", until="until"),
    "both": Rule("r", per=("k",), when="when", until="until", lasting=7),
    "absent": Rule("r", per=("k",), absent=9),
    "rise": Rule("r", per=("k",), change=Change("value", 20, above=2.5)),
    "fall by a half": Rule("r", per=("k",), change=Change("value", 20, below=-0.5, relative=True), lasting=3),
}
SAID = (GONE, "when", "until", "value")
# key, time since the last row, and what the row says
one = st.tuples(
    st.sampled_from("ab"),
    st.integers(0, 8),
    st.sampled_from([False] * 9 + [True]),
    st.booleans(),
    st.booleans(),
    st.none() | st.integers(-4, 4),
)
batches = st.lists(st.tuples(st.lists(one, max_size=5), st.integers(0, 12)), max_size=6)


def key(name):
    return orjson.dumps({"k": name}).decode()


def row(number, name, at, **said):
    told = {KEY: key(name), TIME: at * 1000 + 7, ORDER: number, GONE: False, GROUP: 0, ROW: f'{{"n":{number}}}'}
    return {**told, "when": False, "until": False, "value": None, **said}


def timed(given_batches):
    """Give the rows of batches times that rise, none of them before what was not expected any more."""
    now, at, number, found = 0, 0, 0, []
    for rows, pause in given_batches:
        batch = []
        for name, step, *said in rows:
            at, number = max(at, now + 1) + step, number + 1
            batch.append(row(number, name, at, **dict(zip(SAID, said, strict=True))))
        found.append((batch, now))
        at += pause
        now = max(now, at - 3)
    return found


class Slow:
    """One rule and key, as they are defined."""

    def __init__(self, rule):
        self.rule, self.told, self.values = rule, [], []
        self.holding = self.firing = self.last = None

    def take(self, at, each):
        if each[GONE]:
            self.resolve(at)
            self.holding = self.last = None
            self.values = []
            return
        self.last = at
        holds = self.changed(at, each["value"]) if self.rule.change else each["when"]
        if self.rule.absent or holds is None:
            self.resolve(at if self.rule.absent else None)
        elif self.firing is not None:
            self.resolve(at if not holds and (each["until"] or not self.rule.until) else None)
        else:
            self.holding = None if not holds else at if self.holding is None else self.holding
            if self.holding is not None and at >= self.holding + self.rule.lasting:
                self.fire(self.holding, self.holding + self.rule.lasting)

    def changed(self, at, value):
        change = self.rule.change
        if value is None:
            return None
        slot = at * SLOTS // change.over
        earlier = [v for t, v in self.values if t * SLOTS // change.over <= slot - SLOTS]
        self.values.append((at, value))
        return bool(earlier) and change.fires(earlier[-1], value)

    def end(self, at):
        """Nothing more comes at this time."""
        if self.firing is not None:
            return
        if self.rule.absent and self.last is not None and at == self.last + self.rule.absent:
            self.fire(self.last, at)
        elif self.holding is not None and at >= self.holding + self.rule.lasting:
            self.fire(self.holding, at)

    def fire(self, since, at):
        self.told.append(("firing", since, at))
        self.firing = since

    def resolve(self, at):
        if at is not None and self.firing is not None:
            self.told.append(("resolved", self.firing, at))
            self.firing = self.holding = None


def expected(rule, rows):
    """Return what happens to one key, millisecond by millisecond."""
    slow, by_time = Slow(rule), defaultdict(list)
    for each in rows:
        by_time[each[TIME] // 1000].append(each)
    for at in range(END * 2):
        for each in by_time[at]:
            slow.take(at, each)
        slow.end(at)
    return slow.told


def run(rule, given_batches):
    host, outs = Hosted(Alerting("p", [rule]), ROWS), []
    for rows, now in given_batches:
        outs += host.send(rows, now)
    return host, outs + host.send([], END)


def events(outs, name):
    ours = [each for each in outs if each["key"] == key(name)]
    return [(each["state"], _ms(each["since"]), _ms(each["at"])) for each in ours]


def _ms(at):
    return round(at.timestamp() * 1000)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("by_log", [False, True])
@given(given_batches=batches)
def test_alerts_fire_and_resolve_as_they_are_defined(rule, by_log, given_batches):
    sent = timed(given_batches)
    _, outs = run(replace(rule, by_log=by_log), sent)
    for name in "ab":
        rows = [each for batch, _ in sent for each in batch if each[KEY] == key(name)]
        assert events(outs, name) == expected(rule, rows)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@settings(max_examples=40)
@given(given_batches=batches)
def test_how_rows_are_cut_into_batches_makes_no_difference(rule, given_batches):
    sent = timed(given_batches)
    _, outs = run(rule, sent)
    _, alone = run(rule, [([each], now) for batch, now in sent for each in batch])
    _, whole = run(rule, [([each for batch, _ in sent for each in batch], 0)])
    assert by_key(outs) == by_key(alone) == by_key(whole)


def by_key(outs):
    return sorted(({**each, ORDER: None} for each in outs), key=lambda each: each["key"])


def test_every_alert_has_an_id_of_its_own_that_is_the_same_whenever_it_is_told():
    rows = [row(1, "a", 10, when=True), row(2, "a", 20), row(3, "a", 30, when=True), row(4, "b", 10, when=True)]
    _, outs = run(RULES["at once"], [(rows, 0)])
    _, again = run(RULES["at once"], [([each], 0) for each in rows])
    ids = [(each["key"], each["id"]) for each in outs]
    assert sorted(ids) == sorted((each["key"], each["id"]) for each in again)
    assert len(set(ids)) == 3 and len(ids) == 4  # the first resolves under its own
    assert {each["alert"] for each in outs} == {"p/r/a", "p/r/b"}


@pytest.mark.parametrize("now", [0, 45, 60])
@pytest.mark.parametrize("rule", ["at once", "lasting", "hysteresis"])
def test_a_row_that_is_older_than_another_before_tells_nothing_new(rule, now):
    host = Hosted(Alerting("p", [RULES[rule]]), ROWS)
    host.send([row(1, "a", 50)], now)
    assert host.send([row(2, "a", 40, when=True)], now) == []
    assert host.send([], END) == []


def test_in_a_table_the_row_that_was_written_last_counts_whatever_its_time():
    host = Hosted(Alerting("p", [replace(RULES["at once"], by_log=True)]), ROWS)
    host.send([row(1, "a", 50)], 0)
    (told,) = host.send([row(2, "a", 40, when=True)], 0)
    assert (told["state"], _ms(told["at"])) == ("firing", 40)


@pytest.mark.parametrize("by_log", [False, True])
def test_two_that_begin_in_one_millisecond_are_two(by_log):
    rows = [row(number, "a", 10, when=number != 2) for number in (1, 2, 3)]
    rule = replace(RULES["at once"], by_log=by_log)
    for cut in ([(rows, 0)], [([each], 0) for each in rows]):
        _, (first, resolved, second) = run(rule, cut)
        assert [each["state"] for each in (first, resolved, second)] == ["firing", "resolved", "firing"]
        assert first["id"] == resolved["id"] != second["id"]


def test_keys_are_told_apart_and_no_longer_than_one_can_use():
    def told(name):
        _, (each,) = run(RULES["at once"], [([row(1, name, 10, when=True)], 0)])
        return each

    assert told(None)["alert"] != told("None")["alert"]
    long, other = told("x" * 300_000), told("x" * 299_999)
    assert long["alert"] != other["alert"] and max(len(long[of]) for of in ("alert", "key")) < 600
    assert orjson.loads(long["key"])["k"] == "x" * 500


def test_a_row_that_is_too_large_to_be_told_is_left_out_and_the_alert_is_told():
    large = {**row(1, "a", 10, when=True), ROW: orjson.dumps({"n": "x" * 900_000}).decode()}
    _, (told,) = run(replace(RULES["at once"], message="{n}"), [([large], 0)])
    assert (told["row"], told["message"]) == (None, "x" * 2000)


def test_a_message_tells_of_the_row_that_made_the_alert_fire():
    rule = Rule("r", per=("k",), severity="critical", message="row {n}", when="when", lasting=5)
    sent = [row(1, "a", 10, when=True), row(2, "a", 12, when=True), row(3, "a", 40)]
    _, (fired, resolved) = run(rule, [(sent, 0)])
    assert (fired["message"], fired["row"], fired["severity"]) == ("row 2", '{"n":2}', "critical")
    assert (resolved["message"], resolved["row"]) == ("row 2", '{"n":3}')


def test_a_rule_can_be_added_changed_and_taken_away_while_others_go_on():
    old = Hosted(Alerting("p", [KEYED("a", made="1"), KEYED("b", lasting=90)]), ROWS)
    assert [each["rule"] for each in old.send([row(1, "x", 10, when=True)], 0)] == ["a"]
    new = Alerting("p", [KEYED("b", lasting=90, made="2"), KEYED("c")])
    old.operator = new
    told = [(each["rule"], each["state"]) for each in old.send([row(2, "x", 20, when=True)], 15)]
    assert sorted(told) == [("a", "resolved"), ("c", "firing")]
    assert old.send([], 105) == []  # what b had counted was for another b
    assert [each["rule"] for each in old.send([], 110)] == ["b"]


def test_a_rule_that_goes_by_other_columns_than_before_begins_anew():
    host = Hosted(Alerting("p", [KEYED("a", made="k")]), ROWS)
    host.send([row(1, "x", 10, when=True)], 0)
    host.operator = Alerting("p", [Rule("a", when="when", made="")])
    everything = {**row(2, "x", 20, when=True), KEY: "{}", HASH: 0}
    found = host.send([everything, row(3, "x", 20)], 15)
    assert ("p/a/x", "resolved") in [(each["alert"], each["state"]) for each in found]
    assert ("p/a", "firing") in [(each["alert"], each["state"]) for each in found]


def test_a_rule_whose_columns_change_places_begins_anew():
    def both(number):
        return {**row(number, "", 10 * number, when=True), KEY: '{"a":"1","b":"2"}', HASH: 0}

    host = Hosted(Alerting("p", [Rule("r", per=("a", "b"), when="when", made="1")]), ROWS)
    (fired,) = host.send([both(1)], 0)
    host.operator = Alerting("p", [Rule("r", per=("b", "a"), when="when", made="2")])
    told = host.send([{**both(2), KEY: '{"b":"2","a":"1"}'}], 15)
    assert [(each["id"] == fired["id"], each["state"]) for each in told] == [(True, "resolved"), (False, "firing")]


def test_rules_of_different_keys_each_see_their_own_rows():
    rules = [KEYED("each"), Rule("all", group=1, absent=9)]
    host = Hosted(Alerting("p", rules), ROWS)
    both = [row(1, "a", 10, when=True), {**row(1, "a", 10, when=True), GROUP: 1, KEY: "{}"}]
    assert [each["alert"] for each in host.send(both, 0)] == ["p/each/a"]
    assert [each["alert"] for each in host.send([], 19)] == ["p/all"]


def test_nothing_is_kept_where_nothing_is_to_come():
    host = Hosted(Alerting("p", [RULES["both"], KEYED("s")]), ROWS)
    host.send([row(1, "a", 10, when=True), row(2, "b", 10), row(3, "a", 30, until=True)], 0)
    assert host.shelf.blobs
    host.send([row(4, "a", 60), row(5, "b", 60)], 59)
    host.send([row(6, "a", 61), row(7, "b", 61)], 100)
    assert host.shelf.blobs  # an older row may come, and must not count
    host.send([row(8, "a", 62)], 62 + GRACE)
    assert host.shelf.blobs == {}


def test_times_that_no_clock_tells_stop_nobody():
    rule = Rule("r", per=("k",), absent=10**14)
    _, outs = run(rule, [([row(1, "a", 2**53), row(2, "b", 5), row(3, "b", 6)], 0)])
    assert outs == []
    _, outs = run(replace(RULES["at once"], by_log=True), [([row(n, "a", 2**53 - n, when=True) for n in range(3)], 0)])
    assert [each["state"] for each in outs] == ["firing"]


def test_many_rows_keep_a_bounded_number_of_samples():
    host = Hosted(Alerting("p", [Rule("r", per=("k",), change=Change("value", 10_000, above=1e9))]), ROWS)
    host.send([row(n, "a", n, value=float(n)) for n in range(30_000)], 0)
    assert sum(map(len, host.shelf.blobs.values())) < 4000


def test_rows_that_could_not_be_read_are_counted_and_left_out():
    host = Hosted(Alerting("p", [RULES["at once"]]), ROWS)
    assert host.send([{**row(1, "a", 0, when=True), TIME: -1}], 0) == []
    assert host.late == 1


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("{shop}: {units} left", "S01: 3 left"),
        ("{share:.1%} of {{all}}", "12.5% of {all}"),
        ("{none} {missing}", "- -"),
        ("{shop:.2f}", "S01"),
        ("{list}", "[1,2]"),
        ("{units:>5}|", "    3|"),
    ],
)
def test_a_message_is_filled_with_the_values_of_a_row(template, told):
    row = '{"shop": "S01", "units": 3, "share": 0.125, "none": null, "list": [1, 2]}'
    assert render(template, row) == told
    assert len(render("{shop}" * 10_000, row)) == 2000


def test_a_template_tells_its_columns():
    assert fields_of("{a}{{b}} {c:.1f}") == [("a", ""), ("c", ".1f")]
    for wrong in ("{", "a }", "{}", "{a{b}}"):
        with pytest.raises(ValueError, match="bracket"):
            fields_of(wrong)
