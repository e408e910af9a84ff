"""Creating, listing, describing, configuring and deleting topics."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
    TopicMetadata,
)

from headrace.core.errors import BrokerError, ConfigError, HeadraceError, TopicExistsError, UnknownTopicError
from headrace.core.quantities import milliseconds, parse_size, parse_span
from headrace.core.settings import Settings
from headrace.log.broker.cluster import Cluster
from headrace.log.client import PATIENCE, admin_client, metadata, partitions_of, translate, unknown_topic
from headrace.log.connection import connect
from headrace.log.names import check_topic_name
from headrace.log.offsets import earliest_offsets, latest_offsets

if TYPE_CHECKING:
    from concurrent.futures import Future

DEFAULT_PARTITIONS = 4
_BROKER_DEFAULT = -1
_TRIES = 5


class Policy(TypedDict, total=False):
    """How long a topic keeps what, in words; everything has the broker's default unless given.

    ``retention`` and ``retention_bytes`` delete the oldest segments of a partition, ``compact`` keeps the last event of
    each key (and with ``retention`` deletes as well), ``tombstone_retention`` is for how long a reader can still see
    that a key was deleted, and segments of ``segment_bytes`` or ``segment_time`` are the units in which all this works.
    """

    retention: str | timedelta
    retention_bytes: str | int
    compact: bool
    tombstone_retention: str | timedelta
    segment_bytes: str | int
    segment_time: str | timedelta


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """One partition: where it is, what it holds, and its bytes on disk where the managed broker keeps it."""

    id: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    earliest: int
    latest: int
    size: int | None


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """One topic with its partitions; ``config`` has what was set for it, by Kafka's names."""

    name: str
    partitions: tuple[PartitionInfo, ...]
    config: dict[str, str]

    @property
    def events(self) -> int:
        """Return the offsets held, which compaction and transactions make an upper bound of the events."""
        return sum(p.latest - p.earliest for p in self.partitions)

    @property
    def size(self) -> int | None:
        """Return the bytes on disk, all copies together."""
        sizes = [p.size for p in self.partitions if p.size is not None]
        return sum(sizes) if sizes else None


