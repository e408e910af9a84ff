"""Events for programs of tests, and what must become of them."""

import json
import uuid
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta

from headrace.log import Consumer, Producer, Topics

KEYS = 50
STEP, WINDOW, LATENESS = timedelta(milliseconds=10), timedelta(seconds=10), timedelta(seconds=5)
BEGIN = datetime(2024, 5, 1, tzinfo=UTC)


class Feed:
    """Sends events in the order of their time, with some that are none, and knows what a program must make of them."""

    def __init__(self, brokers=None, partitions=4):
        self.brokers = brokers
        self.topic = f"feed-{uuid.uuid4().hex[:8]}"
        self.count = 0
        self.rows, self.late, self.dead = Counter(), Counter(), Counter()
        self.totals = defaultdict(list)
        with Topics(brokers) as topics:
            topics.create(self.topic, partitions=partitions)

    def send(self, count, late=False):
        """Send so many more; if ``late``, some of long ago among them."""
        with Producer(self.brokers) as producer:
            for n in range(self.count, self.count + count):
                key = f"k{n % KEYS}"
                producer.send(self.topic, self.event(n, key, late and n % 2_003 == 2_002), key=key)
        self.count += count

    def event(self, n, key, late):
        if n % 4_001 == 4_000:
            value = f"no event {n}".encode()
            self.dead[value] += 1
            return value
        at = BEGIN if late else BEGIN + n * STEP
        value = json.dumps({"k": key, "n": n, "at": at.isoformat()}).encode()
        self.rows[key, n] += 1
        if late:
            self.late[value] += 1
        else:
            self.totals[key, at - (at - BEGIN) % WINDOW].append(n)
        return value

    @property
    def sums(self):
        """The windows that are closed, once each."""
        end = BEGIN + (self.count - 1) * STEP - LATENESS
        return Counter((k, at, sum(ns), len(ns)) for (k, at), ns in self.totals.items() if at + WINDOW <= end)


def read(topic, format="json", brokers=None):
    """Return the events of a topic that are committed."""
    with Consumer(topic, follow=False, format=format, brokers=brokers) as consumer:
        return list(consumer)


def check(name, feed):
    """Compare everything that a program has written with what it must."""
    out = [(event.key, event.value["n"]) for event in read(f"{name}-out", brokers=feed.brokers)]
    assert_same(Counter(out), feed.rows)
    by_key = defaultdict(list)
    for key, n in out:
        by_key[key].append(n)
    assert all(ns == sorted(ns) for ns in by_key.values()), "a key's events are out of order"
    rows = [event.value for event in read(f"{name}-sums", brokers=feed.brokers)]
    sums = Counter((r["k"], datetime.fromisoformat(r["window_start"]), r["total"], r["c"]) for r in rows)
    assert_same(sums, feed.sums)
    if feed.dead:
        assert_same(Counter(event.value for event in read(f"{feed.topic}.dlq", "raw", feed.brokers)), feed.dead)
    if feed.late:
        assert_same(Counter(event.value for event in read(f"{name}.late", "raw", feed.brokers)), feed.late)


def assert_same(found, wanted):
    """Compare multisets, and say in few words how they differ."""
    lost, extra = wanted - found, found - wanted
    assert not lost and not extra, (
        f"{lost.total()} rows lost, {extra.total()} too many: {list(lost)[:5]} … {list(extra)[:5]}"
    )


def told(feed, **more):
    """Return what ``sums.py`` is to be told."""
    name = f"sums-{uuid.uuid4().hex[:8]}"
    return {"name": name, "input": feed.topic, "drain": True, **more}
