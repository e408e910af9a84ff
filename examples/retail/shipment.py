"""Shipment: home deliveries, joined with what the warehouse reserves for them within five minutes.

A delivery comes out with its reservation as soon as both are there; one for which nothing was reserved in time comes
out once, as missing, when none can come any more, so that somebody can look after it.

Run it: ``headrace run examples/retail/shipment.py``
"""

import headrace as hr

app = hr.App("shipment", every="20 seconds")

invoices = app.stream(
    "invoices",
    schema="invoice string, shop string, kind string, delivery struct<address: string, city: string>, at timestamp",
    key="invoice",
    event_time="at",
    lateness="5 minutes",
)
reservations = app.stream(
    "reservations",
    schema="invoice string, warehouse string, at timestamp",
    key="invoice",
    event_time="at",
    lateness="5 minutes",
)

ordered = invoices.filter("kind = 'sale' and delivery is not null").select(
    "invoice", "shop", "at", address="delivery.address", city="delivery.city"
)
reserved = reservations.select("invoice", "warehouse", reserved_at="at")
shipments = ordered.join(reserved, on="invoice", after="5 minutes", how="left", name="reserved")
shipments.with_columns(state="if(warehouse is null, 'missing', 'reserved')").to("shipments")

if __name__ == "__main__":
    app.run()
