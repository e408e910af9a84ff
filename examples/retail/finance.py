"""Finance: what each shop has turned over on each day, to the cent.

The books must be right, so nothing that reaches `invoices` is ever too late for them: this is an aggregation over all
time, grouped by the day, and not a window that closes. Each invoice is counted exactly once, whatever dies in between.
Money is in whole cents: sums of them do not depend on their order.

Days are those of UTC, not of the shop's city.

Run it: ``headrace run examples/retail/finance.py``
"""

import headrace as hr

app = hr.App("finance", every="20 seconds")

invoices = app.stream("invoices", schema="shop string, kind string, cents bigint, at timestamp", key="shop")
daily = (
    invoices.with_columns(day="date(at)")
    .group_by("day", "shop")
    .agg(
        cents="sum(cents)",
        invoices="count(*)",
        returns="count_if(kind = 'return')",
        refunded="sum(if(kind = 'return', -cents, 0))",
    )
)
daily.to("daily")

if __name__ == "__main__":
    app.run()
