"""Stock market statistics, with trades given by hand."""

from datetime import UTC, datetime, timedelta

from examples.stock_market import GAINERS, STATISTICS, TRADES, app
from headrace.testing import TestDriver

NINE = datetime(2024, 5, 1, 9, tzinfo=UTC)


def trade(symbol: str, second: int, price: float, shares: int = 1) -> dict[str, object]:
    return {"symbol": symbol, "price": price, "shares": shares, "at": NINE + timedelta(seconds=second)}


def test_each_share_has_its_figures_and_the_best_three_are_chosen_from_them():
    with TestDriver(app) as t:
        t.send(TRADES, [trade("A", 50, 12.0), trade("A", 5, 10.0), trade("A", 20, 9.0), trade("B", 1, 20.0)])
        t.send(TRADES, [trade("B", 59, 21.0), trade("C", 0, 5.0), trade("C", 1, 4.0), trade("D", 3, 8.0)])
        assert t.read(STATISTICS) == []  # the minute is not over
        t.send(TRADES, [trade("A", 60, 12.0)])
        t.advance_to(NINE + timedelta(minutes=2))
        first = {"window_start": NINE, "window_end": NINE + timedelta(minutes=1)}
        second = {"window_start": NINE + timedelta(minutes=1), "window_end": NINE + timedelta(minutes=2)}
        names = ("low", "high", "average", "trades", "moving", "opened", "closed")
        assert sorted(t.read(STATISTICS), key=lambda row: (row["window_start"], row["symbol"])) == [
            {**first, "symbol": "A", **dict(zip(names, (9.0, 12.0, 10.33, 3, 10.33, 10.0, 12.0), strict=True))},
            {**first, "symbol": "B", **dict(zip(names, (20.0, 21.0, 20.5, 2, 20.5, 20.0, 21.0), strict=True))},
            {**first, "symbol": "C", **dict(zip(names, (4.0, 5.0, 4.5, 2, 4.5, 5.0, 4.0), strict=True))},
            {**first, "symbol": "D", **dict(zip(names, (8.0, 8.0, 8.0, 1, 8.0, 8.0, 8.0), strict=True))},
            {**second, "symbol": "A", **dict(zip(names, (12.0, 12.0, 12.0, 1, 12.0, 12.0, 12.0), strict=True))},
        ]
        best = [{"symbol": "A", "gain": 20.0}, {"symbol": "B", "gain": 5.0}, {"symbol": "D", "gain": 0.0}]
        assert t.read(GAINERS) == [{**first, "best": best}, {**second, "best": [{"symbol": "A", "gain": 0.0}]}]


def test_the_moving_average_is_that_of_the_last_five_trades_and_the_closing_bell_is_none():
    with TestDriver(app) as t:
        bell = trade("BELL", 3600, 0.0, shares=0)
        t.send(TRADES, [*(trade("A", second, float(second)) for second in range(10)), bell])
        assert [(row["symbol"], row["trades"], row["moving"]) for row in t.read(STATISTICS)] == [("A", 10, 7.0)]
        t.advance_to(NINE + timedelta(hours=2))
        assert t.read(STATISTICS) == []
