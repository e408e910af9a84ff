"""The topics of alerts: what fires and resolves, and what people say to it."""

from headrace.log.topics import Topics

ALERTS = "alerts"
_HISTORY = 30 * 24 * 3600 * 1000  # milliseconds for which every event stays; of what is older, the last of each alert


def control_topic(topic: str) -> str:
    """Return the topic of acknowledgements and silences."""
    return f"{topic}.control"


def create(topics: Topics, topic: str) -> None:
    """Create the topic of alerts where it is missing: it keeps the history for a month, and what fires for ever."""
    config = {"cleanup.policy": "compact", "min.compaction.lag.ms": str(_HISTORY)}
    topics.create(topic, partitions=1, exist_ok=True, config=config)


def create_control(topics: Topics, topic: str) -> None:
    """Create the topic of acknowledgements and silences where it is missing."""
    topics.create(control_topic(topic), partitions=1, exist_ok=True, compact=True)
