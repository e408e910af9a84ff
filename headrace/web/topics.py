"""Topics and groups."""

from typing import Any

from headrace.log.groups import GroupInfo
from headrace.log.names import check_group_name, is_internal
from headrace.log.topics import TopicInfo
from headrace.web.asked import Asked
from headrace.web.site import Site
from headrace.web.watch import LogState


def topics(site: Site, asked: Asked) -> list[dict[str, Any]]:
    """List the topics with their rates."""
    internal = asked.flag("internal")
    state = site.watch.found()
    return [_summary(topic, state) for topic in (state.topics if internal else state.own)]


def topic(site: Site, asked: Asked) -> dict[str, Any]:
    """Tell of one topic what it holds and how it is set up."""
    name = asked.path["topic"]
    with site.log.topics() as client:
        found = client.describe(name)
    with site.log.reader() as reader:
        bounds = reader.bounds(name)
    offsets = [
        {
            "partition": p.id,
            "leader": p.leader,
            "replicas": p.replicas,
            "in_sync": p.in_sync,
            "earliest": p.earliest,
            "latest": bounds[p.id].end if p.id in bounds else p.latest,  # up to where readers get: see Reader.bounds
            "size": p.size,
        }
        for p in found.partitions
    ]
    return {**_summary(found, site.watch.look()), "offsets": offsets, "config": found.config}


def groups(site: Site, asked: Asked) -> list[dict[str, Any]]:
    """List the consumer groups with their lag."""
    if site.watch.found(5.0).brokers is None:
        return []
    with site.log.groups() as client:
        return [{**_group(group), "members": len(group.members)} for group in client.list()]


def group(site: Site, asked: Asked) -> dict[str, Any]:
    """Tell of one group who reads what, and how far behind."""
    name = check_group_name(asked.path["group"])
    with site.log.groups() as client:
        found = client.describe(name)
    partitions = [offset.row() for offset in found.offsets]
    return {**_group(found), "members": found.members, "partitions": partitions}


def _summary(topic: TopicInfo, state: LogState) -> dict[str, Any]:
    return {
        "name": topic.name,
        "partitions": len(topic.partitions),
        "events": topic.events,
        "bytes": topic.size,
        "compacted": topic.name in state.compacted,
        "internal": is_internal(topic.name),
        "rate": state.rates.get(topic.name, 0.0),
    }


def _group(group: GroupInfo) -> dict[str, Any]:
    return {"name": group.name, "state": group.state, "lag": group.lag}
