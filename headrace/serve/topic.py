"""The topic of a table: whether it is still the same one, and how far it goes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import ConfigResource, ResourceType

from headrace.core.errors import BrokerUnavailableError
from headrace.log.client import PATIENCE, admin_client, listening, partitions_of, translate, unknown_topic
from headrace.log.names import check_topic_name
from headrace.log.offsets import earliest_offsets, latest_offsets
from headrace.serve.facts import Position

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka.admin import TopicDescription

_DAY = 86_400.0  # seconds for which Kafka keeps tombstones unless told otherwise


class Life(NamedTuple):
    """A topic between its creation and its deletion; one created again under the same name has another id."""

    id: str
    partitions: int


class TableTopic:
    """Asks the cluster about one topic.

    Raises:
        UnknownTopicError: There is no such topic.
        BrokerUnavailableError: Nobody answers.
    """

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name = check_topic_name(name)
        self._settings = settings
        self._brokers: str = settings["bootstrap.servers"]
        self._client = admin_client(settings)
        partitions_of(self._client, name, self._brokers)

    def ask(self) -> "Future[TopicDescription]":
        """Ask which life this is; `life_of` understands the answer."""
        return self._client.describe_topics(TopicCollection([self.name]), request_timeout=PATIENCE)[self.name]

    def life_of(self, answer: "Future[TopicDescription]") -> Life:
        """Return the life that was told, once it is."""
        try:
            told = answer.result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise unknown_topic(self._client, self.name, self._brokers) from None
            failed = translate(error, f"describing the topic {self.name!r}", self._brokers)
            if isinstance(failed, BrokerUnavailableError) and listening(self._brokers):
                self._client = admin_client(self._settings)  # this one may be deaf: see log/hearing.py
            raise failed from None
        return Life(str(told.topic_id), len(told.partitions))

    def life(self) -> Life:
        """Return which life this is."""
        return self.life_of(self.ask())

    def first(self, life: Life) -> dict[int, int]:
        """Return the first offset that each partition still holds."""
        places = [(self.name, number) for number in range(life.partitions)]
        return {place[1]: offset for place, offset in earliest_offsets(self._client, places, self._brokers).items()}

    def ends(self, life: Life, *, committed: bool = False) -> dict[int, int]:
        """Return the offset after each partition's last event; if committed, where its open transactions begin."""
        places = [(self.name, number) for number in range(life.partitions)]
        found = latest_offsets(self._client, places, self._brokers, committed=committed)
        return {place[1]: offset for place, offset in found.items()}

    def ahead(self, position: Position) -> int:
        """Return how many offsets, up to the first open transaction, lie after a position."""
        life = self.life()
        begin = self.first(life) | (position.offsets if position.life == life.id else {})
        return sum(max(0, end - begin[number]) for number, end in self.ends(life, committed=True).items())

    def tombstones(self) -> float:
        """Return for how many seconds a reader can see that a row was deleted."""
        resource = ConfigResource(ResourceType.TOPIC, self.name)
        try:
            found = self._client.describe_configs([resource], request_timeout=PATIENCE)[resource].result()
            return int(found["delete.retention.ms"].value) / 1000
        except (KafkaException, KeyError, ValueError):  # who may read a topic need not be allowed to read its settings
            return _DAY

    def close(self) -> None:
        """Let go of the connection."""
        self._client.__exit__(None, None, None)
