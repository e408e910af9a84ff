"""Work queues: message by message, on Kafka's share groups."""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self

import confluent_kafka
from confluent_kafka import AcknowledgeType, KafkaError, KafkaException, Message
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from headrace.core.codec import Format, decoder
from headrace.core.errors import ConfigError, JobExpiredError
from headrace.core.quantities import milliseconds, parse_span
from headrace.log.client import PATIENCE, admin_client, logger, open_client, partitions_of, translate
from headrace.log.connection import connect
from headrace.log.dead_letters import DeadLetters
from headrace.log.event import Event
from headrace.log.names import check_group_name, check_topic_name

_TRIES = (25, 10)  # the most deliveries that a managed broker allows, and any other one
_SAFE = 0.6  # the part of the time-out after which jobs fetched but not handed out are given back
_TICK = 0.5


class Job(Event):
    """An event that one worker holds, to be acknowledged, released or rejected.

    Attributes:
        deliveries: How often it was handed to a worker, this time included.
        settled: Whether it was acknowledged, released or rejected.
    """

    __slots__ = ("_queue", "deliveries", "settled")

    def __init__(self, queue: "Queue", message: Message, decode: Callable[[bytes], Any], deliveries: int) -> None:
        super().__init__(message, decode, datetime.now(UTC))
        self._queue = queue
        self.deliveries = deliveries
        self.settled = False

    def ack(self) -> None:
        """Say that it is done: no worker gets it again."""
        self._queue._settle(self, AcknowledgeType.ACCEPT)

    def release(self, reason: str = "released") -> None:
        """Give it back for another try at once; after the last try it becomes a dead letter with ``reason``."""
        if self.deliveries >= self._queue.max_deliveries:
            self.reject(f"{reason} (try {self.deliveries} of {self._queue.max_deliveries})")
        else:
            self._queue._settle(self, AcknowledgeType.RELEASE)

    def reject(self, reason: str) -> None:
        """Put it aside for good: into ``<topic>.dlq`` with ``reason``."""
        self._queue._bury(self, reason)


