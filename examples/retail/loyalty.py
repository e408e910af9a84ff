"""Loyalty: a point for each euro, and a message to the customer at every 200th, seconds after the sale.

Points are a table. Rewards are told by an operator that remembers how many a customer has had: who gives something back
loses its points, but comes to the same reward only once.

Run it: ``headrace run examples/retail/loyalty.py``
"""

from collections.abc import Iterator
from typing import Any

import headrace as hr

STEP = 200  # points from one reward to the next

app = hr.App("loyalty")

invoices = app.stream(
    "invoices",
    schema="shop string, loyalty string, cents bigint, at timestamp",
    key="shop",
    event_time="at",
    lateness="6 minutes",
)
earned = invoices.filter("loyalty is not null").with_columns(points="cents div 100")
earned.group_by("loyalty").agg(points="sum(points)", invoices="count(*)").to("points", every="20 seconds")


class Rewards(hr.Processor):
    """Counts points, and gives a reward at every step that is reached for the first time."""

    def on_rows(self, key: Any, rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Take what a customer has bought and given back, in the order of time."""
        known = key.state or {"points": 0, "rewards": 0}
        for row in rows:
            known["points"] += row["points"]
            while known["points"] >= (known["rewards"] + 1) * STEP:
                known["rewards"] += 1
                yield self._reward(key.value, known["rewards"] * STEP, row)
        key.state = known

    def _reward(self, loyalty: str, points: int, row: dict[str, Any]) -> dict[str, Any]:
        message = f"{points} points! {STEP // 100} € off your next purchase."
        return {"loyalty": loyalty, "shop": row["shop"], "points": points, "message": message, "sold_at": row["at"]}


rewards = earned.group_by("loyalty").process(
    Rewards(), schema="loyalty string, shop string, points bigint, message string, sold_at timestamp", name="rewards"
)
rewards.with_columns(at="current_timestamp()").to("rewards", every="2 seconds")

if __name__ == "__main__":
    app.run()
