"""The topics of a program: checked and created before it starts."""

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.alerts.topics import create as create_alerts
from headrace.log.client import admin_client, metadata
from headrace.log.dead_letters import LATE_SUFFIX, SUFFIX
from headrace.log.topics import DEFAULT_PARTITIONS, Topics
from headrace.plan.alert import Alerts
from headrace.plan.stages import FileOutput, Stage, TopicOutput
from headrace.spark import markers
from headrace.spark.sending import create_dead_letters


def heartbeat_topic(program: str) -> str:
    """Return the topic that moves time while nothing else comes."""
    return f"{program}.heartbeat"


def late_topic(program: str) -> str:
    """Return the topic of events that came too late."""
    return f"{program}{LATE_SUFFIX}"


def marker_topic(program: str, version: str, stage: str) -> str:
    """Return the topic that tells which batches of a stage are written."""
    return f"{program}.{version}.{stage}.commits"


def prepare(
    program: str, version: str, stages: Sequence[Stage], client: Mapping[str, Any]
) -> tuple[dict[str, int], list[str]]:
    """Create the topics that are missing; return the partitions of all that are read, and what was created."""
    created: list[str] = []
    with Topics(client["bootstrap.servers"], config=_rest(client)) as topics:
        found = metadata(admin_client(client), client["bootstrap.servers"]).topics
        known = {name: len(topic.partitions) for name, topic in found.items()}
        written = {stage.output.topic for stage in stages if isinstance(stage.output, TopicOutput)}

        def create(name: str, partitions: int, **policy: Any) -> None:
            if name not in known:
                topics.create(name, partitions=partitions, exist_ok=True, **policy)
                known[name] = partitions
                created.append(name)

        for stage in stages:
            inputs = [node.topic for node in stage.inputs]
            for name in inputs:
                if name not in written:
                    create(name, DEFAULT_PARTITIONS)
            create(marker_topic(program, version, stage.name), markers.PARTITIONS, compact=True)
            if isinstance(stage.output, FileOutput):
                continue
            if stage.output.latency == "realtime":  # its dead letters are written by Spark, which creates no topic
                for name in (*(topic + SUFFIX for topic in inputs), late_topic(program)):
                    create_dead_letters(name, client)
            if isinstance(stage.node, Alerts) and stage.output.topic not in known:
                create_alerts(topics, stage.output.topic)
                known[stage.output.topic] = 1
                created.append(stage.output.topic)
            wanted = stage.output.partitions or max(known[name] for name in inputs)
            create(stage.output.topic, wanted, **({"compact": True} if stage.node.updates else {}))
        create(heartbeat_topic(program), 1, retention="1 day")
    return known, [name for name in created if not name.startswith(f"{program}.")]


def _rest(client: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in client.items() if name != "bootstrap.servers"}
