"""Producer and Consumer beside bare confluent-kafka loops that do the same JSON work."""

import time
import uuid
from collections.abc import Callable
from statistics import median
from typing import Any

import confluent_kafka
import orjson

from headrace.log import Consumer, Producer, Topics
from headrace.log.connection import connect
from headrace.log.producer import DEFAULTS as PRODUCER

EVENTS = 300_000
ROUNDS = 5
INVOICES: list[dict[str, Any]] = [
    {
        "invoice": f"S{i % 99:02}-{i:08}",
        "store": i % 99,
        "customer": f"c{i % 1000}",
        "lines": [{"sku": f"p{i % 40}", "quantity": 1 + i % 3, "price": 2.49}],
        "amount": round(2.49 * (1 + i % 3), 2),
        "at": "2024-05-01T10:00:05Z",
    }
    for i in range(1000)
]
SAMPLE = orjson.dumps(INVOICES[0])


def bare_producer(topic: str, address: dict[str, Any]) -> float:
    producer = confluent_kafka.Producer({**PRODUCER, **address})
    begun = time.perf_counter()
    for number in range(EVENTS):
        invoice = INVOICES[number % 1000]
        while True:
            try:
                producer.produce(topic, orjson.dumps(invoice), invoice["customer"])
                break
            except BufferError:
                producer.poll(0.05)
        if not number % 64:
            producer.poll(0)
    producer.flush()
    return time.perf_counter() - begun


def our_producer(topic: str, _: dict[str, Any]) -> float:
    begun = time.perf_counter()
    with Producer() as producer:
        for number in range(EVENTS):
            invoice = INVOICES[number % 1000]
            producer.send(topic, invoice, key=invoice["customer"])
    return time.perf_counter() - begun


def bare_consumer(topic: str, address: dict[str, Any]) -> float:
    settings = {**address, "group.id": str(uuid.uuid4()), "auto.offset.reset": "earliest", "fetch.wait.max.ms": 100}
    consumer = confluent_kafka.Consumer(settings)
    consumer.subscribe([topic])
    seen, total, begun = 0, 0.0, 0.0
    while seen < EVENTS:
        for message in consumer.consume(1000, 0.1):
            if message.error() is None:
                total += orjson.loads(message.value())["amount"]
                seen += 1
        begun = begun or (seen and time.perf_counter())  # joining the group does not count
    taken = time.perf_counter() - begun
    consumer.close()
    return taken


def our_consumer(topic: str, _: dict[str, Any]) -> float:
    total, begun = 0.0, 0.0
    with Consumer(topic, group=str(uuid.uuid4())) as consumer:
        for seen, event in enumerate(consumer, 1):
            total += event.value["amount"]
            begun = begun or time.perf_counter()
            if seen == EVENTS:
                break
        return time.perf_counter() - begun


def measure() -> dict[str, tuple[float, float, float]]:
    """Return for each client our events/s, the bare loop's, and the median ratio of rounds run side by side."""
    address = connect()
    results: dict[str, tuple[float, float, float]] = {}
    with Topics() as topics:
        full = f"bench-{uuid.uuid4()}"
        topics.create(full)
        our_producer(full, address)
        pairs: dict[str, tuple[Callable[..., float], Callable[..., float]]] = {
            "Producer": (our_producer, bare_producer),
            "Consumer": (our_consumer, bare_consumer),
        }
        for name, (ours, bare) in pairs.items():
            rounds = []
            for number in range(ROUNDS):
                order = (ours, bare) if number % 2 else (bare, ours)  # neither is always the first
                rates = {run: _rate(run, topics, full, address) for run in order}
                rounds.append((rates[ours], rates[bare], rates[ours] / rates[bare]))
            results[name] = (median(r[0] for r in rounds), median(r[1] for r in rounds), median(r[2] for r in rounds))
        topics.delete(full)
    return results


def _rate(run: Callable[..., float], topics: Topics, full: str, address: dict[str, Any]) -> float:
    topic = full if "consumer" in run.__name__ else f"bench-{uuid.uuid4()}"
    topics.create(topic, exist_ok=True)
    taken = run(topic, address)
    if topic != full:
        topics.delete(topic)
    return EVENTS / taken
