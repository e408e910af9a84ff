"""Invoices by hand, for tests of the programs."""

from datetime import UTC, datetime, timedelta
from typing import Any

from examples.retail.simulator.catalogue import PRODUCTS

TEN = datetime(2024, 5, 1, 10, tzinfo=UTC)
_PRICES = {product.id: (product.name, product.cents) for product in PRODUCTS}


def at(seconds: float) -> datetime:
    """Return a time after ten o'clock."""
    return TEN + timedelta(seconds=seconds)


def invoice(number: int, seconds: float = 0, shop: str = "S01", **more: Any) -> dict[str, Any]:
    """Return an invoice; ``units`` are those of each product, below zero where they are given back."""
    units = more.pop("units", {"baguette": 1})
    lines = [
        {"product": product, "name": _PRICES[product][0], "units": count, "cents": count * _PRICES[product][1]}
        for product, count in units.items()
    ]
    cents = more.pop("cents", sum(line["cents"] for line in lines))
    times = {"at": at(seconds), "sent_at": more.pop("sent_at", at(seconds))}
    kind = "sale" if cents >= 0 else "return"
    head = {"invoice": f"{shop}-1-{number}", "shop": shop, "city": "Lisbon", "till": 1, "kind": kind}
    nobody = {"loyalty": None, "card": None, "delivery": None, "refund_of": None}
    return {**head, **nobody, "lines": lines, "cents": cents, **times, **more}