class Queue:
    """Hands out the messages of a topic as jobs, each to one worker of the group at a time.

    However many workers share a group, whatever the number of partitions, each job goes to one of them. It comes again,
    to any worker, when it is released (at once), when its worker dies (within seconds) or when its worker holds it
    longer than ``timeout``. A job that was delivered ``max_deliveries`` times becomes a dead letter in ``<topic>.dlq``;
    one that a producer sent in a batch may get more or fewer tries, as Kafka counts fetches. A job that is
    neither acknowledged nor rejected when the next one is asked for is released. Order is not kept.

    A worker takes what a producer sent as one batch at once, whatever ``prefetch`` says, and Kafka gives each partition
    to as few workers as it can. For slow jobs use a topic of one partition, which all workers share, and let producers
    send singly, with ``Producer(config={"batch.num.messages": 1})``.

    Args:
        topic: Must exist.
        group: The workers that share the jobs; each group gets all of them.
        max_deliveries: Tries before a job becomes a dead letter.
        timeout: How long a worker may hold a job; the same for all workers of the group.
        prefetch: How many jobs to fetch at once; more is faster, fewer is fairer.
        confirm: Wait for the broker with each acknowledgement. False sends acknowledgements along with the next fetch:
            faster, but a crash in between lets the job come again.
        format: How values are decoded: ``"json"``, ``"text"`` or ``"raw"``.
        brokers: ``host:port,…``; Kafka 4.2 or later.
        config: Further settings by Kafka's names.

    Example:
        >>> with Queue("thumbnails", group="workers") as queue:
        ...     for job in queue:
        ...         try:
        ...             render(job.value)
        ...         except OSError as error:
        ...             job.release(str(error))
        ...         else:
        ...             job.ack()
    """

    def __init__(
        self,
        topic: str,
        group: str,
        *,
        max_deliveries: int = 5,
        timeout: str | timedelta = "30 seconds",
        prefetch: int = 1,
        confirm: bool = True,
        format: Format = "json",
        brokers: str | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        if not 1 <= max_deliveries < _TRIES[0]:
            raise ConfigError(f"max_deliveries must be between 1 and {_TRIES[0] - 1}, not {max_deliveries}")
        if prefetch < 1:
            raise ConfigError(f"prefetch must be at least 1, not {prefetch}")
        check_group_name(group)
        self.topic = check_topic_name(topic)
        self.max_deliveries = max_deliveries
        self._decode = decoder(format)
        self._confirm = confirm
        self._timeout = parse_span(timeout)
        settings = connect(brokers, config)
        self._brokers = settings["bootstrap.servers"]
        with admin_client(settings) as admin:
            partitions_of(admin, topic, self._brokers)
            self._most = _configure(admin, group, self._timeout, max_deliveries)
        self._dead = DeadLetters(topic, self._brokers, config)
        self._waiting: deque[Message] = deque()
        self._unused: Counter[tuple[int, int]] = Counter()  # deliveries to us of jobs that we gave back unseen
        self._tried: Counter[tuple[int, int]] = Counter()  # jobs that we handed out and that were not settled since
        self._fetched_at = 0.0
        self._single = True  # whether the last fetch brought one job
        self._current: Job | None = None
        self._closed = False
        own = {
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
            "max.poll.records": prefetch,
            "max.poll.interval.ms": milliseconds(self._timeout),  # a worker that hangs leaves its partitions to others
        }
        self._client = open_client(confluent_kafka.ShareConsumer, settings | own)
        self._client.subscribe([topic])

    def __iter__(self) -> Iterator[Job]:
        while True:
            if job := self.get(_TICK):
                yield job

    def get(self, timeout: float = 1.0) -> Job | None:
        """Return the next job, or None if there is none within ``timeout`` seconds."""
        if self._current is not None and not self._current.settled:
            self._current.release("not acknowledged")
        deadline = time.monotonic() + timeout
        while True:
            self._give_back_late()
            while self._waiting:
                job, spent = self._next()
                if not spent:
                    self._current = job
                    return job
                job.reject(
                    f"delivered {job.deliveries - 1} times and never settled: its workers died or held it longer "
                    f"than {self._timeout}"
                )
            if not self._fetch(max(0.0, deadline - time.monotonic())) and time.monotonic() >= deadline:
                return None

    def close(self) -> None:
        """Give back what was not settled and leave the group."""
        if self._closed:
            return
        self._closed = True
        try:
            self._client.close()
        except KafkaException as error:
            logger.warning("the queue was not left cleanly: %s", error)
        self._dead.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def _next(self) -> tuple[Job, bool]:
        """Return the next job, and whether it has had all its tries.

        The broker counts every fetch. Of jobs fetched as a batch some were never handed out, by workers that we know
        nothing of; these are tried until we have had them often enough, or just before the broker would drop them.
        """
        message = self._waiting.popleft()
        place, told = _place(message), message.delivery_count() or 1
        job = Job(self, message, self._decode, told - self._unused[place])
        counted = job.deliveries - 1 if self._single else self._tried[place]
        self._tried[place] += 1
        return job, told >= self._most or counted >= self.max_deliveries

    def _fetch(self, timeout: float) -> bool:
        try:
            found = list(self._client.poll(timeout))
        except KafkaException as error:
            if error.args[0].code() == KafkaError._MAX_POLL_EXCEEDED:  # we took too long and left; this was our return
                return False
            raise translate(error, f"taking jobs from {self.topic!r}", self._brokers) from None
        self._fetched_at = time.monotonic()
        for message in found:
            failure = message.error()
            if failure is None:
                self._waiting.append(message)
            elif failure.fatal() or not failure.retriable():
                raise translate(failure, f"taking jobs from {self.topic!r}", self._brokers)
        self._single = len(self._waiting) == 1
        return bool(self._waiting)

    def _give_back_late(self) -> None:
        """Release what was fetched along with jobs that took long, before it times out in our hands."""
        if self._waiting and time.monotonic() - self._fetched_at > _SAFE * self._timeout.total_seconds():
            while self._waiting:
                message = self._waiting.popleft()
                self._unused[_place(message)] += 1
                self._client.acknowledge(message, AcknowledgeType.RELEASE)
            self._commit()

    def _settle(self, job: Job, how: AcknowledgeType) -> None:
        late = self._late(job)
        job.settled = True
        self._client.acknowledge(job._message, how)
        taken = self._commit() if self._confirm or late else True
        if how == AcknowledgeType.RELEASE:
            return
        if late or not taken:
            raise _expired(job, self._timeout)
        for counts in (self._unused, self._tried):
            counts.pop(_place(job._message), None)

    def _bury(self, job: Job, reason: str) -> None:
        if not self._late(job):
            self._dead.put(job, reason, deliveries=str(job.deliveries))
        self._settle(job, AcknowledgeType.REJECT)

    def _late(self, job: Job) -> bool:
        """Whether the job has gone to another worker; the broker does not tell if that one was faster."""
        if job.settled:
            raise JobExpiredError(
                f"{job!r} was settled already: by ack, release or reject, or because the next job was asked for"
            )
        return time.monotonic() - self._fetched_at >= self._timeout.total_seconds()

    def _commit(self) -> bool:
        """Send acknowledgements and return whether the broker took all of them."""
        try:
            answers = self._client.commit_sync(PATIENCE)
        except KafkaException as error:
            raise translate(error, f"acknowledging jobs of {self.topic!r}", self._brokers) from None
        return all(error is None for error in answers.values())


def _place(message: Message) -> tuple[int, int]:
    return message.partition() or 0, message.offset() or 0


def _configure(admin: AdminClient, group: str, timeout: timedelta, max_deliveries: int) -> int:
    """Tell the broker how this group works, and return after how many deliveries it drops a job: later than we do."""
    wanted = {
        "share.auto.offset.reset": "earliest",
        "share.isolation.level": "read_committed",
        "share.record.lock.duration.ms": str(milliseconds(timeout)),
    }
    refused = ""
    for tries in (n for n in _TRIES if n > max_deliveries):
        refused = _try_configure(admin, group, wanted | {"share.delivery.count.limit": str(tries)})
        if not refused:
            return tries
        if "delivery.count" not in refused:
            break
    raise ConfigError(f"the broker refuses these settings of a queue: {refused or f'{max_deliveries=}'}")


def _try_configure(admin: AdminClient, group: str, wanted: Mapping[str, str]) -> str:
    entries = [ConfigEntry(k, v, incremental_operation=AlterConfigOpType.SET) for k, v in wanted.items()]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    try:
        admin.incremental_alter_configs([resource], request_timeout=PATIENCE)[resource].result()
    except KafkaException as error:
        kafka: KafkaError = error.args[0]
        if kafka.code() == KafkaError.INVALID_CONFIG:
            return kafka.str()
        raise ConfigError(f"this cluster has no work queues, which need Kafka 4.2 or later: {kafka.str()}") from None
    return ""


def _expired(job: Job, timeout: timedelta) -> JobExpiredError:
    return JobExpiredError(
        f"{job!r} was held longer than the queue's timeout of {timeout} and goes to another worker; "
        "what this worker did for it may be done again. Raise timeout=, or make the work shorter"
    )
