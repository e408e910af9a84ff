"""Finding the log: the cluster that was configured, or the managed one."""

import sys
from collections.abc import Mapping
from typing import Any

from headrace.core.errors import BrokerUnavailableError
from headrace.core.settings import Settings
from headrace.log.broker.cluster import Cluster


def connect(brokers: str | None = None, config: Mapping[str, Any] | None = None, start: bool = True) -> dict[str, Any]:
    """Return the settings with which a Kafka client reaches the log.

    Where no cluster is configured the managed broker is used, and started if it does not run.

    Args:
        brokers: ``host:port,…``, over everything that is configured.
        config: Further settings of the Kafka client, by Kafka's names.
        start: False to raise `BrokerUnavailableError` instead of starting a broker.
    """
    settings = Settings.load(brokers=brokers)
    address = settings.brokers or _managed(Cluster(settings), start)
    return {"bootstrap.servers": address, **settings.kafka, **(config or {})}


def _managed(cluster: Cluster, start: bool) -> str:
    if ready := cluster.ready():
        return ready
    running = cluster.running()
    if not running and not start:
        raise BrokerUnavailableError(
            f"no broker runs in {cluster.home}. Start one with 'headrace up', "
            "or set HEADRACE_BROKERS=host:port to use a Kafka cluster"
        )
    address = cluster.up()  # waits for one that somebody else is starting
    if not running:
        print(f"headrace: started a Kafka broker at {address}; stop it with 'headrace down'", file=sys.stderr)
    return address
