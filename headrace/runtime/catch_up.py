"""Stages that start far behind: no window closes, and nothing is late, until they have caught up.

Partitions are read at different speeds meanwhile, and the newest event read says nothing about what is still to come.
The batch that takes the last of the backlog is put off, and repeated once the stage runs as declared: it is that batch
which closes the windows.

It closes none if an input has no event in it: after a restart Spark knows nothing of that input's time, and waits for
it. So a stage with several inputs, one of them written by a stage that needs but one batch, begins after that batch.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from headrace.log.client import admin_client
from headrace.log.offsets import earliest_offsets, latest_offsets
from headrace.plan.stages import Stage
from headrace.runtime.checkpoint import Checkpoint
from headrace.runtime.progress import Offsets

_TICK = 0.02  # seconds between two looks at the stages above


class Feeding(Protocol):
    """A stage that writes what another reads."""

    @property
    def behind(self) -> bool:
        """Whether what it writes is still of its backlog, and so in no order of time."""
        ...

    @property
    def backlog(self) -> int:
        """How many events it had not read when it was started."""
        ...


class CatchUp:
    """How far one stage is behind.

    Args:
        stage: The stage.
        feeding: The stages that write what it reads.
        partitions: Of each topic.
        client: Settings of the Kafka client.
        checkpoint: What the stage has done so far.
        most: Events of one batch.
    """

    def __init__(
        self,
        stage: Stage,
        feeding: Sequence[Feeding],
        *,
        partitions: Mapping[str, int],
        client: Mapping[str, Any],
        checkpoint: Checkpoint,
        most: int,
    ) -> None:
        self._starts = {node.topic: getattr(node, "start", "earliest") for node in stage.inputs}
        self._places = [(topic, number) for topic in self._starts for number in range(partitions[topic])]
        self._admin, self._brokers = admin_client(client), str(client["bootstrap.servers"])
        self._checkpoint, self._feeding, self._most = checkpoint, feeding, most
        self._near = False  # whether the batch to come takes all that was there when the last one was written
        done = checkpoint.done()
        self.ran_before = done is not None
        self.waiting = self._after(done)
        timed = sum(node.timed for node in stage.inputs) if stage.stateful else 0
        far = self._after(checkpoint.planned()) > most
        self.needed = timed > 0 and (far or self._fed_by_backlog)
        self._together = timed > 1 and not far  # whether one batch can take all there is, of every input

    @property
    def _fed_by_backlog(self) -> bool:
        return any(query.behind for query in self._feeding)

    @property
    def holds(self) -> bool:
        """Whether the stage should not begin yet: what is above is done after a batch, and then all can be taken."""
        behind = [query for query in self._feeding if query.behind]
        return self._together and bool(behind) and all(query.backlog <= self._most for query in behind)

    def ends_with(self, number: int, closed: Callable[[], bool]) -> bool:
        """Whether a batch that is about to be written takes the last of the backlog.

        While stages above are behind this cannot be known, and the batch waits, unless the stage is ``closed``.
        """
        if not self.needed:
            return False
        while self._fed_by_backlog and not closed():
            time.sleep(_TICK)
        found = self._checkpoint.batch(number)
        left = self._after(found[0] if found else None)
        last, self._near = self._near or not left, left <= self._most
        return last

    def is_over(self) -> bool:
        """Whether there is no backlog any more, although no batch was its last: there was nothing to read."""
        return not self._fed_by_backlog and not self._after(self._checkpoint.done())

    def _after(self, read: Offsets | None) -> int:
        """Return how many offsets there are beyond those that were read."""
        begin = {(topic, int(n)): offset for topic, known in (read or {}).items() for n, offset in known.items()}
        if new := [place for place in self._places if place not in begin]:
            begin |= earliest_offsets(self._admin, new, self._brokers)
        latest = latest_offsets(self._admin, self._places, self._brokers, committed=True)
        counted = (place for place in self._places if read is not None or self._starts[place[0]] == "earliest")
        return sum(max(0, latest[place] - begin[place]) for place in counted)
