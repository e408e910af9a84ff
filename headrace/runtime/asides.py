"""What stages put aside: late events to the ledger, dead ones to the dead letters, each once.

To find them takes another look at a batch, as long as the batch itself took; so it waits while the stage is behind.
"""

import uuid
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from headrace.plan.stages import FileOutput
from headrace.runtime.checkpoint import Checkpoint
from headrace.runtime.home import write_json
from headrace.runtime.progress import Offsets, Progress
from headrace.runtime.topics import late_topic
from headrace.spark import asides, markers
from headrace.spark.kafka import KafkaRange
from headrace.spark.lowering import Context
from headrace.spark.sending import Sender, is_late

if TYPE_CHECKING:
    from confluent_kafka import Producer

_PART = "all"
_MOST = 50  # batches that may wait; Spark forgets where batches begin after a hundred


@dataclass(frozen=True)
class Batch:
    """A batch to look at once more."""

    number: int
    begin: Offsets
    end: Offsets
    watermark: int  # by which lateness was judged: that of the batch before, or of this one (`Stage.judges_now`)
    suspect: bool  # whether it has left out anything, as far as is known


class Asides:
    """Follows the batches of one stage, and writes down what they left out."""

    def __init__(self, ctx: Context, topic: str, client: dict[str, Any], checkpoint: Checkpoint, note: Path) -> None:
        self._ctx, self._markers, self._client = ctx, topic, client
        self._checkpoint, self._note = checkpoint, note
        self._watermark = 0
        self._written = -1
        self._producer: Producer | None = None
        self._waiting = deque[Batch]()
        self.needed = bool(ctx.stage.stateful) or isinstance(ctx.stage.output, FileOutput)
        self.late = 0

    def follow(self, progress: Progress) -> None:
        """Take note of a batch that has ended."""
        judged, self._watermark = self._watermark, progress.watermark
        if self._ctx.stage.judges_now:
            judged = progress.watermark
        if not self.needed:
            return
        suspect = bool(progress.dropped or progress.dead)
        self._waiting.append(Batch(progress.batch, progress.begin, progress.end, judged, suspect))

    def catch_up(self) -> None:
        """Have the batches looked at that ended before an earlier run could."""
        if self.needed:
            self._waiting.extend(self._missed(int(self._note.read_text()) if self._note.exists() else -1))

    def work(self, busy: bool) -> None:
        """Look at the batches that wait for it; while the stage is busy, only where they become too many."""
        while self._waiting:
            batch = self._waiting[0]
            if batch.suspect:
                if busy and len(self._waiting) <= _MOST:
                    return
                self._look(batch)
            write_json(self._note, batch.number)
            self._waiting.popleft()

    def _missed(self, last: int) -> Iterator[Batch]:
        before = self._checkpoint.batch(last)
        self._watermark = before[1] if before else 0
        for number in range(last + 1, last + 1000):
            now = self._checkpoint.batch(number)
            if now is None or not self._checkpoint.committed(number):
                return
            begin = before[0] if before else {}
            judged = now[1] if self._ctx.stage.judges_now else self._watermark
            yield Batch(number, begin, now[0], judged, suspect=True)
            before, self._watermark = now, now[1]

    def _look(self, batch: Batch) -> None:
        log = KafkaRange(self._ctx.spark, self._client, batch.begin, batch.end)
        self._write(batch.number, asides.left_out(self._ctx, log, batch.watermark))

    def _write(self, number: int, frames: list[DataFrame]) -> None:
        """Write in one transaction, with a marker, unless an earlier run has."""
        if self._producer is None:
            run = uuid.uuid4().hex
            self._written = markers.recover(self._client, self._markers, markers.ASIDES, run).get(_PART, -1)
            self._producer = markers.writer(self._client, self._markers, markers.ASIDES, run)
        producer = self._producer
        if self._written >= number:
            return
        producer.begin_transaction()
        sender = Sender(producer, "", self._client, self._ctx.stage.declared, late_topic(self._ctx.app))
        for frame in frames:
            for row in frame.toLocalIterator():
                letter = {
                    name: bytes(part) if isinstance(part, bytearray) else part for name, part in row.asDict().items()
                }
                self.late += is_late(letter)
                sender.put_aside(letter)
        markers.note(producer, self._markers, markers.ASIDES, _PART, number)
        producer.commit_transaction(markers.COMMIT)
        self._written = number
