"""Analytics: revenue per minute, of all shops together, of each shop and of each product; and compared with before.

An invoice counts three times: in the total, for its shop, and, line by line, for its products. So it is exploded into
parts, each of which says for whom it counts, and one aggregation does for all.

What a minute has brought, of all, of a shop or of a product, is then compared with the same minute an hour and a day
ago, by an operator that remembers a day of minutes of each: some 15 KB. What is sold no more is forgotten after a day.

Run it: ``headrace run examples/retail/analytics.py``
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import headrace as hr

HOUR, DAY = 60, 24 * 60  # minutes
# Each part of an invoice: for whom it counts, and how much.
PARTS = """
    concat(
        array(
            named_struct('dimension', 'total', 'name', 'total', 'cents', cents, 'sales', 1),
            named_struct('dimension', 'shop', 'name', shop, 'cents', cents, 'sales', 1)
        ),
        transform(
            lines,
            line -> named_struct('dimension', 'product', 'name', line.name, 'cents', line.cents, 'sales', line.units)
        )
    )
"""

app = hr.App("analytics")

invoices = app.stream(
    "invoices",
    schema="shop string, lines array<struct<name: string, units: int, cents: bigint>>, cents bigint, at timestamp",
    key="shop",
    event_time="at",
    lateness="2 hours",
)
parts = invoices.select(part=PARTS).explode("part")
revenue = (
    parts.select(dimension="part.dimension", name="part.name", cents="part.cents", sales="part.sales")
    .group_by("dimension", "name")
    .window(hr.tumbling("1 minute"), emit="updates")
    .agg(cents="sum(cents)", sales="sum(sales)", name="revenue")
)
revenue.to("revenue")


class Comparison(hr.Processor):
    """Knows a day of minutes, and tells of each that changes what it was an hour and a day before."""

    def on_rows(self, key: Any, rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Take minutes that have changed, of one shop, of one product or of all."""
        known = key.state or {}  # cents by minute, counted from 1970
        for row in rows:
            known[_minute(row)] = row["cents"]
        for row in rows:
            minute = _minute(row)
            yield {**row, "hour_ago": known.get(minute - HOUR), "day_ago": known.get(minute - DAY)}
        newest = max(known)
        key.state = {minute: cents for minute, cents in known.items() if minute >= newest - DAY - HOUR}
        key.wake(datetime.fromtimestamp(60 * (newest + DAY + HOUR), UTC))

    def on_timer(self, key: Any) -> None:
        """Forget what has brought nothing for so long that nothing is compared with it."""
        key.state = None


def _minute(row: dict[str, Any]) -> int:
    return int(row["window_start"].timestamp()) // 60


minutes = app.stream(
    "revenue",
    schema="dimension string, name string, window_start timestamp, cents bigint",
    key=("dimension", "name"),
    event_time="window_start",
)
compared = minutes.group_by("dimension", "name").process(
    Comparison(),
    schema="dimension string, name string, window_start timestamp, cents bigint, hour_ago bigint, day_ago bigint",
    name="comparison",
)
compared.key_by("dimension", "name", "window_start").to("revenue-compared", every="20 seconds")

if __name__ == "__main__":
    app.run()
