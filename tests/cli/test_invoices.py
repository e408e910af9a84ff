from itertools import islice

from headrace.cli.invoices import invoices


def first(count, **seed):
    return [{**invoice, "at": None} for invoice in islice(invoices(**seed), count)]


def test_the_same_seed_gives_the_same_invoices():
    assert first(100) == first(100, seed=7) != first(100, seed=8)


def test_an_invoice_adds_up_and_has_a_number_of_its_own():
    found = first(1000)
    assert all(i["amount"] == round(sum(x["quantity"] * x["price"] for x in i["lines"]), 2) > 0 for i in found)
    assert len({invoice["invoice"] for invoice in found}) == 1000


def test_shops_and_the_web_shop_sell():
    shops = [invoice["shop"] for invoice in first(5000)]
    assert len(set(shops)) == 100
    assert 1 / 10 < shops.count("web") / 5000 < 1 / 6
