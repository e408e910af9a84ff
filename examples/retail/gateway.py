"""Gateway: what tills send becomes invoices, each once, with the time at which it really happened.

Tills send an invoice again when they do not hear that it has arrived, some have wrong clocks, and a shop that was cut
off sends everything minutes later. Nobody behind the gateway has to know: they read `invoices`.

It goes by the time at which invoices arrive, so none is too late for it. A till that does not hear of an invoice sends
it again within 40 seconds, and after an outage within three minutes: for four the gateway knows its number.

Run it: ``headrace run examples/retail/gateway.py``
"""

import headrace as hr

INVOICE = """
    invoice string, shop string, city string, till int, kind string, loyalty string, card string,
    lines array<struct<product: string, name: string, units: int, cents: bigint>>, cents bigint,
    delivery struct<address: string, city: string>, refund_of string, at timestamp, sent_at timestamp
"""

app = hr.App("gateway")

sent = app.stream("till-invoices", schema=INVOICE, key="shop", time="append", lateness="30 seconds")
right = sent.correct_clock(event="at", sent="sent_at", max_skew="2 hours")
right.dedupe("invoice", within="4 minutes", name="once").to("invoices")

if __name__ == "__main__":
    app.run()
