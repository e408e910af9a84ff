"""Spark's side of the paged host, as its workers load it: they start faster the less they import."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from headrace.operators.bucket import Bucket
from headrace.operators.operator import Operator, Turn

Clock = Literal["event", "processing", "none"]
_ALL = 3  # from one in so many pages on, reading all of them in one go is faster than one by one


@dataclass(frozen=True)
class Hosted:
    """An operator and what the host needs to know of it.

    Attributes:
        operator: The logic.
        rows: The columns that it gets.
        step: How the user calls it.
        clock: What it takes for the time.
    """

    operator: Operator
    rows: pa.Schema
    step: str
    clock: Clock


class Host(StatefulProcessor):
    """Spark's side of a bucket: its state, its timers, and the time."""

    def __init__(self, hosted: Hosted) -> None:
        self._hosted = hosted

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._handle = handle
        number = StructType([StructField("page", IntegerType())])
        blob = StructType([StructField("bytes", BinaryType())])
        self._layout = handle.getValueState("layout", blob)
        self._pages = handle.getMapState("pages", number, blob)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Give a bucket its rows of a batch."""
        schema = self._hosted.rows
        batches = [pa.ipc.read_record_batch(pa.py_buffer(row["rows"]), schema) for row in rows]
        return _told(self._bucket().take(pa.Table.from_batches(batches, schema), self._now(timerValues)))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        """Give a bucket what has become due."""
        return _told(self._bucket().due(self._now(timerValues)))

    def close(self) -> None:
        """Nothing is held open."""

    def _bucket(self) -> Bucket:
        return Bucket(self._hosted.operator, self._hosted.rows, self._hosted.step, self)

    def _now(self, timers: Any) -> int:
        if self._hosted.clock == "none":
            return 0
        now = timers.getCurrentWatermarkInMs if self._hosted.clock == "event" else timers.getCurrentProcessingTimeInMs
        return int(now())

    def layout(self) -> bytes | None:
        """Return the layout, if there is one."""
        stored = self._layout.get()
        return bytes(stored[0]) if stored else None

    def keep_layout(self, blob: bytes) -> None:
        """Replace the layout."""
        self._layout.update((blob,))

    def pages(self, wanted: list[int], of: int) -> dict[int, bytes]:
        """Return some of the pages, by one call each or, where they are many, all by a few calls."""
        if len(wanted) * _ALL > of:
            every = {page[0]: bytes(blob[0]) for page, blob in self._pages.iterator()}
            return {page: every[page] for page in wanted}
        found = ((page, self._pages.getValue((page,))) for page in wanted)
        return {page: bytes(blob[0]) for page, blob in found if blob is not None}

    def keep(self, page: int, blob: bytes) -> None:
        """Replace a page."""
        self._pages.updateValue((page,), (blob,))

    def remove(self, page: int) -> None:
        """Take a page away."""
        self._pages.removeKey((page,))

    def wake(self, at: int) -> None:
        """Have Spark call when it is this time."""
        if self._hosted.clock != "none":
            self._handle.registerTimer(at)


def _told(turn: Turn) -> Iterator[Row]:
    batches = turn.out.combine_chunks().to_batches() if turn.out.num_rows else []
    if turn.late or batches:
        yield Row(late=turn.late, rows=batches[0].serialize().to_pybytes() if batches else None)
