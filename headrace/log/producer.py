"""Writing events to topics."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message

from headrace.core.change import Delete
from headrace.core.codec import encode
from headrace.core.errors import (
    BufferFullError,
    ConfigError,
    DeliveryError,
    EventTooLargeError,
    HeadraceError,
    TransactionError,
)
from headrace.log.client import logger, open_client, partitions_of
from headrace.log.connection import connect
from headrace.log.event import EVENT_TIME
from headrace.log.names import check_topic_name
from headrace.log.packing import Headers, packed, pairs, stamp

if TYPE_CHECKING:
    from headrace.log.consumer import Consumer

OnFull = Literal["block", "drop", "error"]
LARGEST = 1_000_000  # bytes of an event with its key and headers
DEFAULTS = {
    "enable.idempotence": True,  # also acks=all, and retries without duplicates or disorder
    "compression.type": "lz4",
    "linger.ms": 5,
    "batch.size": 500_000,
    "queue.buffering.max.messages": 100_000,
    "queue.buffering.max.kbytes": 65_536,
    "delivery.timeout.ms": 120_000,
    "partitioner": "murmur2_random",  # where Kafka Streams, Connect and Spark put the same key
    "message.max.bytes": LARGEST,
}
_SERVE_EVERY = 64  # sends between two looks at delivery reports
_SHOWN = 5  # failures told in an error
_HURRY = 5.0  # seconds for what is still to be sent when the program fails
_TRANSACTION_PATIENCE = 60  # seconds; also how long a producer that died keeps readers waiting
_TAKEN_OVER = "another producer with the same transactional_id took over; give each running producer a name of its own"
# A client that was fenced says so also in the middle of its delivery reports, which Python calls an error of the system
_BROKEN = (KafkaException, SystemError)
_PURGED = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of one event: its place in the log, or the reason why it has none."""

    topic: str
    partition: int
    offset: int | None
    key: bytes | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Counts:
    """What a producer did so far; ``sent`` is the sum of the three that follow it."""

    sent: int
    delivered: int
    failed: int
    waiting: int
    dropped: int


