"""Request and reply: a price service behind a topic.

Many requests are in flight at once, each gets its own reply, and what the service raises reaches the one who asked.
"""

import threading

from headrace.core.errors import RemoteError
from headrace.log import Event, Requester, Responder, Topics

TOPIC = "example-prices"
CENTS = {"espresso": 890, "oat milk": 219, "rye bread": 340}
BASKET = {"espresso": 2, "oat milk": 3, "rye bread": 1}


def price(request: Event) -> dict[str, int]:
    """Answer one request; a product that nobody sells is an error, which the requester is told."""
    product, quantity = request.value["product"], request.value["quantity"]
    if product not in CENTS:
        raise LookupError(f"nobody sells {product}")
    return {"cents": CENTS[product] * quantity}


def shop() -> None:
    with Requester(TOPIC, timeout="20 seconds") as prices:
        asked = {
            product: prices.submit({"product": product, "quantity": quantity}) for product, quantity in BASKET.items()
        }
        for product, reply in asked.items():
            print(f"{BASKET[product]} x {product}: {reply.result()['cents']} cents")
        print(f"total: {sum(reply.result()['cents'] for reply in asked.values())} cents")
        try:
            prices.request({"product": "moon dust", "quantity": 1})
        except RemoteError as error:
            print(f"refused: {error}")


def main() -> None:
    with Topics() as topics:
        topics.create(TOPIC, partitions=2, exist_ok=True)
    with Responder(TOPIC, price) as service:
        thread = threading.Thread(target=service.run)
        thread.start()
        try:
            shop()
        finally:
            service.stop()
            thread.join()


if __name__ == "__main__":
    main()
