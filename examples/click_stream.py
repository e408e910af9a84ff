"""Click stream: who viewed what, and what they had searched for in the half minute before.

Shows a left join of two streams that looks back: a view comes with each search of its visitor in the 30 seconds before,
or once without any, when none can come any more. And a look-up in a table as of the time of an event: it comes with the
profile that its visitor had then, whatever became of that since.

Every run is another day, so that its events are not late. Each day ends with a view and a search by a robot: they are
filtered out, but their time tells the join that no more searches will come.

Run it: ``python examples/click_stream.py``
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import headrace as hr
from headrace.log import Consumer, Producer, Topics

PROFILES = "example-visitor-profiles"
VIEWS = "example-page-views"
SEARCHES = "example-page-searches"
ENRICHED = "example-page-views-enriched"

app = hr.App("example-click-stream")

profiles = app.table(
    PROFILES,
    schema="visitor string, country string, plan string, since timestamp",
    key="visitor",
    event_time="since",
)
views = app.stream(VIEWS, schema="visitor string, page string, at timestamp", key="visitor", event_time="at")
searches = app.stream(
    SEARCHES, schema="visitor string, query string, searched_at timestamp", key="visitor", event_time="searched_at"
)

people = views.filter("visitor != 'robot'")
searched = people.join(searches, on="visitor", before="30 seconds", how="left")
(
    searched.join(profiles, on="visitor", as_of="event_time", how="left")
    .with_columns(seconds="unix_timestamp(at) - unix_timestamp(searched_at)")
    .select("visitor", "country", "plan", "page", "at", "query", "seconds")
    .to(ENRICHED)
)

PER_DAY = 6  # views


def sample_profiles(day: datetime) -> Iterator[dict[str, Any]]:
    """Yield the profiles of the morning, and one that changes; of cyd nothing is known."""
    for visitor, country, plan, minute in (
        ("ann", "Sweden", "free", 0),
        ("bob", "Peru", "free", 0),
        ("ann", "Sweden", "paid", 65),
    ):
        since = day + timedelta(hours=8, minutes=minute)
        yield {"visitor": visitor, "country": country, "plan": plan, "since": since}


def sample_searches(day: datetime) -> Iterator[dict[str, Any]]:
    """Yield a few searches after nine o'clock, and a robot's in the evening."""
    for visitor, query, second in (
        ("ann", "boots", 0),
        ("ann", "red boots", 20),
        ("bob", "tent", 60),
        ("ann", "map of Lapland", 360),
        ("cyd", "stove", 420),
        ("robot", "", 50400),
    ):
        yield {"visitor": visitor, "query": query, "searched_at": day + timedelta(hours=9, seconds=second)}


def sample_views(day: datetime) -> Iterator[dict[str, Any]]:
    """Yield a few views after nine o'clock, and a robot's in the evening."""
    for visitor, page, second in (
        ("ann", "/boots/red", 25),
        ("bob", "/tents", 91),
        ("ann", "/account", 299),
        ("ann", "/maps/lapland", 370),
        ("cyd", "/stoves", 450),
        ("robot", "/robots.txt", 50400),
    ):
        yield {"visitor": visitor, "page": page, "at": day + timedelta(hours=9, seconds=second)}


def send_a_day() -> datetime:
    """Send the events of a day that no earlier run has used."""
    with Topics() as topics:
        topics.create(PROFILES, partitions=2, compact=True, exist_ok=True)
        for topic in (VIEWS, SEARCHES):
            topics.create(topic, partitions=2, exist_ok=True)
        sent = sum(partition.latest for partition in topics.describe(VIEWS).partitions)
    day = datetime(2024, 5, 1, tzinfo=UTC) + timedelta(days=sent // PER_DAY)
    with Producer() as producer:
        for topic, sample in ((PROFILES, sample_profiles), (SEARCHES, sample_searches), (VIEWS, sample_views)):
            for event in sample(day):
                producer.send(topic, event, key=event["visitor"])
    return day


def views_of(day: datetime) -> list[dict[str, Any]]:
    """Return the enriched views of a day, by time."""
    with Consumer(ENRICHED, follow=False) as rows:
        found = [row.value for row in rows if row.value["at"].startswith(f"{day:%Y-%m-%d}")]
    return sorted(found, key=lambda row: (row["at"], row["query"] or ""))


def main() -> None:
    day = send_a_day()
    app.run(drain=True)  # process all that is there, then end

    print("at        who  from    plan  viewed         searched")
    for row in views_of(day):
        profile = f"{row['country'] or '?':<8}{row['plan'] or '?':<6}"
        searched = f"{row['query']} {row['seconds']} s before" if row["query"] else "nothing"
        print(f"{row['at'][11:19]}  {row['visitor']:<5}{profile}{row['page']:<15}{searched}")


if __name__ == "__main__":
    main()
