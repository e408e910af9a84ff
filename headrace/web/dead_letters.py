"""Dead letters and late events: why they were put aside, whence they came, and once more to there."""

from typing import Any

from headrace.core.errors import ConfigError
from headrace.log.letter import Letter, Place
from headrace.log.letters import MOST
from headrace.web.asked import Asked, offsets_of
from headrace.web.events import shown
from headrace.web.site import Site

_MOST_SHOWN = 200


def ledgers(site: Site, asked: Asked) -> list[dict[str, Any]]:
    """List the topics of letters, the one with the newest first."""
    state = site.watch.found()
    found = site.ledgers.list(state.topics) if state.brokers else []
    return [{"topic": one.topic, "source": one.source, "events": one.events, "newest": one.newest} for one in found]


def letters(site: Site, asked: Asked) -> dict[str, Any]:
    """Show the newest letters of a topic, the newest first, or those before a place."""
    limit, before = asked.limit(50, _MOST_SHOWN), asked.offsets("before")
    with site.log.letters() as client:
        found = client.search(asked.path["topic"], _letter, before=before, limit=limit)
    return {"letters": found.events[::-1], "before": found.before, "more": found.older}


def replay(site: Site, asked: Asked) -> dict[str, int]:
    """Send letters to the topics that they came from."""
    value, again = asked.body.get("value"), asked.body.get("again", False)
    if value is not None and not isinstance(value, str):
        raise ConfigError('"value" must be text, which is sent as it is')
    if not isinstance(again, bool):
        raise ConfigError('"again" must be true or false')
    places = _places(asked.body.get("places"))
    with site.log.letters() as client:
        return {"replayed": client.replay(asked.path["topic"], places, value=value, again=again)}


def _places(given: Any) -> list[Place]:
    example = '"places" must be like [{"partition": 0, "offset": 12}]'
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise ConfigError(example)
    if len(given) > MOST:
        raise ConfigError(f"{len(given):,} letters are too many to replay at once; the most is {MOST:,}")
    pairs = [offsets_of({str(one.get("partition")): one.get("offset")}, "places") for one in given]
    return [Place(partition, offset) for pair in pairs for partition, offset in pair.items()]


def _letter(letter: Letter) -> dict[str, Any]:
    source = letter.source._asdict() if letter.source else None
    return {**shown(letter.event), "reason": letter.reason, "source": source, "replayed": letter.replayed}
