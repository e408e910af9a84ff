"""Programs whose plans the tests look at."""

import headrace as hr

ORDERS = "order_id string, store int, customer string, amount double, at timestamp"


def orders(app, **options):
    return app.stream("orders", schema=ORDERS, key="customer", event_time="at", lateness="10 seconds", **options)


def retail() -> hr.App:
    """A bit of everything: windows, a join, a topic between stages, files, Python, a branch and a merge."""
    app = hr.App("retail")
    sales = orders(app)
    clicks = app.stream("clicks", schema="customer string, page string, at timestamp", event_time="at", idle="1 minute")
    (
        sales.filter("amount > 0")
        .dedupe("order_id", within="1 hour", name="once")
        .group_by("store")
        .window(hr.tumbling("1 minute"), grace="30 seconds", emit="final")
        .agg(revenue="sum(amount)", sales="count(*)", name="per-minute")
        .to("revenue")
    )
    large, small = sales.branch("amount > 100")
    large.repartition("store", name="by-store").with_columns(vat="amount * 0.2").sink("parquet", "lake/large")
    sales.join(clicks, on="customer", within="10 minutes", how="left", name="seen").to("orders-seen")
    small.select("store", "amount").to("small", latency="realtime")
    clicks.merge(clicks.filter("page = '/'")).map(shout, schema="page string").to("pages")
    return app


def counts() -> hr.App:
    """The smallest program with memory."""
    app = hr.App("counts", version=2, idle="5 seconds")
    orders(app).group_by("store").agg(n="count(*)", name="stores").to("counts")
    return app


def shout(row):
    return {"page": row["page"].upper()}
