"""Wrong clocks: the average temperature in each minute, from sensors whose clocks nobody has set.

Shows how times are put right before they are used. A sensor tells when it measured and when it sent, both by its own
clock; the gateway adds when it received, by a clock that is right. By as much as sending and receipt differ, the
sensor's clock is wrong, and so is the time of its measurement. A clock that is wrong by more than an hour is not
believed: its readings are found, with the reason, in the ledger of late events, the topic `<program>.late`.

Every run is another day, so that its readings are not late. Each day ends with a reading of the gateway's own: it is
filtered out, but its time closes the windows before it.

Run it: ``python examples/wrong_clocks.py``
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import headrace as hr
from headrace.log import Consumer, Producer, Topics

READINGS = "example-sensor-readings"
AVERAGES = "example-sensor-averages"

app = hr.App("example-wrong-clocks")

readings = app.stream(
    READINGS,
    schema="sensor string, celsius double, device_at timestamp, sent_at timestamp, received_at timestamp",
    key="sensor",
    event_time="device_at",
    lateness="30 seconds",
).correct_clock(event="device_at", sent="sent_at", received="received_at", max_skew="1 hour")
(
    readings.filter("sensor != 'gateway'")
    .group_by("sensor")
    .window(hr.tumbling("1 minute"), emit="final")
    .agg(
        readings="count(*)",
        average="round(avg(celsius), 1)",
        ahead="max(unix_timestamp(sent_at) - unix_timestamp(received_at))",  # seconds; below 0 for a clock that is slow
    )
    .to(AVERAGES)
)

AHEAD = {
    "cellar": timedelta(0),
    "attic": timedelta(minutes=40),
    "garden": timedelta(minutes=-10),
    "shed": timedelta(days=-365),  # its battery was changed
    "gateway": timedelta(0),
}
PER_DAY = 4 * 8 + 1
_KEPT = timedelta(seconds=20)  # for so long a sensor gathers readings before it sends them


def reading(sensor: str, celsius: float, at: datetime) -> dict[str, Any]:
    """Return what the gateway passes on of a measurement."""
    device_at = at + AHEAD[sensor]
    times = {"device_at": device_at, "sent_at": device_at + _KEPT, "received_at": at + _KEPT}
    return {"sensor": sensor, "celsius": celsius, **times}


def sample_readings(day: datetime) -> Iterator[dict[str, Any]]:
    """Yield two minutes of readings from nine o'clock, one every fifteen seconds, and the gateway's in the evening."""
    for number in range(8):
        for warmth, sensor in enumerate(sensor for sensor in AHEAD if sensor != "gateway"):
            yield reading(sensor, 10.0 + 5 * warmth + number, day + timedelta(hours=9, seconds=15 * number))
    yield reading("gateway", 20.0, day + timedelta(hours=23))


def send_a_day() -> tuple[datetime, datetime]:
    """Send the readings of a day that no earlier run has used; return the day, and when they were sent."""
    with Topics() as topics:
        topics.create(READINGS, partitions=2, exist_ok=True)
        sent = sum(partition.latest for partition in topics.describe(READINGS).partitions)
    day, now = datetime(2024, 5, 1, tzinfo=UTC) + timedelta(days=sent // PER_DAY), datetime.now(UTC)
    with Producer() as producer:
        for event in sample_readings(day):
            producer.send(READINGS, event, key=event["sensor"])
    return day, now


def averages_of(day: datetime) -> list[dict[str, Any]]:
    """Return the rows whose window lies in a day, by time."""
    with Consumer(AVERAGES, follow=False) as rows:
        found = [row.value for row in rows if row.value["window_start"].startswith(f"{day:%Y-%m-%d}")]
    return sorted(found, key=lambda row: (row["window_start"], row["sensor"]))


def main() -> None:
    day, began = send_a_day()
    app.run(drain=True)  # process all that is there, then end

    print("from   sensor  readings  average  clock ahead")
    for row in averages_of(day):
        figures = f"{row['readings']:<10}{row['average']:<9.1f}{row['ahead']} s"
        print(f"{row['window_start'][11:16]}  {row['sensor']:<8}{figures}")
    with Consumer(f"{app.name}.late", start=began, follow=False) as events:
        late = list(events)
    print(f"not believed: {len(late)} readings, the first of them from the {late[0].key}")
    print(late[0].headers["headrace-reason"])


if __name__ == "__main__":
    main()
