"""What stages put aside: late events to the ledger, dead ones to the dead letters, each once."""

import uuid
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
from headrace.spark.sending import Sender

if TYPE_CHECKING:
    from confluent_kafka import Producer

_PART = "all"


@dataclass(frozen=True)
class Batch:
    """A batch to look at once more."""

    number: int
    begin: Offsets
    end: Offsets
    watermark: int  # by which lateness was judged: that of the batch before, or of this one where dedupe is alone


class Asides:
    """Follows the batches of one stage, and writes down what they left out."""

    def __init__(self, ctx: Context, topic: str, client: dict[str, Any], checkpoint: Checkpoint, note: Path) -> None:
        self._ctx, self._markers, self._client = ctx, topic, client
        self._checkpoint, self._note = checkpoint, note
        self._watermark = 0
        self._written = -1
        self._producer: Producer | None = None
        self.needed = bool(ctx.stage.stateful) or isinstance(ctx.stage.output, FileOutput)
        self.late = 0

    def follow(self, progress: Progress) -> None:
        """Look at a batch that has ended."""
        judged, self._watermark = self._watermark, progress.watermark
        if self._ctx.stage.dedupes_alone:
            judged = progress.watermark
        if not self.needed:
            return
        if progress.dropped or progress.dead:
            self._look(Batch(progress.batch, progress.begin, progress.end, judged))
        write_json(self._note, progress.batch)

    def catch_up(self) -> None:
        """Look at the batches that ended before an earlier run could."""
        if not self.needed:
            return
        for batch in self._missed(int(self._note.read_text()) if self._note.exists() else -1):
            self._look(batch)
            write_json(self._note, batch.number)

    def _missed(self, last: int) -> Iterator[Batch]:
        before = self._checkpoint.batch(last)
        self._watermark = before[1] if before else 0
        for number in range(last + 1, last + 1000):
            now = self._checkpoint.batch(number)
            if now is None or not self._checkpoint.committed(number):
                return
            begin = before[0] if before else {}
            judged = now[1] if self._ctx.stage.dedupes_alone else self._watermark
            yield Batch(number, begin, now[0], judged)
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
        sender = Sender(producer, "", self._client, self._ctx.stage.declared)
        for frame in frames:
            for row in frame.toLocalIterator():
                late = row["kind"] == asides.LATE
                self.late += late
                letter = {
                    name: bytes(part) if isinstance(part, bytearray) else part for name, part in row.asDict().items()
                }
                sender.put_aside(letter, late_topic(self._ctx.app) if late else None)
        markers.note(producer, self._markers, markers.ASIDES, _PART, number)
        producer.commit_transaction(markers.COMMIT)
        self._written = number
