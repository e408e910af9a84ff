"""Kafka's rules for names."""

import re

from headrace.core.errors import ConfigError, TopicNameError

LONGEST = 249
_INTERNAL = re.compile(
    r"__.*"  # Kafka's own
    r"|.+\..+\..+\.commits|.+\.heartbeat|.+\.changelog|.+\.repartition"  # what programs keep for themselves
    r"|headrace\.replays|alerts\.control"
)


def check_topic_name(name: str) -> str:
    """Return ``name`` if Kafka accepts it as the name of a topic."""
    if isinstance(name, str) and re.fullmatch(rf"[A-Za-z0-9._-]{{1,{LONGEST}}}", name) and name not in (".", ".."):
        return name
    shown = f"{name[:60]}… ({len(name)} characters)" if isinstance(name, str) and len(name) > LONGEST else repr(name)
    raise TopicNameError(
        f"{shown} is not a topic name; use 1 to {LONGEST} letters, digits, '.', '_' and '-', but not '.' or '..'"
    )


def check_group_name(name: str) -> str:
    """Return ``name`` if a group can have it; the Kafka client does not survive some that none can have."""
    try:
        if name and "\0" not in name and name.encode():
            return name
    except (AttributeError, TypeError, UnicodeEncodeError):
        pass
    raise ConfigError(f"{name!r} is not the name of a group; use text that is not empty")


def is_internal(topic: str) -> bool:
    """Whether a topic is one that Kafka or programs keep for themselves, by its name."""
    return _INTERNAL.fullmatch(topic) is not None
