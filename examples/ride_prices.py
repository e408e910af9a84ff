"""Ride prices: a factor for each area, from how many rides were asked for and how many drivers were free.

Shows two streams as one, and sliding windows of five minutes. Such windows have no fixed beginnings: one ends at every
event, with what came in the five minutes before, and another begins right after it. So there is a price for the moment
of each request, and a request counts for five minutes, no matter when it came. Changes are told as they happen.

Every run is another day, so that its events are not late.

Run it: ``python examples/ride_prices.py``
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import headrace as hr
from headrace.log import Consumer, Producer, Topics

REQUESTS = "example-ride-requests"
DRIVERS = "example-free-drivers"
PRICES = "example-ride-prices"

app = hr.App("example-ride-prices")

requests = app.stream(
    REQUESTS,
    schema="area string, rider string, at timestamp",
    key="area",
    event_time="at",
    lateness="1 minute",
)
drivers = app.stream(
    DRIVERS,
    schema="area string, driver string, at timestamp",
    key="area",
    event_time="at",
    lateness="1 minute",
)

asked = requests.select("area", demand="1", supply="0")
free = drivers.select("area", demand="0", supply="1")
(
    asked.merge(free)
    .group_by("area")
    .window(hr.sliding("5 minutes"), emit="updates")
    .agg(demand="sum(demand)", supply="sum(supply)")
    .with_columns(factor="round(least(3, greatest(1, demand / greatest(supply, 1))), 2)")  # from 1 to 3
    .to(PRICES)
)

ASKED = {"harbour": (0, 30, 60, 90, 120, 150, 480), "station": (60, 90, 300, 420)}  # seconds after nine o'clock
FREE = {"harbour": (10, 130), "station": (0, 70, 310, 400)}
PER_DAY = sum(map(len, ASKED.values()))


def sample_events(day: datetime, name: str, seconds: dict[str, tuple[int, ...]]) -> Iterator[dict[str, Any]]:
    """Yield an event for each of the given seconds of each area."""
    for area, times in seconds.items():
        for number, second in enumerate(times):
            yield {"area": area, name: f"{name} {number}", "at": day + timedelta(hours=9, seconds=second)}


def send_a_day() -> datetime:
    """Send the events of a day that no earlier run has used."""
    with Topics() as topics:
        for topic in (REQUESTS, DRIVERS):
            topics.create(topic, partitions=2, exist_ok=True)
        sent = sum(partition.latest for partition in topics.describe(REQUESTS).partitions)
    day = datetime(2024, 5, 1, tzinfo=UTC) + timedelta(days=sent // PER_DAY)
    with Producer() as producer:
        for topic, name, seconds in ((REQUESTS, "rider", ASKED), (DRIVERS, "driver", FREE)):
            for event in sample_events(day, name, seconds):
                producer.send(topic, event, key=event["area"])
    return day


def prices_at_requests(day: datetime) -> list[dict[str, Any]]:
    """Return the latest row of each window that ends with a request of a day, by area and time."""
    asked = {(event["area"], f"{event['at']:%Y-%m-%dT%H:%M:%S.%fZ}") for event in sample_events(day, "rider", ASKED)}
    with Consumer(PRICES, follow=False) as rows:
        latest = {row.key: row.value for row in rows}
    found = [row for row in latest.values() if (row["area"], row["window_end"]) in asked]
    return sorted(found, key=lambda row: (row["area"], row["window_end"]))


def main() -> None:
    day = send_a_day()
    app.run(drain=True)  # process all that is there, then end

    print("area     at        asked  free  factor")
    for row in prices_at_requests(day):
        counts = f"{row['demand']:<7}{row['supply']:<6}"
        print(f"{row['area']:<9}{row['window_end'][11:19]}  {counts}{row['factor']:.2f}")


if __name__ == "__main__":
    main()
