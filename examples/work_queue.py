"""A work queue: two workers share the jobs of a topic, and a job that nobody can do is put aside.

Each job goes to one worker. The poisoned one fails wherever it goes; after its third try it lies in the dead letters
with the reason, and the others are not held up by it.
"""

import threading
import time
from collections import Counter

from headrace.log import Consumer, Producer, Queue, Topics

TOPIC = "example-jobs"
GROUP = "example-workers"
JOBS = 20


class Shift:
    """What the workers have done; they end when every job is settled."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.total = 0
        self.tries = 0
        self.over = threading.Event()
        self._open = JOBS + 1
        self._lock = threading.Lock()

    def settle(self, worker: str, result: int | None) -> None:
        """Count a job that is done (``result``) or put aside (None)."""
        with self._lock:
            if result is not None:
                self.done[worker] += 1
                self.total += result
            self._open -= 1
            if not self._open:
                self.over.set()


def work(name: str, shift: Shift) -> None:
    one_by_one = {"max.poll.records": 1}  # else the first worker takes all that is there at once
    with Queue(TOPIC, group=GROUP, max_deliveries=3, config=one_by_one) as queue:
        while not shift.over.is_set():
            job = queue.get(timeout=0.5)
            if job is None:
                continue
            try:
                result = sum(job.value["numbers"])
            except TypeError as error:
                shift.tries += 1
                last = job.deliveries == queue.max_deliveries
                job.release(str(error))
                if last:
                    shift.settle(name, None)
            else:
                time.sleep(0.1)  # work takes time
                job.ack()
                shift.settle(name, result)


def send_jobs() -> int:
    expected = 0
    with Producer(config={"batch.num.messages": 1}) as producer:  # a batch would go to one worker
        for number in range(JOBS):
            producer.send(TOPIC, {"numbers": [number, number + 1]})
            expected += 2 * number + 1
        producer.send(TOPIC, {"numbers": "no numbers"})
    return expected


def main() -> None:
    with Topics() as topics:
        topics.create(TOPIC, partitions=1, exist_ok=True)
        topics.create(f"{TOPIC}.dlq", partitions=1, exist_ok=True)
        already = {p.id: p.latest for p in topics.describe(f"{TOPIC}.dlq").partitions}

    shift = Shift()
    workers = [threading.Thread(target=work, args=(name, shift)) for name in ("ann", "bob")]
    for worker in workers:
        worker.start()
    expected = send_jobs()
    for worker in workers:
        worker.join()

    shares = ", ".join(f"{name} {count}" for name, count in sorted(shift.done.items()))
    print(f"done {shift.done.total()} of {JOBS} jobs ({shares}); sum {shift.total}, expected {expected}")
    with Consumer(f"{TOPIC}.dlq", start=already, follow=False) as letters:
        for letter in letters:
            print(f"put aside after {shift.tries} tries: {letter.value}: {letter.headers['headrace-reason']}")


if __name__ == "__main__":
    main()
