"""How far a stage is behind its inputs, before it has read anything."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headrace.log.client import admin_client
from headrace.log.offsets import earliest_offsets, latest_offsets
from headrace.plan.source import Source, Through
from headrace.plan.stages import topic_of
from headrace.runtime.progress import Offsets, merged


def behind(
    program: str,
    inputs: Iterable[Source | Through],
    partitions: Mapping[str, int],
    client: Mapping[str, Any],
    checkpoint: str,
) -> int:
    """Return how many offsets lie between what the stage has planned to read and the ends of its topics."""
    starts = {topic_of(node, program): getattr(node, "start", "earliest") for node in inputs}
    places = [(topic, number) for topic in starts for number in range(partitions[topic])]
    admin, brokers = admin_client(client), str(client["bootstrap.servers"])
    latest, earliest = latest_offsets(admin, places, brokers), earliest_offsets(admin, places, brokers)
    read = planned(checkpoint)
    if read is None:
        return sum(latest[p] - earliest[p] for p in places if starts[p[0]] == "earliest")
    return sum(max(0, latest[t, n] - read.get(t, {}).get(str(n), earliest[t, n])) for t, n in places)


def planned(checkpoint: str) -> Offsets | None:
    """Return up to where the last batch of a checkpoint reads, or None if there is none that we can see."""
    numbers = [int(path.name) for path in Path(checkpoint, "offsets").glob("[0-9]*") if path.name.isdigit()]
    return read_offsets(checkpoint, max(numbers))[0] if numbers else None


def read_offsets(checkpoint: str, number: int) -> tuple[Offsets, int]:
    """Return the offsets at which a batch ends, and its watermark, from Spark's own log."""
    _, metadata, *sources = Path(checkpoint, "offsets", str(number)).read_text().splitlines()
    ends = [{"endOffset": json.loads(source)} for source in sources if source.startswith("{")]
    return merged(ends, "endOffset"), int(json.loads(metadata)["batchWatermarkMs"])
