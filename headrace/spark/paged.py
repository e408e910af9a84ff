"""The paged state host: runs any operator of `headrace.operators` on Spark's ``transformWithState``.

Spark crosses to Python and back for every group of rows and every entry of state, so both are made few: keys are hashed
to some buckets, the rows of a bucket travel together as one Arrow batch, and what is kept of its keys lies in pages. A
batch costs a read and a write for each page that it touches, however much is kept.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from headrace.operators.bucket import Bucket
from headrace.operators.operator import HASH, KEY, Operator, Turn
from headrace.spark.columns import column
from headrace.spark.encoding import JSON
from headrace.spark.lowering import Context

Clock = Literal["event", "processing", "none"]
BUCKETS = 16
_BUCKET = "__bucket"
_MODES = {"event": "EventTime", "processing": "ProcessingTime", "none": "None"}
_ALL = 3  # from one in so many pages on, reading all of them in one go is faster than one by one
_OUT = "late int, rows binary"


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


def keyed(frame: DataFrame, keys: list[Column], instead: Column | None = None) -> DataFrame:
    """Add the columns by which keys are told apart and spread; ``instead``, where it is not null, is the key."""
    key = key_text(keys)
    chosen = key if instead is None else F.coalesce(instead, key)
    return frame.withColumn(KEY, chosen).withColumn(HASH, F.xxhash64(KEY))


def key_text(keys: list[Column]) -> Column:
    """Return a text that tells keys apart."""
    if len(keys) == 1:
        return F.coalesce(keys[0].cast("string"), F.lit("\0"))
    named = [key.alias(f"k{number}") for number, key in enumerate(keys)]
    return F.to_json(F.struct(F.lit(0).alias("_"), *named), JSON)


def schema_of(frame: DataFrame) -> pa.Schema:
    """Return Arrow's form of a frame's columns."""
    return to_arrow_schema(frame.schema, timezone="UTC")


def paged(frame: DataFrame, hosted: Hosted, ctx: Context) -> DataFrame:
    """Run an operator over rows that `keyed` has prepared."""
    bucket = F.pmod(F.col(HASH), F.lit(BUCKETS)).cast("int").alias(_BUCKET)
    rows = frame.select(bucket, *map(column, hosted.rows.names))
    packed = rows.mapInArrow(_packer(hosted.rows), f"{_BUCKET} int, rows binary")
    turned = packed.groupBy(_BUCKET).transformWithState(
        _Host(hosted), _OUT, "Update" if ctx.stage.mode == "update" else "Append", _MODES[hosted.clock]
    )
    name = f"late-{len(ctx.observed)}"
    ctx.observed.append(name)
    told = turned.observe(name, F.sum("late").alias("dead"))
    out = hosted.operator.out
    return told.select("rows").mapInArrow(_unpacker(out), from_arrow_schema(out))


def _packer(schema: pa.Schema) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            bucket = batch.column(0).to_numpy()
            order = np.argsort(bucket, kind="stable")
            rows = pa.RecordBatch.from_arrays(batch.columns[1:], schema=schema).take(pa.array(order))
            sorted_ = bucket[order]
            begins = np.flatnonzero(np.append(True, sorted_[1:] != sorted_[:-1])) if len(order) else order
            ends = np.append(begins[1:], len(order))
            blobs = [rows.slice(b, e - b).serialize().to_pybytes() for b, e in zip(begins, ends, strict=True)]
            yield pa.RecordBatch.from_pydict({_BUCKET: pa.array(sorted_[begins], pa.int32()), "rows": blobs})

    return pack


def _unpacker(schema: pa.Schema) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch.column(0):
                if (buffer := blob.as_buffer()) is not None:
                    yield pa.ipc.read_record_batch(buffer, schema)

    return unpack


class _Host(StatefulProcessor):
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