class Producer:
    """Sends events in batches, idempotently, and tells when any was not delivered.

    Leaving the ``with`` block waits until every event is acknowledged and raises `DeliveryError` if some were not.
    A producer may be used from several threads, except for its transactions.

    Args:
        brokers: ``host:port,…``; what is configured, or the managed broker, unless given.
        on_full: What ``send`` does when the buffer is full: ``"block"`` until there is room, ``"drop"`` the event and
            count it, or raise an ``"error"``.
        on_delivery: Called with the `Delivery` of every event; without it only failures are kept, which is faster.
        transactional_id: A name that allows `transaction`; a second producer of the same name fences the first.
        config: Further settings by Kafka's names, such as ``{"linger.ms": 50}``.

    Example:
        >>> with Producer() as p:
        ...     p.send("orders", {"order_id": "1", "amount": 9.5}, key="ann", headers={"trace": "a1"})
        True
    """

    def __init__(
        self,
        brokers: str | None = None,
        *,
        on_full: OnFull = "block",
        on_delivery: Callable[[Delivery], None] | None = None,
        transactional_id: str | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        if on_full not in get_args(OnFull):
            raise ConfigError(f"on_full must be 'block', 'drop' or 'error', not {on_full!r}")
        settings: dict[str, Any] = DEFAULTS | connect(brokers, config)
        if transactional_id is not None:
            if not transactional_id:
                raise ConfigError(
                    "transactional_id must not be empty; leave it out for a producer without transactions"
                )
            settings |= {"transactional.id": transactional_id, "delivery.timeout.ms": _TRANSACTION_PATIENCE * 1000}
        settings["delivery.report.only.error"] = on_delivery is None
        settings["on_delivery"] = self._report
        self._settings = settings
        self._brokers: str = settings["bootstrap.servers"]
        self._open()
        self._on_full = on_full
        self._on_delivery = on_delivery
        self._transactional = transactional_id is not None
        self._known: set[str] = set()
        self._sent = self._failed = self._dropped = 0
        self._counting = threading.Lock()
        self._closed = self._fenced = False
        self._failures: list[str] = []

    def send(
        self,
        topic: str,
        value: Any,
        *,
        key: Any = None,
        headers: Headers | None = None,
        event_time: datetime | None = None,
        partition: int = -1,
    ) -> bool:
        """Put an event into the buffer, from which it goes to the broker in the background.

        Events of one key keep their order. Without a key they spread over the partitions.

        Args:
            topic: Must exist: see `Topics.create`.
            value: A dict, list, number or dataclass becomes JSON; text and bytes stay; None is a tombstone, and
                `headrace.Delete` one with its key.
            key: Text, bytes, or anything that JSON can say.
            headers: Names and values that travel beside the value; a list of pairs where names repeat.
            event_time: When it happened, for events whose value does not say so; kept in a header.
            partition: Chosen by the key unless given.

        Returns:
            False if the event was dropped because the buffer is full, else True.

        Raises:
            UnknownTopicError: The topic does not exist.
            EventTooLargeError: The event exceeds a megabyte.
            EncodeError: The value has no form in bytes.
            BufferFullError: The buffer is full, with ``on_full="error"``.
        """
        if topic not in self._known:
            self._check(topic)
        if isinstance(value, Delete):
            key, value = value.key, None
        data = encode(value)
        if key is not None:
            key = encode(key)
        if event_time is not None:
            headers = [*pairs(headers or {}), (EVENT_TIME, str(stamp(event_time)))]
        ready = None if headers is None else packed(headers)
        try:
            if ready is None:
                self._produce(topic, data, key, partition)
            else:
                self._produce(topic, data, key, partition, headers=ready, timestamp=stamp(event_time))
        except TypeError as error:
            raise ConfigError(f"an event for {topic!r} cannot be sent: {error}") from None
        except (BufferError, KafkaException) as error:
            sent = partial(self._produce, topic, data, key, partition)
            again = partial(sent, headers=ready or [], timestamp=stamp(event_time))
            return self._refused(error, topic, len(data or b"") + len(key or b""), again)
        if not self._count() % _SERVE_EVERY:
            self._client.poll(0)
        return True

    def flush(self) -> None:
        """Wait until every event sent so far is acknowledged.

        Raises:
            DeliveryError: Some were not, for the reasons told; they are counted in `counts`.
        """
        try:
            while self._client.flush(0.5):
                pass
        except KafkaException as error:
            raise DeliveryError(f"the producer cannot go on: {error.args[0].str()}") from None
        self._raise_failures()

    def close(self) -> None:
        """Flush and let go of the connections."""
        if self._closed:
            return
        try:
            self.flush()
        finally:
            self._release()

    def discard(self) -> None:
        """Let go of the connections without sending what still waits."""
        if self._closed:
            return
        self._client.purge()
        self._release()

    @property
    def counts(self) -> Counts:
        """Return how many events were sent, delivered, failed, dropped, and how many wait."""
        waiting = len(self._client)
        return Counts(self._sent, self._sent - self._failed - waiting, self._failed, waiting, self._dropped)

    @contextmanager
    def transaction(self, consumer: "Consumer | None" = None) -> Iterator[None]:
        """Make the events sent inside one atomic whole, seen by readers all at once or never.

        Leaving the block commits; an exception aborts and goes on its way.

        Args:
            consumer: Commit its position in the same transaction: what it read counts as read exactly when what was
                written is visible. It needs a group and ``commit="manual"``; after an abort it reads the same again.

        Example:
            >>> with Producer(transactional_id="billing") as p, p.transaction():
            ...     p.send("debits", {"account": 1, "amount": 5})
            ...     p.send("credits", {"account": 2, "amount": 5})
        """
        if not self._transactional:
            raise ConfigError("transactions need a name: Producer(transactional_id='…')")
        self._begin()
        sent, failed = self._sent, self._failed
        try:
            yield
            self._commit(consumer)
        except BaseException:
            self._abort(consumer)
            self._failed = failed + self._sent - sent  # nobody will see any of them
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None or self._closed:
            self.close()
            return
        self._hurry()
        if lost := len(self._client) + self._failed:
            error.add_note(f"headrace: {lost} of {self._sent} events sent to {self._brokers} were not delivered")
        self.discard()

    def _count(self) -> int:
        with self._counting:  # threads may share a producer
            self._sent += 1
            return self._sent

    def _open(self) -> None:
        self._client = open_client(confluent_kafka.Producer, self._settings)
        self._produce = self._client.produce
        self._ready = False  # for transactions

    def _check(self, topic: str) -> None:
        partitions_of(self._client, check_topic_name(topic), self._brokers)
        if self._transactional:
            self._initialise()
        self._known.add(topic)

    def _refused(self, error: BufferError | KafkaException, topic: str, size: int, again: Callable[[], None]) -> bool:
        """Deal with what the client did not take: wait, drop, or raise."""
        if isinstance(error, KafkaException):
            raise self._explained(error, topic, size) from None
        if self._on_full == "drop":
            self._dropped += 1
            self._client.poll(0)
            return False
        if self._on_full == "error":
            raise BufferFullError(
                f"the buffer is full with {len(self._client)} events that {self._brokers} has not taken yet; wait, or "
                'choose on_full="block" or "drop", or raise "queue.buffering.max.messages" in config='
            )
        while True:
            self._client.poll(0.05)
            try:
                again()
            except BufferError:
                continue
            except KafkaException as failure:
                raise self._explained(failure, topic, size) from None
            self._count()
            return True

    def _explained(self, error: KafkaException, topic: str, size: int) -> HeadraceError:
        code = error.args[0].code()
        if code == KafkaError.MSG_SIZE_TOO_LARGE:
            return EventTooLargeError(
                f"an event for {topic!r} is too large: its value and key have {size:,} bytes, and the log takes "
                f"{LARGEST:,} with headers and a few bytes more; send the large part elsewhere and its address here"
            )
        if code == KafkaError._STATE and self._transactional:
            return TransactionError("a transactional producer sends inside 'with producer.transaction():' only")
        if code == KafkaError._UNKNOWN_PARTITION:
            return ConfigError(f"the topic {topic!r} has no such partition: {error.args[0].str()}")
        return DeliveryError(f"an event for {topic!r} was refused: {error.args[0].str()}")

    def _report(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed += 1
            if error.code() not in _PURGED and len(self._failures) < _SHOWN:
                self._failures.append(f"{message.topic()}, key {message.key()!r}: {error.str()}")
        if self._on_delivery is not None:
            place = None if error is not None else message.offset()
            told = None if error is None else error.str()
            partition = message.partition()
            self._on_delivery(
                Delivery(message.topic() or "", -1 if partition is None else partition, place, message.key(), told)
            )

    def _release(self) -> None:
        self._closed = True
        with suppress(*_BROKEN):  # a client that was fenced cannot even be closed in order
            self._client.close()

    def _hurry(self) -> None:
        """Send what still waits, for a little while and without complaint."""
        with suppress(*_BROKEN):
            self._client.flush(_HURRY)

    def _raise_failures(self) -> None:
        if not self._failures:
            return
        told, self._failures = self._failures, []
        listed = "".join(f"\n  {line}" for line in told)
        raise DeliveryError(f"{self._failed} of {self._sent} events were not delivered to {self._brokers}:{listed}")

    def _initialise(self) -> None:
        if self._fenced:
            raise TransactionError(_TAKEN_OVER)
        if self._ready:
            return
        try:
            self._client.init_transactions(_TRANSACTION_PATIENCE)
        except KafkaException as error:
            raise self._transaction_error(error) from None
        self._ready = True

    def _begin(self) -> None:
        self._initialise()
        try:
            self._client.begin_transaction()
        except KafkaException as error:
            raise self._transaction_error(error) from None

    def _commit(self, consumer: "Consumer | None") -> None:
        try:
            if consumer is not None:
                offsets, group = consumer.progress()
                self._client.send_offsets_to_transaction(offsets, group, _TRANSACTION_PATIENCE)
            self._client.commit_transaction(_TRANSACTION_PATIENCE)
        except _BROKEN as error:
            raise self._transaction_error(error) from None
        self._raise_failures()

    def _transaction_error(self, error: KafkaException | SystemError) -> TransactionError:
        cause = error if isinstance(error, KafkaException) else error.__cause__
        if not isinstance(cause, KafkaException):
            raise error
        kafka = cause.args[0]
        if kafka.code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED):
            self._fenced = True
            return TransactionError(_TAKEN_OVER)
        return TransactionError(f"the transaction failed: {kafka.str()} ({kafka.name()})")

    def _abort(self, consumer: "Consumer | None") -> None:
        self._hurry()  # aborting while the broker is being told of new partitions is fatal to the client
        try:
            self._client.abort_transaction(_TRANSACTION_PATIENCE)
        except _BROKEN as error:
            logger.warning("a transaction was not aborted, which the next one does: %s", error)
            self._transaction_error(error)
            if not self._fenced:
                self._open()
        self._failures = []  # events of an aborted transaction are not lost: they never were
        if consumer is not None:
            consumer.rewind()
