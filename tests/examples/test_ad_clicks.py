"""Ad clicks, with impressions and clicks given by hand."""

from datetime import UTC, datetime, timedelta

from examples.ad_clicks import CLICKS, IGNORED, IMPRESSIONS, RATES, app
from headrace.testing import TestDriver

NINE = datetime(2024, 5, 1, 9, tzinfo=UTC)


def at(minute: float) -> datetime:
    return NINE + timedelta(minutes=minute)


def impression(ad: str, minute: float, robot: bool = False) -> dict[str, object]:
    return {"ad": ad, "campaign": ad[:5], "robot": robot, "at": at(minute)}


def click(ad: str, minute: float, robot: bool = False) -> dict[str, object]:
    return {"ad": ad, "robot": robot, "clicked_at": at(minute)}


def test_an_ad_is_clicked_within_ten_minutes_or_ignored_once():
    with TestDriver(app) as t:
        people = [impression("boots-1", 0), impression("boots-2", 1), impression("tents-1", 2)]
        t.send(IMPRESSIONS, [*people, impression("tents-2", 3, robot=True)])
        t.send(CLICKS, [click("boots-1", 10), click("boots-1", 9), click("tents-1", 12.1), click("boots-2", 2, True)])
        assert t.read(IGNORED) == []

        t.advance_to(at(13))
        ignored = sorted(t.read(IGNORED), key=lambda row: row["at"])
        assert ignored == [
            {"ad": "boots-2", "campaign": "boots", "at": at(1)},
            {"ad": "tents-1", "campaign": "tents", "at": at(2)},
        ]
        assert t.read(RATES) == []

        t.advance_to(at(60))
        assert t.read(IGNORED) == []
        window = {"window_start": at(0), "window_end": at(30)}
        assert sorted(t.read(RATES), key=lambda row: row["campaign"]) == [
            {**window, "campaign": "boots", "impressions": 2, "clicked": 1, "rate": 0.5},
            {**window, "campaign": "tents", "impressions": 1, "clicked": 0, "rate": 0.0},
        ]
