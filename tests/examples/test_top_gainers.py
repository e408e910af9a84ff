"""Top gainers, with trades given by hand."""

from datetime import UTC, date, datetime, timedelta

from examples.top_gainers import GAINERS, TRADES, app
from headrace.testing import TestDriver

DAY = datetime(2024, 5, 1, tzinfo=UTC)


def trade(symbol: str, minute: float, price: float, market: str = "Oslo") -> dict[str, object]:
    return {"market": market, "symbol": symbol, "price": price, "at": DAY + timedelta(hours=9, minutes=minute)}


def best(market: str = "Oslo", day: int = 1, **gains: float) -> dict[str, object]:
    shares = [{"symbol": symbol, "gain": gain} for symbol, gain in gains.items()]
    return {"day": date(2024, 5, day), "market": market, "best": shares}


def test_a_share_that_falls_leaves_the_list_and_the_fourth_moves_up():
    with TestDriver(app) as t:
        t.send(TRADES, [*(trade(symbol, 0, 100.0) for symbol in "ABCD"), trade("X", 0, 50.0, "Lima")])
        assert t.read(GAINERS) == [best("Lima", X=0.0), best(D=0.0, C=0.0, B=0.0)]

        t.send(TRADES, [trade("A", 1, 104.0), trade("B", 1, 109.0), trade("C", 1, 106.5), trade("D", 1, 101.0)])
        assert t.read(GAINERS) == [best(B=9.0, C=6.5, A=4.0)]  # nothing happened in Lima

        t.send(TRADES, [trade("B", 2, 95.0)])
        assert t.read(GAINERS) == [best(C=6.5, A=4.0, D=1.0)]
        t.send(TRADES, [trade("D", 3, 110.0), trade("D", 4, 107.0), trade("X", 4, 49.0, "Lima")])
        assert t.read(GAINERS) == [best("Lima", X=-2.0), best(D=7.0, C=6.5, A=4.0)]
        t.send(TRADES, [trade("D", 3.5, 1.0)])  # an older trade that came later is not the latest price
        assert [row for row in t.table(GAINERS) if row["market"] == "Oslo"] == [best(D=7.0, C=6.5, A=4.0)]

        t.send(TRADES, [trade("B", 24 * 60, 95.0)])  # another day begins with another list
        assert t.table(GAINERS)[-1] == best(day=2, B=0.0)
