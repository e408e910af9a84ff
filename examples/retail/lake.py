"""Data lake: every invoice in Parquet files, for those who ask about last year.

Nobody waits for them, so a batch is written every 20 seconds, which makes fewer and larger files, and leaves the
machine to programs that are in a hurry. Each invoice is in the files once, in a folder of its day, which is one of UTC.

Run it: ``headrace run examples/retail/lake.py``; the files are under `lake/`, or where RETAIL_LAKE says.
"""

import os

import headrace as hr

app = hr.App("lake", every="20 seconds")

invoices = app.stream(
    "invoices",
    schema="""
        invoice string, shop string, city string, till int, kind string, loyalty string, card string,
        lines array<struct<product: string, name: string, units: int, cents: bigint>>, cents bigint,
        delivery struct<address: string, city: string>, refund_of string, at timestamp
    """,
    key="shop",
)
days = invoices.with_columns(day="date(at)")
days.sink("parquet", os.environ.get("RETAIL_LAKE", "lake"), partition_by="day", name="lake")

if __name__ == "__main__":
    app.run()
