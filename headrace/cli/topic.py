"""headrace topic …: the topics of the log."""

from typing import Annotated, Any

import typer

from headrace.cli import topic_produce, topic_tail
from headrace.cli.output import FormatOption, YesOption, confirm, print_json, print_object, print_rows, say, wants_json
from headrace.core.quantities import show_size
from headrace.log.topics import DEFAULT_PARTITIONS, Policy, TopicInfo, Topics

app = typer.Typer(no_args_is_help=True, help="Create, inspect, write and read topics.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The topic.")]
Retention = Annotated[str | None, typer.Option(help="Delete what is older, such as '7 days'.")]
RetentionBytes = Annotated[str | None, typer.Option(help="Keep at most this much in a partition, such as '1 GB'.")]
Compact = Annotated[bool | None, typer.Option("--compact/--no-compact", help="Keep the last event of each key.")]
Tombstones = Annotated[str | None, typer.Option(help="How long deleted keys stay visible, such as '1 day'.")]
SegmentBytes = Annotated[str | None, typer.Option(help="Begin a new segment file at this size.")]
SegmentTime = Annotated[str | None, typer.Option(help="Begin a new segment file after this time.")]
Config = Annotated[
    list[str] | None, typer.Option("--config", metavar="NAME=VALUE", help="Any setting by Kafka's name.")
]


@app.command()
def create(
    name: Name,
    partitions: Annotated[
        int, typer.Option("--partitions", "-p", min=1, help="Read side by side.")
    ] = DEFAULT_PARTITIONS,
    replication: Annotated[int | None, typer.Option(min=1, help="Copies; the cluster's default unless given.")] = None,
    retention: Retention = None,
    retention_bytes: RetentionBytes = None,
    compact: Compact = None,
    tombstone_retention: Tombstones = None,
    segment_bytes: SegmentBytes = None,
    segment_time: SegmentTime = None,
    config: Config = None,
    format: FormatOption = None,
) -> None:
    """Create a topic."""
    policy = _policy(
        retention=retention,
        retention_bytes=retention_bytes,
        compact=compact,
        tombstone_retention=tombstone_retention,
        segment_bytes=segment_bytes,
        segment_time=segment_time,
    )
    with Topics(start=False) as topics:
        topics.create(name, partitions, replication=replication, config=_pairs(config), **policy)
    if wants_json(format):
        print_json({"created": name, "partitions": partitions})
    else:
        say(f"Created {name} with {partitions} partition(s).")


@app.command("list")
def list_topics(
    internal: Annotated[bool, typer.Option("--internal", help="Also Kafka's own.")] = False, format: FormatOption = None
) -> None:
    """List the topics with their events and sizes."""
    with Topics(start=False) as topics:
        found = topics.list(internal=internal)
    if wants_json(format):
        for topic in found:
            print_json(_summary(topic))
        return
    rows = [_summary(topic) | {"size": _size(topic.size)} for topic in found]
    print_rows(
        rows, ("name", "partitions", "events", "size"), format, "No topics. Create one: headrace topic create NAME"
    )


@app.command()
def describe(name: Name, format: FormatOption = None) -> None:
    """Show a topic's partitions, offsets, sizes and settings."""
    with Topics(start=False) as topics:
        topic = topics.describe(name)
    partitions = [
        {
            "partition": p.id,
            "leader": p.leader,
            "replicas": list(p.replicas),
            "in_sync": list(p.in_sync),
            "earliest": p.earliest,
            "latest": p.latest,
            "size": p.size,
        }
        for p in topic.partitions
    ]
    if wants_json(format):
        print_json(_summary(topic) | {"offsets": partitions, "config": topic.config})
        return
    print_object(_summary(topic) | {"size": _size(topic.size)}, format)
    say("")
    rows = [row | {"size": _size(p.size)} for row, p in zip(partitions, topic.partitions, strict=True)]
    print_rows(rows, ("partition", "earliest", "latest", "size", "leader", "replicas", "in_sync"), format, "")
    if topic.config:
        say("")
        print_object(topic.config, format)


@app.command()
def delete(name: Name, yes: YesOption = False, format: FormatOption = None) -> None:
    """Delete a topic with all its events."""
    with Topics(start=False) as topics:
        events = topics.describe(name).events
        confirm(f"Delete {name} with about {events:,} events?", yes)
        topics.delete(name)
    if wants_json(format):
        print_json({"deleted": name})
    else:
        say(f"Deleted {name}.")


@app.command("config")
def configure(
    name: Name,
    retention: Retention = None,
    retention_bytes: RetentionBytes = None,
    compact: Compact = None,
    tombstone_retention: Tombstones = None,
    segment_bytes: SegmentBytes = None,
    segment_time: SegmentTime = None,
    partitions: Annotated[int | None, typer.Option(min=1, help="Grow to so many; keys then move.")] = None,
    config: Config = None,
    format: FormatOption = None,
) -> None:
    """Change a topic's settings, then show them; NAME= restores a default."""
    policy = _policy(
        retention=retention,
        retention_bytes=retention_bytes,
        compact=compact,
        tombstone_retention=tombstone_retention,
        segment_bytes=segment_bytes,
        segment_time=segment_time,
    )
    changes = _pairs(config)
    with Topics(start=False) as topics:
        if partitions is not None:
            topics.grow(name, partitions)
        if policy or changes:
            topics.configure(name, changes, **policy)
        found = topics.describe(name).config
    if wants_json(format) or found:
        print_object(found, format)
    else:
        say(f"{name} has the broker's defaults.")


app.command("produce")(topic_produce.produce)
app.command("tail")(topic_tail.tail)


def _summary(topic: TopicInfo) -> dict[str, Any]:
    return {"name": topic.name, "partitions": len(topic.partitions), "events": topic.events, "size": topic.size}


def _size(size: int | None) -> str | None:
    return None if size is None else show_size(size)


def _policy(**given: Any) -> Policy:
    policy: Any = {name: value for name, value in given.items() if value is not None}
    return policy  # type: ignore[no-any-return] # Typer has checked the names


def _pairs(given: list[str] | None) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in given or []]
    if wrong := ["".join(pair) for pair in pairs if not (pair[0] and pair[1])]:
        raise typer.BadParameter(f"{wrong[0]!r} is not NAME=VALUE", param_hint="--config")
    return {name: value for name, _, value in pairs}
