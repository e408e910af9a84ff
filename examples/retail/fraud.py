"""Fraud: a card that is used in two cities within minutes, and refunds above a limit.

Both are looked for by one operator, which remembers where a card was used in the last ten minutes, and forgets it when
they have passed. It tells of a card once in that time, however often it is used; and of every refund, also in cash.

When many cards are copied at once, the part of all uses that are suspicious rises, whatever their number is. That is
watched by the minute in which events arrive, so that what comes late does not count for a minute that is over.

Run it: ``headrace run examples/retail/fraud.py``
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import headrace as hr

WITHIN = timedelta(minutes=10)  # in which nobody gets from one city to another
LIMIT = 30_000  # cents of a refund

app = hr.App("fraud", every="10 seconds")

invoices = app.stream(
    "invoices",
    schema="invoice string, shop string, city string, card string, cents bigint, at timestamp",
    key="shop",
    event_time="at",
    lateness="6 minutes",
)


class Suspicion(hr.Processor):
    """Looks at the uses of one card."""

    def on_rows(self, key: Any, rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Take the uses of a batch, in the order of time; some may be older than others before.

        What was paid in cash has no card, and nothing is remembered of it.
        """
        uses: list[list[Any]] = key.state or []  # city, time, and whether it was told of then
        for row in rows:
            if row["cents"] <= -LIMIT:
                yield _told("refund", row, f"{-row['cents'] / 100:.2f} € given back in {row['city']}")
            if row["card"] is None or row["shop"] == "WEB":  # which is in no city
                continue
            near = [use for use in uses if abs(use[1] - row["at"]) <= WITHIN]
            other = next((city for city, _, _ in near if city != row["city"]), None)
            new = other is not None and not any(told for _, _, told in near)
            if new:
                yield _told("two-cities", row, f"used in {other} and {row['city']}")
            uses.append([row["city"], row["at"], new])
        if uses:
            newest = max(at for _, at, _ in uses)
            key.state = [use for use in uses if use[1] >= newest - 2 * WITHIN]
            key.wake(newest + WITHIN)

    def on_timer(self, key: Any) -> None:
        """Forget a card that nobody has used for a while."""
        key.state = None


def _told(kind: str, row: dict[str, Any], message: str) -> dict[str, Any]:
    return {"kind": kind, "message": message} | {name: row[name] for name in row if name != "shop"}


frauds = (
    invoices.filter(f"card is not null or cents <= -{LIMIT}")
    .group_by("card")
    .process(
        Suspicion(),
        schema="kind string, card string, invoice string, city string, cents bigint, message string, at timestamp",
        name="suspicion",
    )
)
frauds.to("fraud")

used = app.stream("invoices", schema="card string", time="append", lateness="10 seconds").filter("card is not null")
suspected = app.stream("fraud", schema="card string", time="append", lateness="10 seconds").filter("card is not null")
minutes = (
    used.select(suspicions="0")
    .merge(suspected.select(suspicions="1"))
    .group_by()
    .window(hr.tumbling("1 minute"), emit="updates")
    .agg(uses="count_if(suspicions = 0)", suspicions="sum(suspicions)")
)
minutes.to("fraud-minutes")
hr.Alert(
    "fraud-wave",
    minutes,
    per=(),
    when="suspicions >= 5 and suspicions > 0.004 * uses",
    severity="critical",
    message="{suspicions} suspicions among {uses} uses of cards within a minute",
)

if __name__ == "__main__":
    app.run()
