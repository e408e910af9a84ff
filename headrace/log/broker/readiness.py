"""Waiting for brokers until they answer."""

import time
from collections.abc import Mapping, Sequence

from confluent_kafka import KafkaException

from headrace.core.errors import BrokerStartError
from headrace.log.broker import process
from headrace.log.broker.node import Node
from headrace.log.client import admin_client

_PATIENCE = 600  # seconds; a broker with much to recover after an unclean end takes long, a hung one for ever


def wait_until_ready(nodes: Sequence[Node], started: Mapping[Node, process.Process]) -> None:
    """Return once all ``nodes`` are registered and answer; raise as soon as one of ``started`` is gone."""
    client = admin_client({"bootstrap.servers": ",".join(node.address for node in nodes)})
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        for node, running in started.items():
            if not process.alive(running):
                raise BrokerStartError(f"broker {node.id} ended while it was starting; its log is {node.log}")
        try:
            if len(client.list_topics(timeout=0.2).brokers) == len(nodes):
                return
        except KafkaException:
            time.sleep(0.02)  # the port is closed still: the client answers at once
    raise BrokerStartError(f"the broker did not answer within {_PATIENCE} s; its log is {nodes[0].log}")
