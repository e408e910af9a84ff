"""Clients that hear nothing any more, though their broker is there.

While the only broker of a cluster starts, it tells for a moment that there are no brokers. A client that asks just then
forgets the one that it knows, and may never ask again: https://github.com/confluentinc/librdkafka/issues/5301. Nothing
tells so but the silence, and only another client helps.
"""

import time

from confluent_kafka import KafkaException

from headrace.log.client import HasMetadata, listening, logger

_EVERY = 5.0  # seconds of silence between two questions
_PATIENCE = 3.0  # seconds for an answer: a busy cluster far away may take longer than one near by
_MISSED = 3  # questions without an answer, though somebody listens


class Hearing:
    """Notices that a client is deaf.

    Args:
        brokers: Where they should be.
        topic: One that the client knows of.
    """

    def __init__(self, brokers: str, topic: str) -> None:
        self._brokers, self._topic = brokers, topic
        self._missed = 0
        self._asked = time.monotonic()

    def lost(self, client: HasMetadata, silent: bool) -> bool:
        """Whether another client is needed; to be asked again and again, with whether nothing came meanwhile."""
        if not silent:
            self._missed, self._asked = 0, time.monotonic()
        if time.monotonic() < self._asked + _EVERY:
            return False
        try:
            client.list_topics(self._topic, timeout=_PATIENCE)
            self._missed = 0
        except KafkaException:
            self._missed = self._missed + 1 if listening(self._brokers) else 0
        self._asked = time.monotonic()
        if self._missed < _MISSED:
            return False
        logger.warning("the broker at %s is there, but a client does not hear it; another takes over", self._brokers)
        self._missed = 0
        return True
