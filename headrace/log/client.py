"""What every Kafka client of ours has in common: a quiet log and errors in our words."""

import logging
import socket
import time
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Protocol, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata

from headrace.core.errors import (
    BrokerError,
    BrokerUnavailableError,
    ConfigError,
    HeadraceError,
    UnknownTopicError,
)

logger = logging.getLogger("headrace.kafka")
logger.addHandler(logging.NullHandler())
Client = TypeVar("Client")

PATIENCE = 10.0  # seconds until a broker that does not answer counts as unreachable
_RESTART = 3.0  # seconds for which nobody may listen while a broker restarts
_SETTLING = 1.0  # seconds until a topic just created is known to all brokers
_UNREACHABLE = {
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError.REQUEST_TIMED_OUT,
}


class HasMetadata(Protocol):
    """Any Kafka client: all of them can ask for the topics."""

    def list_topics(self, topic: str | None = ..., timeout: float = ...) -> ClusterMetadata:
        """Return what the cluster knows of one topic, or of all."""
        ...


def open_client(kind: "Callable[..., Client]", settings: Mapping[str, Any]) -> "Client":
    """Return a client of confluent-kafka that logs to Python's logging instead of standard error."""
    try:
        return kind(dict(settings), logger=logger)
    except (KafkaException, ValueError, TypeError, SystemError) as error:
        told = error.args[0].str() if error.args and isinstance(error.args[0], KafkaError) else str(error)
        raise ConfigError(
            f"the Kafka client refuses its settings: {told}; see [kafka] in headrace.toml or config="
        ) from None


def admin_client(settings: Mapping[str, Any]) -> AdminClient:
    """Return a client for asking the cluster about itself and changing it."""
    return open_client(AdminClient, settings)


def translate(error: KafkaException | KafkaError, doing: str, brokers: str = "") -> HeadraceError:
    """Return the Headrace error for what Kafka answered while we were ``doing`` something."""
    kafka = error.args[0] if isinstance(error, KafkaException) else error
    if not isinstance(kafka, KafkaError):
        return BrokerError(f"{doing} failed: {kafka}")
    if kafka.code() in _UNREACHABLE:
        return unreachable(brokers, kafka.str())
    return BrokerError(f"{doing} failed: {kafka.str()} ({kafka.name()})")


def unreachable(brokers: str, told: str = "") -> BrokerUnavailableError:
    """Return the error for brokers that do not answer."""
    where = f" at {brokers}" if brokers else ""
    why = f" ({told})" if told else ""
    return BrokerUnavailableError(
        f"no broker answers{where}{why}. Start the local one with 'headrace up', or correct HEADRACE_BROKERS; "
        "'headrace status' tells what runs"
    )


def partitions_of(client: HasMetadata, topic: str, brokers: str) -> int:
    """Return how many partitions ``topic`` has.

    Raises:
        UnknownTopicError: There is no such topic; the message names those that sound alike.
        BrokerUnavailableError: Nobody answers.
    """
    deadline = time.monotonic() + _SETTLING
    while True:
        found = metadata(client, brokers, topic).topics.get(topic)
        if found is not None and found.error is None and found.partitions:
            return len(found.partitions)
        if time.monotonic() > deadline:
            raise unknown_topic(client, topic, brokers)
        time.sleep(0.05)


def metadata(client: HasMetadata, brokers: str, topic: str | None = None) -> ClusterMetadata:
    """Return what the cluster knows of one topic, or of all; a broker that is restarting is waited for."""
    begun = time.monotonic()
    while True:
        try:
            return client.list_topics(topic, timeout=1) if topic else client.list_topics(timeout=1)
        except KafkaException as error:
            waited = time.monotonic() - begun
            if waited > PATIENCE or (waited > _RESTART and not listening(brokers)):
                raise translate(error, "asking for the topics", brokers) from None


def listening(brokers: str) -> bool:
    """Whether anybody accepts connections at any of the addresses."""
    for address in brokers.split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except (OSError, ValueError):
            continue
        return True
    return False


def unknown_topic(client: HasMetadata, topic: str, brokers: str) -> UnknownTopicError:
    """Return the error for a topic that does not exist, with what may have been meant."""
    names = [name for name in metadata(client, brokers).topics if not name.startswith("__")]
    alike = get_close_matches(topic, names, n=1)
    hint = f" Did you mean {alike[0]!r}?" if alike else ""
    return UnknownTopicError(
        f"there is no topic {topic!r}.{hint} Create it with 'headrace topic create {topic}', "
        "or see what there is with 'headrace topic list'"
    )
