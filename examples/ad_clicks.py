"""Ad clicks: impressions joined with their clicks, and the click-through rate of each campaign.

Shows a left join of two streams within ten minutes. An impression that is clicked comes out with the click; one that is
not comes out once, without it, when ten minutes have passed. Both feed a windowed aggregation in the same step.

Every run is another day, so that its events are not late. Each day ends with an impression and a click by a robot: they
are filtered out, but their time tells the join that no more clicks will come.

Run it: ``python examples/ad_clicks.py``
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import headrace as hr
from headrace.log import Consumer, Producer, Topics

IMPRESSIONS = "example-impressions"
CLICKS = "example-clicks"
IGNORED = "example-ignored-ads"
RATES = "example-click-rates"

app = hr.App("example-ad-clicks")

impressions = app.stream(
    IMPRESSIONS, schema="ad string, campaign string, robot boolean, at timestamp", key="ad", event_time="at"
)
clicks = app.stream(CLICKS, schema="ad string, robot boolean, clicked_at timestamp", key="ad", event_time="clicked_at")

people = clicks.filter("not robot").select("ad", "clicked_at")
shown = impressions.filter("not robot").drop("robot").join(people, on="ad", after="10 minutes", how="left")
shown.filter("clicked_at is null").drop("clicked_at").to(IGNORED)
(
    shown.group_by("campaign")
    .window(hr.tumbling("30 minutes"), emit="final")
    .agg(
        impressions="count(distinct ad)",
        clicked="count(distinct if(clicked_at is null, null, ad))",  # two clicks on one ad are one
    )
    .with_columns(rate="round(clicked / impressions, 3)")
    .to(RATES)
)

CAMPAIGNS = {"boots": 2, "tents": 3, "maps": 5}  # every second, third, fifth impression is clicked
MINUTES = 60


def sample_impressions(day: datetime) -> Iterator[dict[str, Any]]:
    """Yield an impression of each campaign every minute for an hour from nine o'clock, and a robot's in the evening."""
    for minute in range(MINUTES):
        at = day + timedelta(hours=9, minutes=minute)
        for campaign in CAMPAIGNS:
            yield {"ad": f"{day:%m%d}-{campaign}-{minute}", "campaign": campaign, "robot": False, "at": at}
    yield {"ad": f"{day:%m%d}-robot", "campaign": "boots", "robot": True, "at": day + timedelta(hours=23)}


def sample_clicks(day: datetime) -> Iterator[dict[str, Any]]:
    """Yield the clicks: of each campaign's, every fourth is slower than ten minutes, and some people click twice."""
    for campaign, every in CAMPAIGNS.items():
        for number, minute in enumerate(range(0, MINUTES, every)):
            delays = [12] if number % 4 == 3 else [number % 4 + 1, 9][: 1 + (number % 4 == 0)]
            for delay in delays:
                at = day + timedelta(hours=9, minutes=minute + delay)
                yield {"ad": f"{day:%m%d}-{campaign}-{minute}", "robot": False, "clicked_at": at}
    yield {"ad": f"{day:%m%d}-robot", "robot": True, "clicked_at": day + timedelta(hours=23)}


def send_a_day() -> datetime:
    """Send the events of a day that no earlier run has used."""
    with Topics() as topics:
        for topic in (IMPRESSIONS, CLICKS):
            topics.create(topic, partitions=2, exist_ok=True)
        sent = sum(partition.latest for partition in topics.describe(IMPRESSIONS).partitions)
    day = datetime(2024, 5, 1, tzinfo=UTC) + timedelta(days=sent // (len(CAMPAIGNS) * MINUTES + 1))
    with Producer() as producer:
        for topic, events in ((IMPRESSIONS, sample_impressions(day)), (CLICKS, sample_clicks(day))):
            for event in events:
                producer.send(topic, event, key=event["ad"])
    return day


def rows_of(day: datetime, topic: str, column: str) -> list[dict[str, Any]]:
    """Return the rows of a topic whose time ``column`` lies in a day, by time."""
    with Consumer(topic, follow=False) as rows:
        found = [row.value for row in rows if row.value[column].startswith(f"{day:%Y-%m-%d}")]
    return sorted(found, key=lambda row: (row[column], row["campaign"]))


def main() -> None:
    day = send_a_day()
    app.run(drain=True)  # process all that is there, then end

    print("from   campaign  impressions  clicked  rate")
    for row in rows_of(day, RATES, "window_start"):
        figures = f"{row['impressions']:<13}{row['clicked']:<9}{row['rate']:.1%}"
        print(f"{row['window_start'][11:16]}  {row['campaign']:<10}{figures}")
    ignored = rows_of(day, IGNORED, "at")
    print(f"nobody clicked on {len(ignored)} ads within ten minutes; the first was {ignored[0]['ad'][5:]}")


if __name__ == "__main__":
    main()
