"""The paged state host: runs any operator of `headrace.operators` on Spark's ``transformWithState``.

Spark crosses to Python and back for every group of rows and every entry of state, so both are made few: keys are hashed
to some buckets, the rows of a bucket travel together as one Arrow batch, and what is kept of its keys lies in pages. A
batch costs a read and a write for each page that it touches, however much is kept.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from headrace.operators.operator import HASH, KEY
from headrace.plan.stages import BUCKETS
from headrace.spark.columns import column
from headrace.spark.encoding import JSON
from headrace.spark.host import Host, Hosted
from headrace.spark.lowering import Context

_BUCKET = "__bucket"
_MODES = {"event": "EventTime", "processing": "ProcessingTime", "none": "None"}
_OUT = "late int, rows binary"


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
        Host(hosted), _OUT, "Update" if ctx.stage.mode == "update" else "Append", _MODES[hosted.clock]
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
