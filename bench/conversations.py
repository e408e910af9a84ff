"""Work queues and requests: how fast message by message can be."""

import threading
import time
import uuid
from statistics import quantiles

from headrace.log import Producer, Queue, Requester, Responder, Topics

JOBS = 2_000
REQUESTS = 500
IN_FLIGHT = 10_000


def queue_rates() -> tuple[float, float]:
    """Return jobs/s of one worker with confirmed acknowledgements, and with acknowledgements sent along."""
    return _jobs(confirm=True, prefetch=1), _jobs(confirm=False, prefetch=500)


def _jobs(confirm: bool, prefetch: int) -> float:
    topic = f"jobs-{uuid.uuid4()}"
    with Topics() as topics:
        topics.create(topic, partitions=1)
    with Producer(config={"batch.num.messages": 1}) as producer:
        for number in range(JOBS):
            producer.send(topic, number)
    with Queue(topic, "bench", confirm=confirm, prefetch=prefetch) as queue:
        done, begun = 0, 0.0
        while done < JOBS:
            if job := queue.get():
                begun = begun or time.perf_counter()
                job.ack()
                done += 1
        return JOBS / (time.perf_counter() - begun)


def request_figures() -> tuple[float, float, float]:
    """Return p50 and p99 seconds of one request after the other, and requests/s with many in flight."""
    topic = f"requests-{uuid.uuid4()}"
    with Topics() as topics:
        topics.create(topic, partitions=1)
    with Responder(topic, lambda request: request.value) as responder, Requester(topic) as requester:
        thread = threading.Thread(target=responder.run)
        thread.start()
        requester.request(0)
        seconds = []
        for number in range(REQUESTS):
            begun = time.perf_counter()
            requester.request(number)
            seconds.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        for reply in [requester.submit(number) for number in range(IN_FLIGHT)]:
            reply.result()
        rate = IN_FLIGHT / (time.perf_counter() - begun)
        responder.stop()
        thread.join()
    hundredths = quantiles(seconds, n=100)
    return hundredths[49], hundredths[98], rate
