"""Log analytics: lines of a web server's log become error rates, response times and alerts.

Shows Spark SQL on text, a branch for lines that cannot be read, percentiles in hopping windows, and a table whose rows
are filtered into alerts. A line without so much as a time goes to the dead letters of its topic by itself.

Every run is another day, so that its lines are not late. Each day ends with a health check: it is filtered out, but its
time closes the windows before it.

Run it: ``python examples/log_analytics.py``
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import headrace as hr
from headrace.log import Consumer, Producer, Topics

LINES = "example-log-lines"
SERVICES = "example-log-services"
ALERTS = "example-log-alerts"
UNREADABLE = "example-log-unreadable"
#             time   service  method  path   status    milliseconds
LINE = "^([^ ]+) ([a-z]+) ([A-Z]+) ([^ ]+) ([0-9]{3}) ([0-9]+)ms$"

app = hr.App("example-log-analytics")

lines = app.stream(LINES, format="text", event_time="to_timestamp(split(value, ' ')[0])")
readable, unreadable = lines.branch(f"value rlike '{LINE}'")
unreadable.to(UNREADABLE, format="text")

requests = readable.select(
    service=f"regexp_extract(value, '{LINE}', 2)",
    path=f"regexp_extract(value, '{LINE}', 4)",
    status=f"int(regexp_extract(value, '{LINE}', 5))",
    millis=f"int(regexp_extract(value, '{LINE}', 6))",
)
services = (
    requests.filter("path != '/health'")
    .group_by("service")
    .window(hr.hopping("10 minutes", every="5 minutes"), emit="final")
    .agg(
        requests="count(*)",
        error_rate="round(count_if(status >= 500) / count(*), 3)",
        median="percentile(millis, 0.5)",
        p95="round(percentile(millis, 0.95), 1)",
    )
)
services.to(SERVICES)
services.filter("error_rate >= 0.1 and requests >= 10").to(ALERTS)

MINUTES = 20
PER_DAY = 3 * MINUTES + 3


def sample_lines(day: datetime) -> Iterator[str]:
    """Yield twenty minutes from nine o'clock: the shop fails for five of them; two broken lines."""
    for minute in range(MINUTES):
        at = f"{day + timedelta(hours=9, minutes=minute):%Y-%m-%dT%H:%M:%SZ}"
        status = 503 if 10 <= minute < 15 else 200
        yield f"{at} shop GET /cart {status} {20 + 10 * minute}ms"
        yield f"{at} shop POST /order 201 {100 + minute}ms"
        yield f"{at} search GET /find 200 {15 + minute % 5}ms"
    yield f"{day + timedelta(hours=9, minutes=5):%Y-%m-%dT%H:%M:%SZ} shop: cannot reach the database"
    yield "Traceback (most recent call last):"
    yield f"{day + timedelta(hours=23):%Y-%m-%dT%H:%M:%SZ} shop GET /health 200 1ms"


def send_a_day() -> tuple[datetime, datetime]:
    """Send the lines of a day that no earlier run has used; return the day, and when they were sent."""
    with Topics() as topics:
        topics.create(LINES, partitions=1, exist_ok=True)
        sent = sum(partition.latest for partition in topics.describe(LINES).partitions)
    day, now = datetime(2024, 5, 1, tzinfo=UTC) + timedelta(days=sent // PER_DAY), datetime.now(UTC)
    with Producer() as producer:
        for line in sample_lines(day):
            producer.send(LINES, line)
    return day, now


def rows_of(day: datetime, topic: str) -> list[dict[str, Any]]:
    """Return the rows of a topic whose window lies in a day, by time."""
    with Consumer(topic, follow=False) as rows:
        found = [row.value for row in rows if row.value["window_start"].startswith(f"{day:%Y-%m-%d}")]
    return sorted(found, key=lambda row: (row["window_start"], row["service"]))


def main() -> None:
    day, began = send_a_day()
    app.run(drain=True)  # process all that is there, then end

    print("from   service  requests  errors  median  p95")
    for row in rows_of(day, SERVICES):
        times = f"{row['median']:<8.1f}{row['p95']:.1f}"
        print(f"{row['window_start'][11:16]}  {row['service']:<9}{row['requests']:<10}{row['error_rate']:<8.1%}{times}")
    for row in rows_of(day, ALERTS):
        print(f"alert: {row['service']} fails {row['error_rate']:.1%} from {row['window_start'][11:16]}")
    for topic in (UNREADABLE, f"{LINES}.dlq"):
        with Consumer(topic, start=began, follow=False, format="text") as broken:
            for line in broken:
                print(f"{topic}: {line.value}")


if __name__ == "__main__":
    main()
