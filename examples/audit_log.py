"""An audit log: a producer writes, a consumer group reads and commits by hand.

The first auditor fails between two commits. The second one goes on where the group has committed, so it sees again
what the first handled since then. Nothing is left out, and nothing is booked twice, because the auditor knows the
number of an entry it has booked already.
"""

from headrace.log import Consumer, Producer, Topics

TOPIC = "example-audit"
GROUP = "example-auditors"
ENTRIES = 12
COMMIT_EVERY = 3


def write_entries() -> int:
    """Send twelve entries; those of one account keep their order."""
    total = 0
    with Producer() as producer:
        for number in range(ENTRIES):
            entry = {"number": number, "account": f"account-{number % 4}", "cents": 100 * (number + 1)}
            producer.send(TOPIC, entry, key=entry["account"], headers={"source": "till-7"})
            total += entry["cents"]
    return total  # the producer is closed: all of them are acknowledged


def audit(book: dict[int, int], fail_after: int | None = None) -> tuple[int, int]:
    """Book what the group has not committed; return how many entries came, and how many were booked before."""
    seen = again = 0
    with Consumer(TOPIC, group=GROUP, commit="manual", follow=False) as consumer:
        for event in consumer:
            seen += 1
            again += event.value["number"] in book
            book[event.value["number"]] = event.value["cents"]
            if seen == fail_after:
                raise RuntimeError(f"failed after {seen} entries")
            if seen % COMMIT_EVERY == 0:
                consumer.commit()
        consumer.commit()
    return seen, again


def main() -> None:
    with Topics() as topics:
        topics.create(TOPIC, partitions=3, exist_ok=True)
    total = write_entries()
    print(f"wrote {ENTRIES} entries: {total} cents")

    book: dict[int, int] = {}
    try:
        audit(book, fail_after=5)
    except RuntimeError as error:
        print(f"first auditor: {error}, of which {COMMIT_EVERY} are committed")
    seen, again = audit(book)
    print(f"second auditor: {seen} entries, {again} of them for the second time")
    print(f"booked {len(book)} entries: {sum(book.values())} cents")


if __name__ == "__main__":
    main()
