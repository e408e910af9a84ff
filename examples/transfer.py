"""A transaction: read from one topic, write to another, exactly once.

Each transfer becomes two postings, one negative and one positive. The postings and the position in the transfers are
committed together, so a failure in the middle leaves neither half a transfer nor a second copy of one: the transfers
of the aborted transaction are read again, and its postings are never seen.
"""

from itertools import islice

from headrace.log import Consumer, Producer, Topics

TRANSFERS = "example-transfers"
POSTINGS = "example-postings"
GROUP = "example-ledger"
COUNT = 10
BATCH = 4


def order_transfers() -> None:
    with Producer() as producer:
        for number in range(COUNT):
            producer.send(TRANSFERS, {"number": number, "from": "ann", "to": "bob", "cents": 10 * (number + 1)})


def post_all(fail_once_at: int) -> int:
    """Post all transfers, a few in each transaction; return how many transactions were aborted."""
    posted = aborted = 0
    with (
        Consumer(TRANSFERS, group=GROUP, commit="manual") as consumer,
        Producer(transactional_id="example-ledger") as producer,
    ):
        while posted < COUNT:
            size = min(BATCH, COUNT - posted)
            try:
                with producer.transaction(consumer):
                    post_batch(consumer, producer, size, -1 if aborted else fail_once_at)
                posted += size
            except RuntimeError as error:
                aborted += 1
                print(f"aborted: {error}")
    return aborted


def post_batch(consumer: Consumer, producer: Producer, size: int, fail_at: int) -> None:
    """Post the next ``size`` transfers; fail between the two postings of the one with the number ``fail_at``."""
    for event in islice(consumer, size):
        transfer = event.value
        producer.send(POSTINGS, {"account": transfer["from"], "cents": -transfer["cents"]}, key=transfer["from"])
        if transfer["number"] == fail_at:
            raise RuntimeError(f"failed in the middle of transfer {fail_at}")
        producer.send(POSTINGS, {"account": transfer["to"], "cents": transfer["cents"]}, key=transfer["to"])


def main() -> None:
    with Topics() as topics:
        topics.create(TRANSFERS, partitions=1, exist_ok=True)
        topics.create(POSTINGS, partitions=2, exist_ok=True)
        already = {p.id: p.latest for p in topics.describe(POSTINGS).partitions}
    order_transfers()
    aborted = post_all(fail_once_at=5)

    with Consumer(POSTINGS, start=already, follow=False) as postings:
        seen = [event.value for event in postings]
    bob = sum(posting["cents"] for posting in seen if posting["account"] == "bob")
    balance = sum(posting["cents"] for posting in seen)
    print(f"{COUNT} transfers, {aborted} transaction aborted, {len(seen)} postings")
    print(f"bob received {bob} cents; all postings together are {balance}")


if __name__ == "__main__":
    main()
