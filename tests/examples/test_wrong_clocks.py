"""Sensors with wrong clocks, with readings given by hand."""

from datetime import UTC, datetime, timedelta

import orjson

from examples.wrong_clocks import AVERAGES, READINGS, app
from headrace.testing import TestDriver

NINE = datetime(2024, 5, 1, 9, tzinfo=UTC)


def at(second: float) -> datetime:
    return NINE + timedelta(seconds=second)


def reading(sensor: str, celsius: float, second: float, ahead: float, kept: float = 5) -> dict[str, object]:
    """Return what was measured at a second, and sent after ``kept`` more, by a clock that is ``ahead``."""
    times = {"device_at": at(second + ahead), "sent_at": at(second + kept + ahead), "received_at": at(second + kept)}
    return {"sensor": sensor, "celsius": celsius, **times}


def test_readings_count_in_the_minute_in_which_they_were_made_whatever_the_clock_said():
    with TestDriver(app) as t:
        t.send(
            READINGS,
            [
                reading("right", 10.0, 0, 0),
                reading("right", 11.0, 59, 0),
                reading("fast", 20.0, 30, 2400),
                reading("fast", 21.0, 60, 2400),
                reading("slow", 30.0, 15, -3600),  # just an hour
                reading("slow", 32.0, 45, -3600, kept=40),
                reading("new", 40.0, 0, -365 * 86400),
                reading("far", 50.0, 0, 3600.001),
                reading("gateway", 60.0, 30, 0),
            ],
        )
        assert t.read(AVERAGES) == []  # a clock that is fast closes no window
        t.advance_to(at(200))
        first = {"window_start": at(0), "window_end": at(60)}
        second = {"window_start": at(60), "window_end": at(120)}
        assert t.read(AVERAGES) == [
            {**first, "sensor": "fast", "readings": 1, "average": 20.0, "ahead": 2400},
            {**first, "sensor": "right", "readings": 2, "average": 10.5, "ahead": 0},
            {**first, "sensor": "slow", "readings": 2, "average": 31.0, "ahead": -3600},
            {**second, "sensor": "fast", "readings": 1, "average": 21.0, "ahead": 2400},
        ]

        t.send(READINGS, [reading("right", 12.0, 30, 0)])  # its time was believed, but it came too late
        told = [(orjson.loads(row["value"])["sensor"], row["offset"], row["reason"]) for row in t.late()]
        assert told[:2] == [
            ("new", 6, "late: the device's clock is wrong by 31536000.000 s, which is more than 1 h"),
            ("far", 7, "late: the device's clock is wrong by -3600.001 s, which is more than 1 h"),
        ]
        assert [(sensor, offset) for sensor, offset, _ in told[2:]] == [("right", 9)]
        assert "happened at 2024-05-01T09:00:30.000Z, but time" in told[2][2]
        assert t.dead_letters() == []
