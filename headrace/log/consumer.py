"""Reading events from topics."""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from headrace.core.codec import Format, decoder
from headrace.core.errors import ConfigError, TransactionError
from headrace.log.client import PATIENCE, admin_client, logger, open_client, partitions_of, translate
from headrace.log.connection import connect
from headrace.log.event import Event
from headrace.log.hearing import Hearing
from headrace.log.names import check_group_name, check_topic_name
from headrace.log.offsets import Place, earliest_offsets, latest_offsets
from headrace.log.positions import Place as Start
from headrace.log.positions import check_place, resolve

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

Commit = Literal["auto", "manual"]
_DEFAULTS = {
    "partition.assignment.strategy": "cooperative-sticky",  # a rebalance moves only what must move
    "enable.auto.offset.store": False,  # what was fetched is not yet handled; we say when it is
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 100,
    "session.timeout.ms": 10_000,  # a member that died is missed in ten seconds, not in forty-five
    "heartbeat.interval.ms": 1_000,
    "max.poll.interval.ms": 600_000,
}
_LARGEST_BATCH = 500
_SLOW = 1.0  # seconds; a batch that takes longer to handle is followed by a smaller one
_TICK = 0.5  # seconds between two looks whether there is anything to do


class Consumer:
    """Iterates over the events of topics.

    Consumers of the same ``group`` share the partitions, each group sees every event, and a consumer without a group
    reads all partitions by itself and commits nothing.

    An event counts as handled when the next one is asked for, or when the ``with`` block ends without an exception;
    its position is then committed in the background, or by `commit` with ``commit="manual"``. After a crash, events
    that were not committed come again.

    Args:
        topics: One topic or several; they must exist.
        group: Whose position to keep and with whom to share.
        start: Where to begin if the group has no position yet: ``"earliest"``, ``"latest"``, an offset, a datetime, a
            timedelta before now, or a map from partitions to offsets.
        follow: False to end where the topics ended when they were read; a member that the group gives no partition
            waits for one all the same.
        partitions: Read only these, without a group.
        commit: ``"auto"`` or ``"manual"``.
        format: How values are decoded: ``"json"``, ``"text"`` or ``"raw"``.
        brokers: ``host:port,…``; what is configured, or the managed broker, unless given.
        config: Further settings by Kafka's names.

    Example:
        >>> with Consumer("orders", group="audit", start="earliest") as c:
        ...     for event in c:
        ...         print(event.key, event.value)
    """

    def __init__(
        self,
        topics: str | Sequence[str],
        group: str | None = None,
        *,
        start: Start = "earliest",
        follow: bool = True,
        partitions: Sequence[int] | None = None,
        commit: Commit = "auto",
        format: Format = "json",
        brokers: str | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        if commit not in get_args(Commit):
            raise ConfigError(f"commit must be 'auto' or 'manual', not {commit!r}")
        if group is not None and partitions is not None:
            raise ConfigError("a group shares out the partitions by itself; give either group= or partitions=")
        self._only = partitions
        self._topics = [check_topic_name(name) for name in ([topics] if isinstance(topics, str) else topics)]
        if not self._topics:
            raise ConfigError("a consumer needs at least one topic")
        self._decode = decoder(format)
        self._start = check_place(start)
        self._group = None if group is None else check_group_name(group)
        self._follow = follow
        self._auto = commit == "auto" and group is not None
        self._batch: list[Message] = []
        self._given = 0  # how many of the batch were handed out
        self._fetched_at = 0.0
        self._received = datetime.now(UTC)
        self._size = 1
        self._torn = False  # whether a fetch broke off, after which the client is ahead of what we know
        self._next: dict[Place, int] = {}  # where partitions go on after the batches that were handled
        self._begun: dict[Place, int] = {}  # where they began that had no committed position
        self._handed: set[Place] = set()  # what a transaction has read
        self._moved: set[Place] = set()  # what went to another member meanwhile
        self._ended: set[Place] = set()
        self._settings = connect(brokers, config)
        self._brokers: str = self._settings["bootstrap.servers"]
        self._admin: AdminClient | None = None
        self._closing = False
        self._hearing = Hearing(self._brokers, self._topics[0])
        self._client = self._opened()
        try:
            self._begin()
        except BaseException:
            self._client.close()
            raise

    def __iter__(self) -> Iterator[Event]:
        make, decode = Event, self._decode
        while True:
            while self._given < len(self._batch):
                self._given += 1
                yield make(self._batch[self._given - 1], decode, self._received)
            if not self._fetch(_TICK) and self._finished():
                return

    def poll(self, timeout: float = 1.0) -> Event | None:
        """Return the next event, or None if there is none within ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while self._given == len(self._batch):
            left = deadline - time.monotonic()
            if not self._fetch(max(0.0, left)) and (left <= 0 or self._finished()):
                return None
        self._given += 1
        return Event(self._batch[self._given - 1], self._decode, self._received)

    def commit(self) -> None:
        """Commit, and wait for the broker, everything handed out so far, the current event included."""
        self._need_group("commit")
        if offsets := self._offsets(self._given):
            try:
                self._client.commit(offsets=offsets, asynchronous=False)
            except KafkaException as error:
                raise translate(error, "the commit", self._brokers) from None

    def seek(self, place: Start, *, partition: int | None = None) -> None:
        """Go on reading at ``place``, in one partition or in all that this consumer has.

        A group member waits until it has partitions. Takes effect with the next event asked for.
        """
        check_place(place)
        mine = [p for p in self._assigned() if partition in (None, p.partition)]
        if not mine:
            raise ConfigError(f"this consumer does not read partition {partition} of {', '.join(self._topics)}")
        self._go_to(resolve(self._client, mine, place))

    def lag(self) -> dict[Place, int]:
        """Return how many events lie ahead of the one handed out last, by topic and partition."""
        if self._admin is None:  # a connection of its own: this one is busy with fetching
            self._admin = admin_client(self._settings)
        places = [(p.topic, p.partition) for p in self._assigned()]
        here = {(p.topic, p.partition): p.offset for p in self._offsets(self._given)}
        if new := [TopicPartition(*place) for place in places if place not in here and self._group is not None]:
            here |= {(p.topic, p.partition): p.offset for p in self._client.committed(new, timeout=PATIENCE)}
        first = earliest_offsets(self._admin, places, self._brokers)
        ends = latest_offsets(self._admin, places, self._brokers)
        return {place: ends[place] - max(first[place], here.get(place, 0)) for place in places}

    def partitions(self) -> list[Place]:
        """Return the topics and partitions that this consumer reads now."""
        return sorted((p.topic, p.partition) for p in self._client.assignment())

    def progress(self) -> tuple[list[TopicPartition], object]:
        """Return the offsets after everything handed out, and the group, for a producer's transaction."""
        self._need_group("a transaction")
        if self._auto:
            raise ConfigError('a consumer whose position is committed in a transaction needs commit="manual"')
        handed = self._handed | {_place(message) for message in self._batch[: self._given]}
        if lost := sorted(handed & self._moved):
            raise TransactionError(
                f"partition {lost[0][1]} of {lost[0][0]!r} went to another member of the group during the transaction, "
                "which is aborted; the other member reads the same events"
            )
        self._handed.clear()
        return self._offsets(self._given), self._client.consumer_group_metadata()

    def rewind(self) -> None:
        """Read again from what the group has committed last, as after an aborted transaction."""
        self._batch, self._given, self._torn = [], 0, True
        for forgotten in (self._next, self._handed, self._moved):
            forgotten.clear()

    def close(self) -> None:
        """Commit what was handled, with ``commit="auto"``, and leave the group."""
        self._leave(self._given)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._leave(self._given if error is None else self._given - 1)

    def _opened(self) -> confluent_kafka.Consumer:
        own = {
            "group.id": self._group or "headrace-none",
            "enable.auto.commit": self._auto,
            "auto.offset.reset": self._start if isinstance(self._start, str) else "earliest",
            "enable.partition.eof": not self._follow,
        }
        return open_client(confluent_kafka.Consumer, _DEFAULTS | self._settings | own)

    def _begin(self) -> None:
        counts = {topic: partitions_of(self._client, topic, self._brokers) for topic in self._topics}
        if isinstance(self._start, Mapping) and (unknown := set(self._start) - set(range(max(counts.values())))):
            raise ConfigError(f"start names partition {min(unknown)}, which {', '.join(self._topics)} has not")
        if self._group is not None:
            self._subscribe()
            return
        chosen = [TopicPartition(topic, n) for topic, count in counts.items() for n in self._chosen(topic, count)]
        begin = resolve(self._client, chosen, self._start)
        self._client.assign(begin)
        self._next = {(p.topic, p.partition): p.offset for p in begin}

    def _subscribe(self) -> None:
        moved = {"on_assign": self._on_assign, "on_revoke": self._on_revoke, "on_lost": self._on_revoke}
        self._client.subscribe(self._topics, **moved)

    def _open_anew(self) -> None:
        """Go on with another client: a member of the group where that has committed, or else where this one was."""
        self._client.close()
        self._client = self._opened()
        if self._group is not None:
            self._subscribe()
        else:
            self._client.assign([TopicPartition(*place, offset) for place, offset in self._next.items()])

    def _chosen(self, topic: str, count: int) -> Sequence[int]:
        chosen = range(count) if self._only is None else self._only
        if unknown := [number for number in chosen if not 0 <= number < count]:
            raise ConfigError(f"the topic {topic!r} has partitions 0 to {count - 1}, not {unknown[0]}")
        return chosen

    def _on_assign(self, client: confluent_kafka.Consumer, partitions: list[TopicPartition]) -> None:
        for partition in partitions:  # another member may have gone on with it
            self._next.pop((partition.topic, partition.partition), None)
        if self._closing or self._start == "earliest":  # the client finds the place by itself
            return
        begin = self._begin_at(partitions)
        client.incremental_assign(begin)
        self._next |= {(p.topic, p.partition): p.offset for p in begin}

    def _on_revoke(self, client: confluent_kafka.Consumer, partitions: list[TopicPartition]) -> None:
        self._moved |= {(p.topic, p.partition) for p in partitions}

    def _begin_at(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Return where the group goes on: at what it committed, or where it began before it committed anything."""
        if not partitions:
            return []
        try:
            committed = self._client.committed(list(partitions), timeout=PATIENCE)
        except KafkaException as error:
            raise translate(error, f"asking for the position of {self._group!r}", self._brokers) from None
        new = [p for p in committed if p.offset < 0 and (p.topic, p.partition) not in self._begun]
        self._begun |= {(p.topic, p.partition): p.offset for p in resolve(self._client, new, self._start)}
        return [
            p if p.offset >= 0 else TopicPartition(p.topic, p.partition, self._begun[p.topic, p.partition])
            for p in committed
        ]

    def _go_to(self, targets: list[TopicPartition]) -> None:
        """Read on at ``targets``, and forget what was fetched at the old places."""
        self._settle(self._given)
        for target in targets:
            try:
                self._client.seek(target)
            except KafkaException as error:
                raise translate(error, f"moving in {target.topic!r}", self._brokers) from None
            self._next[target.topic, target.partition] = target.offset
        places = {(p.topic, p.partition) for p in targets}
        self._ended -= places
        self._batch = [message for message in self._batch if _place(message) not in places]

    def _settle(self, count: int) -> None:
        """Note that the first ``count`` events of the batch are handled, and keep the others."""
        handled = {_place(message): (message.offset() or 0) + 1 for message in self._batch[:count]}
        self._next |= handled
        self._handed |= handled.keys()
        self._batch, self._given = self._batch[count:], 0

    def _fetch(self, timeout: float) -> bool:
        """Replace the batch, which was handled whole, by the next one."""
        if self._batch:
            self._settle(len(self._batch))
            self._store()
            self._adapt()
        if self._torn:
            self._resume()
        self._torn = True  # should Ctrl-C come now, what the client hands over must not be skipped
        batch = self._client.consume(self._size, 0)
        if not batch:
            one = self._client.poll(timeout)
            batch = [] if one is None else [one]
        self._batch = [message for message in batch if message.error() is None]
        self._fetched_at = time.monotonic()
        self._received = datetime.now(UTC)
        if len(self._batch) < len(batch):
            self._heed([error for message in batch if (error := message.error())], batch)
        self._torn = False
        if self._hearing.lost(self._client, silent=not batch):
            self._open_anew()
        return bool(self._batch)

    def _resume(self) -> None:
        """Go back to where we know that we are, as the client may be ahead."""
        new = [p for p in self._client.assignment() if (p.topic, p.partition) not in self._next]
        self._go_to(self._offsets(0) + self._begin_at(new))

    def _adapt(self) -> None:
        """Choose the next batch's size: large while events are handled fast, small while they are handled slowly."""
        slow = time.monotonic() - self._fetched_at > _SLOW
        self._size = max(1, self._size // 4) if slow else min(_LARGEST_BATCH, self._size * 4)

    def _heed(self, errors: Sequence[KafkaError], batch: Sequence[Message]) -> None:
        """Deal with what the client says between events: the end of a partition, troubles of its own."""
        self._ended |= {_place(m) for m in batch if (e := m.error()) and e.code() == KafkaError._PARTITION_EOF}
        for error in errors:
            if error.code() == KafkaError._MAX_POLL_EXCEEDED:
                logger.warning("%s; other members have its partitions, it joins again", error.str())
            elif error.code() != KafkaError._PARTITION_EOF and (error.fatal() or not error.retriable()):
                raise translate(error, f"reading {', '.join(self._topics)}", self._brokers)

    def _finished(self) -> bool:
        mine = {(p.topic, p.partition) for p in self._client.assignment()}
        return not self._follow and bool(mine) and mine <= self._ended

    def _offsets(self, count: int) -> list[TopicPartition]:
        """Return where our partitions go on after the first ``count`` events of the batch."""
        here = self._next | {_place(message): (message.offset() or 0) + 1 for message in self._batch[:count]}
        mine = ((p.topic, p.partition) for p in self._client.assignment())
        return [TopicPartition(*place, here[place]) for place in mine if place in here]

    def _store(self) -> None:
        """Let the client commit what was handled, in its own time."""
        if not self._auto:
            return
        try:
            self._client.store_offsets(offsets=self._offsets(0))
        except KafkaException as error:  # a partition went to another member meanwhile, which reads those events again
            logger.debug("offsets not stored: %s", error)

    def _assigned(self) -> list[TopicPartition]:
        deadline = time.monotonic() + PATIENCE
        while not (assigned := self._client.assignment()) and time.monotonic() < deadline:
            if self._given == len(self._batch):
                self._fetch(0.1)
        return assigned

    def _leave(self, handled: int) -> None:
        if self._closing:
            return
        self._settle(max(0, handled))
        self._store()
        self._closing = True
        self._client.close()
        if self._admin is not None:
            self._admin.__exit__(None, None, None)

    def _need_group(self, what: str) -> None:
        if self._group is None:
            raise ConfigError(f"{what} needs a group: Consumer(…, group='…')")


def _place(message: Message) -> Place:
    return message.topic() or "", message.partition() or 0
