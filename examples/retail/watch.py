"""Watch: shops that are open, and give no sign.

A shop that is open says so every 20 seconds. If it says nothing for a minute it is cut off, and somebody is told. A
shop that closes deletes its row, and is not waited for.

Run it: ``headrace run examples/retail/watch.py``
"""

import headrace as hr

app = hr.App("watch", every="20 seconds")

shops = app.table("shops-open", schema="shop string, city string", key="shop")
hr.Alert("shop-silent", shops, absent="1 minute", message="{shop} in {city} has given no sign for a minute")

if __name__ == "__main__":
    app.run()
