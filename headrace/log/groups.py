"""Consumer groups: who reads what, how far, how far behind."""

import time
from collections.abc import Callable, Mapping, Sequence
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

from headrace.core.errors import GroupError, HeadraceError
from headrace.log.client import PATIENCE, admin_client, metadata, open_client, partitions_of, translate
from headrace.log.connection import connect
from headrace.log.names import check_group_name, check_topic_name
from headrace.log.offsets import earliest_offsets, latest_offsets
from headrace.log.positions import Place, check_place, resolve

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka.admin import ConsumerGroupDescription


_UNREADY = ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "_DESTROY_BROKER")
_BUSY = ("NON_EMPTY_GROUP", "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS")
_UNKNOWN = ("GROUP_ID_NOT_FOUND", "INVALID_GROUP_ID")


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

    def row(self) -> dict[str, Any]:
        """Return it as it is shown."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "offset": self.offset,
            "end": self.end,
            "lag": self.lag,
            "member": self.member,
        }


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
        metadata(self._client, self._brokers)  # tells sooner if nobody answers
        found = self._ask(lambda: self._client.list_consumer_groups(request_timeout=PATIENCE), "listing the groups")
        if found.errors:
            raise self._explained(found.errors[0], "listing the groups")
        return tuple(self.describe(group.group_id) for group in sorted(found.valid, key=lambda g: g.group_id))

    def describe(self, name: str) -> GroupInfo:
        """Return one group with its members, offsets and lag."""
        check_group_name(name)
        metadata(self._client, self._brokers)
        told: ConsumerGroupDescription = self._ask(
            lambda: self._client.describe_consumer_groups([name], request_timeout=PATIENCE)[name],
            f"describing the group {name!r}",
        )
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
        check_group_name(name)
        check_place(place)
        count = partitions_of(self._client, check_topic_name(topic), self._brokers)
        probe = open_client(Consumer, {**self._settings, "group.id": name})
        try:
            targets = resolve(probe, [TopicPartition(topic, number) for number in range(count)], place)
        except KafkaException as error:
            raise translate(error, f"looking for the place in {topic!r}", self._brokers) from None
        finally:
            probe.close()
        wanted = [ConsumerGroupTopicPartitions(name, targets)]
        done: ConsumerGroupTopicPartitions = self._ask(
            lambda: self._client.alter_consumer_group_offsets(wanted, request_timeout=PATIENCE)[name],
            f"moving the group {name!r}",
        )
        if failed := [p for p in done.topic_partitions or [] if p.error is not None]:
            raise GroupError(f"the group {name!r} was not moved: {_told(failed[0])}; stop its members first")

    def delete(self, name: str) -> None:
        """Delete a group that nobody is a member of, with its position."""
        self.describe(name)
        self._ask(
            lambda: self._client.delete_consumer_groups([name], request_timeout=PATIENCE)[name],
            f"deleting the group {name!r}",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._client.__exit__(None, None, None)

    def _committed(self, name: str) -> tuple[TopicPartition, ...]:
        request = [ConsumerGroupTopicPartitions(name)]
        told: ConsumerGroupTopicPartitions = self._ask(
            lambda: self._client.list_consumer_group_offsets(request, request_timeout=PATIENCE)[name],
            f"reading the offsets of the group {name!r}",
        )
        return tuple(p for p in told.topic_partitions or () if p.offset >= 0)

    def _partitions(self, topics: set[str]) -> Sequence[tuple[str, int]]:
        known = metadata(self._client, self._brokers).topics
        return [(topic, number) for topic in sorted(topics & set(known)) for number in sorted(known[topic].partitions)]

    def _ask(self, request: "Callable[[], Future[Any]]", doing: str) -> Any:
        """Return the answer to ``request``; a coordinator that is not ready, as on a new broker, is asked again."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return request().result()
            except KafkaException as error:
                if error.args[0].name() not in _UNREADY or time.monotonic() > deadline:
                    raise self._explained(error, doing) from None
                time.sleep(0.05)

    def _explained(self, error: KafkaException, doing: str) -> HeadraceError:
        name = error.args[0].name()
        if name in _BUSY:
            return GroupError(f"{doing} failed: the group has members; stop them first")
        if name in _UNKNOWN:
            return GroupError(f"{doing} failed: there is no such group; see 'headrace group list'")
        return translate(error, doing, self._brokers)


def _told(place: TopicPartition) -> str:
    return place.error.str() if place.error is not None else ""
