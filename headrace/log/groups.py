"""Consumer groups: who reads what, how far, how far behind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaException,
    TopicPartition,
)

from headrace.core.errors import GroupError
from headrace.log.client import PATIENCE, admin_client, logger, metadata, partitions_of, translate
from headrace.log.connection import connect
from headrace.log.names import check_topic_name
from headrace.log.offsets import earliest_offsets, latest_offsets
from headrace.log.positions import Place, check_place, resolve

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka.admin import ConsumerGroupDescription


@dataclass(frozen=True, slots=True)
class GroupOffset:
    """How far a group is in one partition, and which member reads it.

    A partition of which it has committed nothing counts from its start.
    """

    topic: str
    partition: int
    offset: int
    end: int
    member: str | None

    @property
    def lag(self) -> int:
        """Return how many events the group has not committed yet."""
        return max(0, self.end - self.offset)


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """One consumer group."""

    name: str
    state: str
    members: tuple[str, ...]
    offsets: tuple[GroupOffset, ...]

    @property
    def lag(self) -> int:
        """Return how many events the group has not committed yet, over all its partitions."""
        return sum(offset.lag for offset in self.offsets)


class Groups:
    """The consumer groups of a cluster.

    Example:
        >>> with Groups() as groups:
        ...     groups.describe("audit").lag
        0
    """

    def __init__(
        self, brokers: str | None = None, *, start: bool = True, config: Mapping[str, Any] | None = None
    ) -> None:
        self._settings = connect(brokers, config, start)
        self._brokers: str = self._settings["bootstrap.servers"]
        self._client = admin_client(self._settings)

    def list(self) -> tuple[GroupInfo, ...]:
        """Return all consumer groups with their lag."""
        found = self._wait(self._client.list_consumer_groups(request_timeout=PATIENCE), "listing the groups")
        return tuple(self.describe(group.group_id) for group in sorted(found.valid, key=lambda g: g.group_id))

    def describe(self, name: str) -> GroupInfo:
        """Return one group with its members, offsets and lag."""
        asked = self._client.describe_consumer_groups([name], request_timeout=PATIENCE)
        told: ConsumerGroupDescription = self._wait(asked[name], f"describing the group {name!r}")
        offsets = self._committed(name)
        if told.state in (ConsumerGroupState.DEAD, ConsumerGroupState.UNKNOWN) and not offsets:
            raise GroupError(f"there is no group {name!r}; see what there is with 'headrace group list'")
        readers = {(p.topic, p.partition): m.client_id for m in told.members for p in m.assignment.topic_partitions}
        committed = {(p.topic, p.partition): p.offset for p in offsets}
        places = self._partitions({topic for topic, _ in (*committed, *readers)})
        first = earliest_offsets(self._client, places, self._brokers)
        ends = latest_offsets(self._client, places, self._brokers)
        return GroupInfo(
            name,
            told.state.name.lower(),
            tuple(sorted(m.member_id for m in told.members)),
            tuple(GroupOffset(*p, committed.get(p, first[p]), ends[p], readers.get(p)) for p in places),
        )

    def seek(self, name: str, topic: str, place: Place) -> None:
        """Put a group that nobody is a member of now to ``place`` in all partitions of ``topic``."""
        check_place(place)
        count = partitions_of(self._client, check_topic_name(topic), self._brokers)
        probe = Consumer({**self._settings, "group.id": name}, logger=logger)
        try:
            targets = resolve(probe, [TopicPartition(topic, number) for number in range(count)], place)
        except KafkaException as error:
            raise translate(error, f"looking for the place in {topic!r}", self._brokers) from None
        finally:
            probe.close()
        asked = self._client.alter_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(name, targets)], request_timeout=PATIENCE
        )
        done: ConsumerGroupTopicPartitions = self._wait(asked[name], f"moving the group {name!r}")
        if failed := [p for p in done.topic_partitions or [] if p.error is not None]:
            raise GroupError(f"the group {name!r} was not moved: {_told(failed[0])}; stop its members first")

    def delete(self, name: str) -> None:
        """Delete a group that nobody is a member of, with its position."""
        self.describe(name)
        asked = self._client.delete_consumer_groups([name], request_timeout=PATIENCE)
        self._wait(asked[name], f"deleting the group {name!r}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        return None

    def _committed(self, name: str) -> tuple[TopicPartition, ...]:
        request = [ConsumerGroupTopicPartitions(name)]
        asked = self._client.list_consumer_group_offsets(request, request_timeout=PATIENCE)
        told: ConsumerGroupTopicPartitions = self._wait(asked[name], f"reading the offsets of the group {name!r}")
        return tuple(p for p in told.topic_partitions or () if p.offset >= 0)

    def _partitions(self, topics: set[str]) -> Sequence[tuple[str, int]]:
        known = metadata(self._client, self._brokers).topics
        return [(topic, number) for topic in sorted(topics & set(known)) for number in sorted(known[topic].partitions)]

    def _wait(self, done: "Future[Any]", doing: str) -> Any:
        try:
            return done.result()
        except KafkaException as error:
            name = error.args[0].name()
            if name in ("NON_EMPTY_GROUP", "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS"):
                raise GroupError(f"{doing} failed: the group has members; stop them first") from None
            if name in ("GROUP_ID_NOT_FOUND", "INVALID_GROUP_ID"):
                raise GroupError(f"{doing} failed: there is no such group; see 'headrace group list'") from None
            raise translate(error, doing, self._brokers) from None


def _told(place: TopicPartition) -> str:
    return place.error.str() if place.error is not None else ""
