"""Inventory: how many units of each product each shop has, down with what is sold, up with what is supplied.

A return brings units back: its lines count below zero. The aggregation is over all time, so nothing in its topics is
ever too late for it. What runs low is told, until it is supplied.

Run it: ``headrace run examples/retail/inventory.py``
"""

import headrace as hr

app = hr.App("inventory", every="15 seconds")

invoices = app.stream("invoices", schema="shop string, lines array<struct<product: string, units: int>>", key="shop")
supplies = app.stream("supplies", schema="shop string, product string, units int", key="shop")

sold = invoices.explode("lines", as_="line").select("shop", product="line.product", units="-line.units")
stock = sold.merge(supplies.select("shop", "product", "units")).group_by("shop", "product").agg(units="sum(units)")
stock.to("stock")

hr.Alert(
    "low-stock",
    stock,
    when="units < 10",
    until="units >= 30",
    lasting="10 seconds",
    message="{product} in {shop}: only {units} left",
)

if __name__ == "__main__":
    app.run()
