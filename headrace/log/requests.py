"""Request and reply over topics."""

import heapq
import random
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from headrace.core.codec import encode_json
from headrace.core.errors import (
    DecodeError,
    HeadraceError,
    JobExpiredError,
    RemoteError,
    RequestError,
    RequestTimeoutError,
)
from headrace.core.quantities import parse_span
from headrace.log.client import logger
from headrace.log.consumer import Consumer
from headrace.log.event import Event
from headrace.log.names import check_topic_name
from headrace.log.producer import Producer
from headrace.log.queue import Job, Queue
from headrace.log.topics import Topics

_REQUEST = "headrace-request"  # ties a reply to its request
_REPLY_TOPIC = "headrace-reply-topic"
_REPLY_PARTITION = "headrace-reply-partition"
_DEADLINE = "headrace-deadline"  # seconds since the epoch; later nobody waits
_ERROR = "headrace-error"
_REPLY_PARTITIONS = 4
_TICK = 0.05  # seconds between two looks at what timed out
_PROMPT = {"linger.ms": 0}  # a request is waited for: do not wait for company


class Requester:
    """Sends requests to a topic and gives each its own reply, many in flight at once.

    Requests and replies are JSON. Replies come back through ``<topic>.replies``, which is created where it is missing.
    May be used from many threads.

    Args:
        topic: Where the requests go; must exist.
        timeout: How long to wait for a reply.
        brokers: ``host:port,…``; what is configured, or the managed broker, unless given.
        config: Further settings by Kafka's names.

    Example:
        >>> with Requester("prices") as prices:
        ...     prices.request({"sku": "p1"})
        {'price': 2.49}
    """

    def __init__(
        self,
        topic: str,
        *,
        timeout: str | timedelta = "30 seconds",
        brokers: str | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.topic = check_topic_name(topic)
        self._replies = f"{topic}.replies"
        self._timeout = parse_span(timeout)
        with Topics(brokers, config=config) as topics:
            topics.describe(topic)
            topics.create(self._replies, _REPLY_PARTITIONS, exist_ok=True, retention="1 hour")
            count = len(topics.describe(self._replies).partitions)
        self._partition = random.randrange(count)
        self._waiting: dict[str, Future[Any]] = {}
        self._deadlines: list[tuple[float, str]] = []
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._producer = Producer(brokers, config={**_PROMPT, **(config or {})})
        self._consumer = Consumer(
            self._replies, start="latest", partitions=[self._partition], brokers=brokers, config=config
        )
        self._thread = threading.Thread(target=self._listen, name=f"replies to {topic}", daemon=True)
        self._thread.start()

    def request(self, value: Any, *, key: Any = None, timeout: str | timedelta | None = None) -> Any:
        """Send a request and wait for the value of its reply.

        Raises:
            RequestTimeoutError: No reply came in time; the request may have been handled all the same.
            RemoteError: The responder's handler raised.
        """
        return self.submit(value, key=key, timeout=timeout).result()

    def submit(self, value: Any, *, key: Any = None, timeout: str | timedelta | None = None) -> "Future[Any]":
        """Send a request and return at once; the future has the reply's value, or what `request` would raise."""
        span = (self._timeout if timeout is None else parse_span(timeout)).total_seconds()
        number = uuid.uuid4().hex
        reply: Future[Any] = Future()
        headers = {
            _REQUEST: number,
            _REPLY_TOPIC: self._replies,
            _REPLY_PARTITION: str(self._partition),
            _DEADLINE: str(time.time() + span),
        }
        with self._lock:
            if self._closed.is_set():
                raise RequestError("this requester is closed")
            self._waiting[number] = reply
            heapq.heappush(self._deadlines, (time.monotonic() + span, number))
        try:
            self._producer.send(self.topic, encode_json(value), key=key, headers=headers)
        except BaseException:
            self._take(number)
            raise
        return reply

    def close(self) -> None:
        """Stop listening; requests still in flight fail with `RequestError`."""
        with self._lock:
            self._closed.set()
        self._thread.join()
        self._consumer.close()
        for number in list(self._waiting):
            _settle(self._take(number), error=RequestError("the requester was closed before the reply came"))
        self._producer.discard()  # nobody waits for what was not sent yet

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                event = self._consumer.poll(_TICK)
            except HeadraceError as error:
                logger.warning("waiting for replies to %s: %s", self.topic, error)
                event = None
            if event is not None:
                self._answer(event)
            self._expire()

    def _answer(self, event: Event) -> None:
        headers = event.headers
        reply = self._take(headers.get(_REQUEST, ""))
        if _ERROR in headers:
            _settle(reply, error=RemoteError(headers[_ERROR]))
            return
        try:
            _settle(reply, event.value)
        except DecodeError as error:
            _settle(reply, error=error)

    def _expire(self) -> None:
        now = time.monotonic()
        while self._deadlines and self._deadlines[0][0] <= now:
            with self._lock:
                _, number = heapq.heappop(self._deadlines)
            late = RequestTimeoutError(
                f"no reply to a request on {self.topic!r} came in time; is a Responder for it running?"
            )
            _settle(self._take(number), error=late)

    def _take(self, number: str) -> "Future[Any] | None":
        with self._lock:
            return self._waiting.pop(number, None)


class Responder:
    """Answers the requests of a topic with what a handler returns.

    Run as many as there is work for: each request goes to one of them. When a responder dies, its requests go to
    another at once; a request that kills ``max_deliveries`` responders becomes a dead letter in ``<topic>.dlq``. The
    handler may therefore see a request twice. What it raises is told to the requester; requests for which nobody waits
    any more are skipped.

    Args:
        topic: Where the requests come from; must exist.
        handler: Called with each request as an `Event`; returns the value of the reply.
        group: The responders that share the requests.
        timeout: How long a handler may take before another responder is tried.
        max_deliveries: Tries before a request becomes a dead letter.
        brokers: ``host:port,…``; what is configured, or the managed broker, unless given.
        config: Further settings by Kafka's names.

    Example:
        >>> with Responder("prices", lambda request: {"price": 2.49}) as responder:
        ...     responder.run()
    """

    def __init__(
        self,
        topic: str,
        handler: Callable[[Event], Any],
        *,
        group: str | None = None,
        timeout: str | timedelta = "30 seconds",
        max_deliveries: int = 3,
        brokers: str | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self._handler = handler
        self._stopped = threading.Event()
        self._running = threading.Lock()
        self._queue = Queue(
            topic,
            group or f"{check_topic_name(topic)}.responders",
            max_deliveries=max_deliveries,
            timeout=timeout,
            prefetch=100,
            confirm=False,
            brokers=brokers,
            config=config,
        )
        self._producer = Producer(brokers, config={**_PROMPT, **(config or {})})

    def run(self) -> None:
        """Answer requests until `stop` is called."""
        with self._running:
            while not self._stopped.is_set():
                if job := self._queue.get(0.2):
                    try:
                        self._respond(job)
                    except JobExpiredError as error:  # another one answers too; the requester takes the first reply
                        logger.warning("a request took too long: %s", error)

    def stop(self) -> None:
        """Make `run` return after the request in hand; may be called from any thread."""
        self._stopped.set()

    def close(self) -> None:
        """Stop, wait for the request in hand, leave the group and let go of the connections."""
        self.stop()
        with self._running:
            self._queue.close()
            self._producer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def _respond(self, job: Job) -> None:
        headers = job.headers
        try:
            address = headers[_REPLY_TOPIC], int(headers[_REPLY_PARTITION]), headers[_REQUEST]
            deadline = float(headers[_DEADLINE])
        except (KeyError, ValueError):
            job.reject("not a request: it does not tell where to reply")
            return
        if deadline > time.time():
            self._reply(job, *address)
        job.ack()

    def _reply(self, job: Job, topic: str, partition: int, number: str) -> None:
        headers = {_REQUEST: number}
        try:
            value = self._handler(job)
        except Exception as error:  # whatever the user's handler raises belongs to the requester
            value, headers[_ERROR] = None, f"{type(error).__name__}: {error}"
        try:
            self._producer.send(topic, encode_json(value), headers=headers, partition=partition)
        except HeadraceError as error:  # too large, not JSON, a reply topic that is gone
            logger.warning("a reply to %s could not be sent: %s", topic, error)
            with suppress(HeadraceError):
                told = {_REQUEST: number, _ERROR: f"the reply could not be sent: {error}"}
                self._producer.send(topic, None, headers=told, partition=partition)


def _settle(reply: "Future[Any] | None", value: Any = None, error: Exception | None = None) -> None:
    if reply is None:
        return
    with suppress(InvalidStateError):  # the user cancelled it
        reply.set_result(value) if error is None else reply.set_exception(error)
