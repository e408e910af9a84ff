"""The log as the dashboard finds it: anew each time, for it may start later, go, and come back elsewhere."""

from typing import Any

from headrace.core.errors import BrokerUnavailableError
from headrace.core.settings import Settings
from headrace.log.broker.cluster import Cluster
from headrace.log.following import Following
from headrace.log.groups import Groups
from headrace.log.letters import Letters
from headrace.log.reader import Offsets, Reader
from headrace.log.topics import Topics


class Log:
    """Opens clients of the log; it starts no broker."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.config: dict[str, Any] = dict(settings.kafka)

    @property
    def managed(self) -> bool:
        """Whether the broker is the one of this home, and not one that was configured."""
        return self._settings.brokers is None

    def brokers(self) -> str:
        """Return the address of the log.

        Raises:
            BrokerUnavailableError: No broker was configured, and none of this home runs.
        """
        if self._settings.brokers is not None:
            return self._settings.brokers
        cluster = Cluster(self._settings)
        if (address := cluster.ready()) is not None:
            return address
        if cluster.running():
            raise BrokerUnavailableError("the broker is starting; wait a moment")
        raise BrokerUnavailableError("no broker runs. Start one with 'headrace up', or run a program")

    def topics(self) -> Topics:
        """Return a client that knows the topics."""
        return Topics(self.brokers(), start=False, config=self.config)

    def groups(self) -> Groups:
        """Return a client that knows the groups."""
        return Groups(self.brokers(), start=False, config=self.config)

    def reader(self) -> Reader:
        """Return a client that reads pieces of topics."""
        return Reader(self.brokers(), self.config)

    def following(self, begin: dict[str, Offsets]) -> Following:
        """Return a client that follows topics."""
        return Following(begin, self.brokers(), self.config)

    def letters(self) -> Letters:
        """Return a client that knows dead letters."""
        return Letters(self.brokers(), self.config)
