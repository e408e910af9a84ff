"""Top gainers: the three shares of each market that have gained most today, told anew after every trade.

Shows an aggregation of a table whose rows change. A row for each share tells its gain of the day, and changes with its
price. The list of the best three is made of all these rows: what a row was is taken back before what it is counts, so a
share that falls leaves the list, and the one that was fourth moves up.

Compare `stock_market.py`, whose gainers are told once for each minute, when it is over. Every run is another day.

Run it: ``python examples/top_gainers.py``
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import headrace as hr
from headrace.log import Consumer, Producer, Topics

TRADES = "example-market-trades"
GAINERS = "example-gainers-of-the-day"

app = hr.App("example-top-gainers")

trades = app.stream(
    TRADES,
    schema="market string, symbol string, price double, at timestamp",
    key="symbol",
    event_time="at",
    lateness="1 minute",
)
gains = (
    trades.group_by("market", "symbol")
    .window(hr.tumbling("1 day"), emit="updates")
    .agg(opened="first(price)", latest="last(price)")
    .with_columns(day="date(window_start)", gain="round(100 * (latest - opened) / opened, 2)")
)
gains.group_by("day", "market").agg(best="top_n(struct(symbol, gain), gain, 3)").to(GAINERS)

MARKETS = {"ALFA": "Oslo", "BRAVO": "Oslo", "DELTA": "Oslo", "ECHO": "Oslo", "KILO": "Lima", "LIMA": "Lima"}
HOURS = (  # prices at nine o'clock, and what changed at ten and at eleven
    dict.fromkeys(MARKETS, 100.0),
    {"ALFA": 104.0, "BRAVO": 109.0, "DELTA": 106.5, "ECHO": 101.0, "KILO": 98.0},
    {"BRAVO": 95.0, "ECHO": 105.0, "LIMA": 99.0},
)
PER_DAY = sum(map(len, HOURS))


def sample_trades(day: datetime, number: int) -> Iterator[dict[str, Any]]:
    """Yield the trades of an hour."""
    at = day + timedelta(hours=9 + number)
    for symbol, price in HOURS[number].items():
        yield {"market": MARKETS[symbol], "symbol": symbol, "price": price, "at": at}


def new_day() -> datetime:
    """Return a day that no earlier run has used."""
    with Topics() as topics:
        topics.create(TRADES, partitions=2, exist_ok=True)
        sent = sum(partition.latest for partition in topics.describe(TRADES).partitions)
    return datetime(2024, 5, 1, tzinfo=UTC) + timedelta(days=sent // PER_DAY)


def send(events: Iterable[dict[str, Any]]) -> None:
    with Producer() as producer:
        for trade in events:
            producer.send(TRADES, trade, key=trade["symbol"])


def gainers_of(day: datetime) -> dict[str, list[dict[str, Any]]]:
    """Return the latest list of each market on a day: of the rows of one key, the last one holds."""
    with Consumer(GAINERS, follow=False) as rows:
        latest = {row.key: row.value for row in rows}
    return {row["market"]: row["best"] for row in latest.values() if row and row["day"] == f"{day:%Y-%m-%d}"}


def main() -> None:
    day = new_day()
    with app.start() as run:
        for number in range(len(HOURS)):
            send(sample_trades(day, number))
            run.drain()  # wait until all that is there has been processed
            for market, best in sorted(gainers_of(day).items()):
                shares = ", ".join(f"{share['symbol']} {share['gain']:+.2f} %" for share in best)
                print(f"{9 + number:02}:00  {market}: {shares}")


if __name__ == "__main__":
    main()
