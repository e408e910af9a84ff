"""Log analytics, with lines given by hand."""

from datetime import UTC, datetime

from examples.log_analytics import ALERTS, LINES, SERVICES, UNREADABLE, app
from headrace.testing import TestDriver


def nine(minute: int) -> datetime:
    return datetime(2024, 5, 1, 8 if minute < 0 else 9, minute % 60, tzinfo=UTC)


def test_error_rates_percentiles_alerts_and_what_cannot_be_read():
    good = [f"2024-05-01T09:0{n % 5}:00Z shop GET /cart 200 {10 * n}ms" for n in range(1, 10)]
    bad = ["2024-05-01T09:01:00Z shop POST /order 503 500ms", "2024-05-01T09:02:00Z search GET /find 500 7ms"]
    broken = ["2024-05-01T09:03:00Z shop: out of memory", "no time at all"]
    with TestDriver(app) as t:
        t.send(LINES, [*good, *bad, *broken, "2024-05-01T23:00:00Z shop GET /health 200 1ms"])

        figures = {"requests": 10, "error_rate": 0.1, "median": 55.0, "p95": 315.5}
        search = {"service": "search", "requests": 1, "error_rate": 1.0, "median": 7.0, "p95": 7.0}
        windows = [{"window_start": nine(start), "window_end": nine(start + 10)} for start in (-5, 0)]
        found = sorted(t.read(SERVICES), key=lambda row: (row["window_start"], row["service"]))
        assert found == [row for w in windows for row in ({**w, **search}, {**w, "service": "shop", **figures})]
        alerts = sorted(t.read(ALERTS), key=lambda row: row["window_start"])
        assert alerts == [{**w, "service": "shop", **figures} for w in windows]
        assert t.read(UNREADABLE) == [{"value": "2024-05-01T09:03:00Z shop: out of memory"}]
        [letter] = t.dead_letters()
        assert (letter["value"], letter["topic"]) == (b"no time at all", LINES)
        assert "has no time" in letter["reason"]