class Topics:
    """The topics of a cluster.

    Example:
        >>> with Topics() as topics:
        ...     topics.create("orders", partitions=4, retention="7 days")
        ...     topics.describe("orders").events
        0
    """

    def __init__(
        self, brokers: str | None = None, *, start: bool = True, config: Mapping[str, Any] | None = None
    ) -> None:
        settings = connect(brokers, config, start)
        self._brokers: str = settings["bootstrap.servers"]
        self._client = admin_client(settings)

    def create(
        self,
        name: str,
        partitions: int = DEFAULT_PARTITIONS,
        *,
        replication: int | None = None,
        exist_ok: bool = False,
        config: Mapping[str, str] | None = None,
        **policy: Unpack[Policy],
    ) -> None:
        """Create a topic and wait until it can be used.

        Args:
            name: Letters, digits, ``.``, ``_`` and ``-``.
            partitions: How many can be read side by side; can grow later, but then keys move.
            replication: Copies; the cluster's default unless given.
            exist_ok: Do nothing if the topic exists, whatever its settings.
            config: Further settings by Kafka's names.
            policy: See `Policy`.
        """
        check_topic_name(name)
        if partitions < 1:
            raise ConfigError(f"a topic has at least 1 partition, not {partitions}")
        settings = _config(policy) | dict(config or {})
        metadata(self._client, self._brokers)  # tells sooner if nobody answers

        def request() -> "Future[Any]":
            new = NewTopic(name, partitions, replication or _BROKER_DEFAULT, config=settings)
            return self._client.create_topics([new], request_timeout=PATIENCE)[name]

        try:
            self._ask(request, f"creating the topic {name!r}")
        except TopicExistsError:
            if not exist_ok:
                raise
        count = partitions_of(self._client, name, self._brokers)
        latest_offsets(self._client, [(name, n) for n in range(count)], self._brokers)  # once all have leaders

    def list(self, *, internal: bool = False) -> tuple[TopicInfo, ...]:
        """Return all topics, Kafka's own only if asked for; their ``config`` is left empty."""
        for _ in range(_TRIES):
            found = metadata(self._client, self._brokers).topics
            with suppress(UnknownTopicError):  # one was deleted meanwhile: look again
                return self._described({n: t for n, t in found.items() if internal or not n.startswith("__")}, {})
        raise BrokerError("listing the topics failed: topics are deleted faster than they can be listed")

    def compacted(self, among: Iterable[TopicInfo] | None = None) -> tuple[TopicInfo, ...]:
        """Return the tables, of all topics or of those told: each keeps the last event of a key; none is Kafka's."""
        topics = self.list() if among is None else [topic for topic in among if not topic.name.startswith("__")]
        found = {ConfigResource(ResourceType.TOPIC, topic.name): topic for topic in topics}
        asked = self._client.describe_configs(list(found), request_timeout=PATIENCE) if found else {}
        return tuple(topic for resource, topic in found.items() if self._compacts(asked[resource], topic.name))

    def describe(self, name: str) -> TopicInfo:
        """Return one topic with its offsets, sizes and settings."""
        topic = self._known(name)
        return self._described({name: topic}, {name: self._settings(name)})[0]

    def configure(self, name: str, config: Mapping[str, str] | None = None, **policy: Unpack[Policy]) -> None:
        """Change a topic's settings, in words or by Kafka's names; an empty value restores the broker's default."""
        self._known(name)
        changes = _config(policy) | dict(config or {})
        entries = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET if value else AlterConfigOpType.DELETE)
            for key, value in changes.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
        self._ask(
            lambda: self._client.incremental_alter_configs([resource], request_timeout=PATIENCE)[resource],
            f"configuring the topic {name!r}",
        )
        _until(lambda: changes.items() <= ({key: "" for key in changes} | self._settings(name)).items())

    def grow(self, name: str, partitions: int) -> None:
        """Add partitions, up to ``partitions``; keys then hash to other partitions than before."""
        self._known(name)
        self._ask(
            lambda: self._client.create_partitions([NewPartitions(name, partitions)], request_timeout=PATIENCE)[name],
            f"adding partitions to {name!r}",
        )
        _until(lambda: partitions_of(self._client, name, self._brokers) == partitions)

    def delete(self, name: str) -> None:
        """Delete a topic with all its events, and wait until it is gone."""
        self._known(name)
        self._ask(
            lambda: self._client.delete_topics([name], request_timeout=PATIENCE)[name], f"deleting the topic {name!r}"
        )
        _until(lambda: name not in metadata(self._client, self._brokers).topics)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._client.__exit__(None, None, None)

    def _known(self, name: str) -> TopicMetadata:
        check_topic_name(name)
        if (found := metadata(self._client, self._brokers).topics.get(name)) is None:
            raise unknown_topic(self._client, name, self._brokers)
        return found

    def _settings(self, name: str) -> dict[str, str]:
        resource = ConfigResource(ResourceType.TOPIC, name)
        found: dict[str, ConfigEntry] = self._ask(
            lambda: self._client.describe_configs([resource], request_timeout=PATIENCE)[resource],
            f"describing the topic {name!r}",
            _TRIES,
        )
        own = ConfigSource.DYNAMIC_TOPIC_CONFIG
        return {key: entry.value or "" for key, entry in sorted(found.items()) if ConfigSource(entry.source) == own}

    def _compacts(self, answer: "Future[dict[str, ConfigEntry]]", name: str) -> bool:
        try:
            return "compact" in (answer.result()["cleanup.policy"].value or "")
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:  # deleted meanwhile
                return False
            raise self._explained(error, f"describing the topic {name!r}") from None

    def _described(
        self, topics: Mapping[str, TopicMetadata], configs: Mapping[str, dict[str, str]]
    ) -> tuple[TopicInfo, ...]:
        places = [(name, number) for name, topic in topics.items() for number in topic.partitions]
        earliest = earliest_offsets(self._client, places, self._brokers)
        latest = latest_offsets(self._client, places, self._brokers)
        sizes = self._sizes()

        def partition(here: tuple[str, int], found: Any) -> PartitionInfo:
            copies = tuple(found.replicas), tuple(found.isrs)
            return PartitionInfo(here[1], found.leader, *copies, earliest[here], latest[here], sizes.get(here))

        return tuple(
            TopicInfo(
                name,
                tuple(partition((name, number), found) for number, found in sorted(topic.partitions.items())),
                configs.get(name, {}),
            )
            for name, topic in sorted(topics.items())
        )

    def _sizes(self) -> dict[tuple[str, int], int]:
        """Return bytes on disk by partition; only the managed broker's folders can be looked into."""
        cluster = Cluster(Settings.load())
        if cluster.running() != self._brokers:
            return {}
        total: dict[tuple[str, int], int] = {}
        for node in cluster.nodes():
            for place, size in node.topic_sizes().items():
                total[place] = total.get(place, 0) + size
        return total

    def _ask(self, request: "Callable[[], Future[Any]]", doing: str, tries: int = 1) -> Any:
        try:
            return request().result()
        except KafkaException as error:
            if tries > 1 and error.args[0].code() == KafkaError._DESTROY_BROKER:  # the broker asked has just gone
                return self._ask(request, doing, tries - 1)
            raise self._explained(error, doing) from None
        except (ValueError, TypeError, OverflowError) as error:  # what the client itself refuses to send
            raise ConfigError(f"{doing} failed: {error}") from None

    def _explained(self, error: KafkaException, doing: str) -> HeadraceError:
        kafka: KafkaError = error.args[0]
        if kafka.code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return TopicExistsError(f"{doing} failed: it exists; see it with 'headrace topic describe'")
        if kafka.code() in (
            KafkaError.INVALID_CONFIG,
            KafkaError.INVALID_REPLICATION_FACTOR,
            KafkaError.INVALID_PARTITIONS,
            KafkaError._INVALID_ARG,
        ):
            return ConfigError(f"{doing} failed: {kafka.str()}")
        if kafka.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return BrokerError(f"{doing} failed: this user may not; ask whoever runs {self._brokers}")
        return translate(error, doing, self._brokers)


def _until(seen: Callable[[], bool]) -> None:
    """Wait until brokers show what the controller has decided, which takes them some milliseconds."""
    deadline = time.monotonic() + PATIENCE
    while not seen() and time.monotonic() < deadline:
        time.sleep(0.02)


def _config(policy: Policy) -> dict[str, str]:
    """Return a policy by Kafka's names."""
    result: dict[str, str] = {}
    spans = {"retention": "retention.ms", "tombstone_retention": "delete.retention.ms", "segment_time": "segment.ms"}
    sizes = {"retention_bytes": "retention.bytes", "segment_bytes": "segment.bytes"}
    given: Mapping[str, Any] = policy
    if unknown := sorted(set(given) - set(Policy.__annotations__)):
        raise ConfigError(f"unknown topic settings {', '.join(unknown)}; known are {', '.join(Policy.__annotations__)}")
    for name, setting in spans.items():
        if name in given:
            result[setting] = str(milliseconds(parse_span(given[name])))
    for name, setting in sizes.items():
        if name in given:
            result[setting] = str(parse_size(given[name]))
    if "compact" in given:
        deletes = "retention" in given or "retention_bytes" in given
        result["cleanup.policy"] = ("compact,delete" if deletes else "compact") if given["compact"] else "delete"
    return result
