"""Invoices as the tills of 99 shops and a web shop would send them, the same for the same seed."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

SHOPS = 99
WEB = "web"
_PRODUCTS = [
    ("espresso beans", 8.90),
    ("oat milk", 2.19),
    ("rye bread", 3.40),
    ("cheddar", 5.75),
    ("apples", 2.99),
    ("olive oil", 9.95),
    ("dark chocolate", 1.89),
    ("dish soap", 2.49),
    ("notebook", 4.50),
    ("umbrella", 14.90),
]
_PAYMENTS = ["card", "card", "card", "cash", "mobile"]


def invoices(seed: int = 7) -> Iterator[dict[str, Any]]:
    """Yield invoices without end; one in eight comes from the web shop, one in two names a loyalty card."""
    chance = random.Random(seed)
    numbers: dict[str, int] = {}
    while True:
        shop = WEB if chance.random() < 1 / 8 else f"shop-{chance.randint(1, SHOPS):02}"
        numbers[shop] = numbers.get(shop, 0) + 1
        lines = [_line(chance) for _ in range(min(1 + int(chance.expovariate(0.5)), 12))]
        yield {
            "invoice": f"{shop}-{numbers[shop]:06}",
            "shop": shop,
            "customer": f"c{chance.randint(1, 20_000):05}" if chance.random() < 1 / 2 else None,
            "payment": chance.choice(_PAYMENTS),
            "lines": lines,
            "amount": round(sum(line["quantity"] * line["price"] for line in lines), 2),
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }


def _line(chance: random.Random) -> dict[str, Any]:
    product, price = chance.choice(_PRODUCTS)
    return {"product": product, "quantity": chance.choice([1, 1, 1, 2, 2, 3]), "price": price}
