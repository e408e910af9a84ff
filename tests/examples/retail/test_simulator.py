"""The simulator: the same for the same seed, and true to what shops do."""

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.retail.simulator import Truth, World, simulate
from examples.retail.simulator.catalogue import PRODUCTS
from examples.retail.simulator.sent import RESERVATIONS, SHOPS, SUPPLIES, TILLS
from examples.retail.simulator.shops import CITIES, WEB
from examples.retail.simulator.shops import SHOPS as ALL
from examples.retail.simulator.world import BEGIN

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def ran(minutes, rate, seed=1, begin=BEGIN):
    return World(seed, begin).advance(begin + minutes * MINUTE, rate)


def invoices(events, copies=False):
    return [e for e in events if e.topic == TILLS and isinstance(e.value, dict) and (copies or not e.copy)]


@pytest.fixture(scope="module")
def day():
    """Twenty minutes of many invoices."""
    return ran(20, 100)


def test_the_same_seed_gives_the_same_events_and_another_seed_others():
    first, again, other = (list(islice(simulate(seed), 8_000)) for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_it_makes_no_difference_in_how_many_steps_time_goes_on():
    world, until = World(3, BEGIN), BEGIN + 30 * SECOND
    steps = [event for n in range(1, 101) for event in world.advance(BEGIN + n * 0.3 * SECOND, 40)]
    assert steps == World(3, BEGIN).advance(until, 40)


def test_the_chain_has_99_shops_in_33_cities_a_web_shop_and_sixty_products():
    assert [shop.id for shop in ALL] == [*(f"S{n:02}" for n in range(1, 100)), WEB]
    assert Counter(shop.city for shop in ALL if shop.id != WEB) == dict.fromkeys(CITIES, 3)
    assert len(PRODUCTS) == len({product.id for product in PRODUCTS}) == 60
    assert all(isinstance(product.cents, int) and product.cents > 0 for product in PRODUCTS)


def test_nobody_buys_where_it_is_closed_and_somewhere_it_is_always_open():
    for hour in range(0, 24, 3):
        begin = BEGIN.replace(hour=hour)
        sold = [event for event in ran(1, 20, begin=begin) if event.topic == TILLS and not event.copy]
        shops = {shop.id: shop for shop in ALL}
        assert all(shops[event.key].is_open(event.happened) for event in sold)
        assert len({event.key for event in sold}) > 20


@pytest.mark.parametrize(("minute", "second"), [(58, 0), (59, 1), (59, 40), (59, 59)])
def test_nobody_buys_after_closing_whenever_the_world_began(minute, second):
    begin = BEGIN.replace(hour=19, minute=minute, second=second, microsecond=700_000)  # some close at eight
    shops = {shop.id: shop for shop in ALL}
    sold = [event for event in ran(3, 50, begin=begin) if event.topic == TILLS and event.happened is not None]
    assert not [event for event in sold if not shops[event.key].is_open(event.happened)]


def test_the_rate_is_what_was_asked_for_and_can_be_turned():
    world, count = World(1, BEGIN), []
    for step, rate in enumerate((50, 200, 0, 50), start=1):
        count.append(len(invoices(world.advance(BEGIN + step * MINUTE, rate))))
    assert count[0] == pytest.approx(3_000, rel=0.1)
    assert count[1] == pytest.approx(12_000, rel=0.1)
    assert count[2] < 300  # late ones
    assert count[3] == pytest.approx(3_000, rel=0.15)


def test_a_duplicate_is_its_original_again_and_later(day):
    originals = {e.value["invoice"]: e for e in invoices(day)}
    copies = [e for e in day if e.copy]
    assert len(copies) == pytest.approx(0.01 * len(originals), rel=0.3)
    for copy in copies:
        original = originals[copy.value["invoice"]]
        assert copy.value == original.value
        assert copy.due > original.due


def test_a_return_gives_back_what_was_sold_once_at_most(day):
    sales = {e.value["invoice"]: e.value for e in invoices(day) if e.value["kind"] == "sale"}
    returns = [e.value for e in invoices(day) if e.value["kind"] == "return"]
    assert len(returns) > 1_000
    assert len({row["refund_of"] for row in returns}) == len(returns)
    for row in returns:
        sale = sales.get(row["refund_of"])
        if sale is None:  # of a shop that is cut off: the sale has not been sent yet
            continue
        assert (sale["shop"], sale["card"], sale["loyalty"]) == (row["shop"], row["card"], row["loyalty"])
        sold = {line["product"]: line["units"] for line in sale["lines"]}
        assert all(sold[line["product"]] == -line["units"] for line in row["lines"])
        assert row["cents"] < 0


def test_tills_with_wrong_clocks_shift_both_times_alike(day):
    wrong = World(1, BEGIN).tills.ahead
    shifted = [e for e in invoices(day) if e.value["at"] != e.happened]
    assert len({(e.value["shop"], e.value["till"]) for e in shifted}) > 5
    for event in shifted:
        ahead = event.value["at"] - event.happened
        assert ahead == event.value["sent_at"] - event.due == wrong[event.value["shop"], event.value["till"]]
        assert abs(ahead) <= 45 * MINUTE


def test_a_shop_that_is_cut_off_gives_no_sign_and_sends_all_in_a_burst_afterwards(day):
    late = defaultdict(list)
    for event in invoices(day):
        if event.due - event.happened > 35 * SECOND:
            late[event.key].append(event)
    assert late
    signs = defaultdict(list)
    for event in day:
        if event.topic == SHOPS:
            signs[event.key].append(event.due)
    for shop, events in late.items():
        assert [e.happened for e in events] == sorted(e.happened for e in events)
        assert all(e.due - e.happened < 6 * MINUTE for e in events)
        first = events[0]
        assert not [at for at in signs[shop] if first.happened <= at < first.due]


def test_a_card_is_now_and_then_used_in_two_cities_and_dear_things_are_refunded(day):
    truth = Truth().add(day)
    assert truth.stolen
    refunds = [e.value for e in invoices(day) if e.value["cents"] <= -30_000]
    assert {row["card"] is None for row in refunds} == {True, False}  # in cash, too
    assert truth.refunds == {row["invoice"] for row in refunds}
    assert len(truth.stolen) < 0.01 * truth.invoices


def test_reservations_come_for_most_deliveries_for_some_late_and_for_some_never():
    events = ran(15, 40)
    truth = Truth().add(events)
    old = {invoice: at for invoice, at in truth.deliveries.items() if at < BEGIN + 4 * MINUTE}
    waits = [truth.reservations[invoice] - at for invoice, at in old.items() if invoice in truth.reservations]
    assert 0.01 < 1 - len(waits) / len(old) < 0.07
    assert 0.01 < sum(wait > 5 * MINUTE for wait in waits) / len(old) < 0.07
    assert min(waits) >= 40 * SECOND
    assert all(e.key == e.value["invoice"] for e in events if e.topic == RESERVATIONS)


def test_supplies_come_before_the_shelf_is_empty_most_of_the_time():
    level, empty, seen = Counter(), 0, 0
    for event in ran(20, 100):
        if event.topic == SUPPLIES:
            level[event.value["shop"], event.value["product"]] += event.value["units"]
        elif event.topic == TILLS and isinstance(event.value, dict) and not event.copy:
            for line in event.value["lines"]:
                place = event.value["shop"], line["product"]
                level[place] -= line["units"]
                seen, empty = seen + 1, empty + (level[place] <= 0)
    assert empty < 0.01 * seen
    assert min(level.values()) >= -50  # nothing is sold that is not there; what is sent late counts late


def test_the_past_is_there_to_compare_with():
    hours = timedelta(hours=25)
    past = World(1, BEGIN).history(hours, 100)
    sold = invoices(past)
    assert len(past) < 25_000
    assert [e.happened for e in sold] == sorted(e.happened for e in sold)
    assert BEGIN - hours <= min(e.happened for e in sold) and max(e.happened for e in sold) < BEGIN
    minutes = Counter()
    for event in sold:
        minutes[event.happened.replace(second=0, microsecond=0)] += event.value["cents"]
    live = sum(e.value["cents"] for e in invoices(ran(5, 100))) / 5
    for ago in (60, 30, 24 * 60, 24 * 60 - 30):
        assert minutes[BEGIN - ago * MINUTE] == pytest.approx(live, rel=0.4)
    assert set(Truth().add(past).stock.values()) == {0}  # supplied as much as was sold


def test_the_past_goes_on_to_the_second_in_which_the_present_begins():
    now = BEGIN + timedelta(seconds=45)
    sold = invoices(World(1, now).history(timedelta(hours=1), 100))
    assert max(e.happened for e in sold) < now
    assert not [e for e in sold if e.happened.second >= 55]  # what is on the way for a moment stays in its minute
    cents = Counter()
    for event in sold:
        cents[event.happened.replace(second=0, microsecond=0)] += event.value["cents"]
    assert cents[BEGIN] == pytest.approx(0.75 * cents[BEGIN - MINUTE], rel=0.2)


def test_what_was_due_before_is_stamped_when_it_is_sent():
    event = invoices(World(1, BEGIN).history(timedelta(hours=1), 10))[0]
    now = BEGIN + timedelta(hours=3)
    sent = event.sent_at(now, SECOND)
    assert (sent.value["at"], sent.value["sent_at"]) == (event.happened, now)
    assert event.sent_at(event.due + SECOND / 2, SECOND) is event


@settings(max_examples=10)
@given(
    seed=st.integers(0, 2**32),
    rates=st.lists(st.sampled_from([0, 0.5, 5, 80]), min_size=1, max_size=4),
    hour=st.integers(0, 23),
)
def test_whatever_the_seed_and_the_rates_all_adds_up(seed, rates, hour):
    begin = datetime(2024, 5, 1, hour, 17, tzinfo=UTC)
    world, events = World(seed, begin), []
    for step, rate in enumerate(rates, start=1):
        sent = world.advance(begin + step * 40 * SECOND, rate)
        assert all(begin <= event.due <= begin + step * 40 * SECOND for event in sent)
        assert [event.due for event in sent] == sorted(event.due for event in sent)
        events += sent
    events += world.advance(begin + timedelta(minutes=20), 0)  # nobody comes any more; what is late arrives
    truth, once = Truth().add(events), {}
    for event in invoices(events, copies=True):
        assert once.setdefault(event.value["invoice"], event.value) == event.value
    for value in once.values():
        assert value["cents"] == sum(line["cents"] for line in value["lines"]) != 0
        assert (value["cents"] > 0) == (value["kind"] == "sale") == (value["refund_of"] is None)
        assert value["refund_of"] is None or value["refund_of"] in once
    assert truth.invoices == len(once)
    assert sum(truth.cents.values()) == sum(value["cents"] for value in once.values())
    assert all(units >= 0 for units in truth.stock.values())
    assert set(truth.reservations) <= set(truth.deliveries)
