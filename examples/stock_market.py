"""Stock market: statistics of each share in each minute, and the best gainers among all shares.

Shows tumbling windows with final results, aggregates that follow the time of events (first, last, moving average), and
an aggregation of another one's results: the top three of each minute are chosen from one row for each share.

Every run is another trading day, so that its trades are not late. Each day ends with a closing bell, a trade of no
shares: it is filtered out, but its time closes the windows before it.

Run it: ``python examples/stock_market.py``
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import headrace as hr
from headrace.log import Consumer, Producer, Topics

TRADES = "example-trades"
STATISTICS = "example-stock-statistics"
GAINERS = "example-top-gainers"

app = hr.App("example-stock-market")

trades = app.stream(
    TRADES, schema="symbol string, price double, shares int, at timestamp", key="symbol", event_time="at"
)
statistics = (
    trades.filter("shares > 0")
    .group_by("symbol")
    .window(hr.tumbling("1 minute"), emit="final")
    .agg(
        low="min(price)",
        high="max(price)",
        average="round(avg(price), 2)",
        trades="count(*)",
        moving="round(moving_avg(price, 5), 2)",  # of the last five trades
        opened="first(price)",
        closed="last(price)",
    )
)
statistics.to(STATISTICS)

gains = statistics.with_columns(gain="round(100 * (closed - opened) / opened, 2)")
gains.group_by("window_start", "window_end").agg(best="top_n(struct(symbol, gain), gain, 3)").to(GAINERS)

COURSES = {"ALFA": 0.50, "BRAVO": -0.25, "DELTA": 0.75, "ECHO": 0.25, "KILO": 0.0}  # per trade
PER_SHARE = 36  # trades in a day, one every five seconds
PER_DAY = len(COURSES) * PER_SHARE + 1


def sample_trades(day: datetime) -> Iterator[dict[str, Any]]:
    """Yield three minutes of trades from nine o'clock, and the closing bell."""
    for number in range(PER_SHARE):
        at = day + timedelta(hours=9, seconds=5 * number)
        for symbol, course in COURSES.items():
            price = 100.0 + course * number + number % 3
            yield {"symbol": symbol, "price": price, "shares": 10 + number, "at": at}
    yield {"symbol": "BELL", "price": 0.0, "shares": 0, "at": day + timedelta(hours=17)}


def send_a_day() -> datetime:
    """Send the trades of a day that no earlier run has used."""
    with Topics() as topics:
        topics.create(TRADES, partitions=2, exist_ok=True)
        sent = sum(partition.latest for partition in topics.describe(TRADES).partitions)
    day = datetime(2024, 5, 1, tzinfo=UTC) + timedelta(days=sent // PER_DAY)
    with Producer() as producer:
        for trade in sample_trades(day):
            producer.send(TRADES, trade, key=trade["symbol"])
    return day


def rows_of(day: datetime, topic: str) -> list[dict[str, Any]]:
    """Return the rows of a topic whose window lies in a day, by time."""
    with Consumer(topic, follow=False) as rows:
        found = [row.value for row in rows if row.value["window_start"].startswith(f"{day:%Y-%m-%d}")]
    return sorted(found, key=lambda row: (row["window_start"], row.get("symbol", "")))


def main() -> None:
    day = send_a_day()
    app.run(drain=True)  # process all that is there, then end

    print("from   share   low     high    average moving  trades")
    for row in rows_of(day, STATISTICS):
        figures = "".join(f"{row[name]:<8.2f}" for name in ("low", "high", "average", "moving"))
        print(f"{row['window_start'][11:16]}  {row['symbol']:<8}{figures}{row['trades']}")
    for row in rows_of(day, GAINERS):
        best = ", ".join(f"{share['symbol']} {share['gain']:+.2f} %" for share in row["best"])
        print(f"{row['window_start'][11:16]}  best gainers: {best}")


if __name__ == "__main__":
    main()
