"""Topics of dead letters, listed without reading again what has not changed."""

import threading
from collections.abc import Sequence
from contextlib import suppress

from headrace.core.errors import UnknownTopicError
from headrace.log.letter import Ledger, is_ledger
from headrace.log.topics import TopicInfo
from headrace.web.log import Log


class Ledgers:
    """Remembers what each ledger held, until it holds something else."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._known: dict[str, tuple[object, Ledger]] = {}

    def list(self, topics: Sequence[TopicInfo]) -> list[Ledger]:
        """Return the ledgers among ``topics``, the one with the newest letter first."""
        with self._lock:
            states = {topic.name: _state(topic) for topic in topics if is_ledger(topic.name)}
            new = [name for name, state in states.items() if self._known.get(name, (None,))[0] != state]
            if new:
                with self._log.letters() as letters:
                    for name in new:
                        with suppress(UnknownTopicError):  # deleted meanwhile
                            self._known[name] = states[name], letters.ledger(name)
            found = [self._known[name][1] for name in states if name in self._known]
        return sorted(found, key=lambda ledger: ledger.newest.timestamp() if ledger.newest else 0.0, reverse=True)


def _state(topic: TopicInfo) -> object:
    return tuple((p.id, p.earliest, p.latest) for p in topic.partitions)
