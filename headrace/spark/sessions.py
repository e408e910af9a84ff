"""Session windows with updates, which Spark does not have: Python keeps the sessions, Spark aggregates them.

Keys are hashed to a few buckets, and each bucket keeps its keys in pages, because Spark crosses to Python and back for
every group and every entry of state. For each session that a batch has changed all its events come out, and Spark
aggregates them, within the batch, by the same expressions as in any other window.
"""

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from headrace.core.quantities import milliseconds
from headrace.operators.sessions import Event, Session, add, still_open
from headrace.plan.aggregate import BOUNDS, Aggregate
from headrace.plan.windows import Session as SessionWindow
from headrace.spark.aggregate import finish, gather
from headrace.spark.columns import GONE, TIME, column, visible
from headrace.spark.encoding import JSON
from headrace.spark.lowering import Context, live

_BUCKETS = 16
_PAGES = 256
_FORMAT = 1  # of the bytes of a page
_FIELDS = ["__key", "__start", "__stop", "__at", "__row"]
_OUT = "__key string, __start bigint, __stop bigint, __at bigint, __row string"
Sessions = dict[str, list[Session]]


def session_updates(node: Aggregate, ctx: Context) -> tuple[DataFrame, Callable[[DataFrame], DataFrame]]:
    """Return the changed sessions as a stream, and the function that aggregates those of a batch."""
    assert isinstance(node.window, SessionWindow)
    gap = milliseconds(node.window.gap) * 1000
    frame = live(node.parent, ctx, drops_late=True)
    rest = [name for name in visible(frame) if name not in node.keys]
    keys, others = frame.select(*map(column, node.keys)), frame.select(*map(column, rest))
    key = F.to_json(F.struct(F.lit(0).alias("_"), *map(column, node.keys)), JSON)
    rows = frame.select(
        F.pmod(F.xxhash64(key), F.lit(_BUCKETS)).cast("int").alias("bucket"),
        key.alias("key"),
        (F.unix_micros(TIME) - gap).alias("at"),
        F.to_json(F.struct(F.lit(0).alias("_"), *map(column, rest)), JSON).alias("row"),
        TIME,  # by which Spark drops what is late; in this stage it is the end of a row's own session (`Context.shift`)
    )
    changes = rows.groupBy("bucket").transformWithStateInPandas(_Keeper(gap), _OUT, "Update", "EventTime")
    return changes, lambda batch: _aggregated(node, batch, keys.schema, others.schema)


def _aggregated(node: Aggregate, batch: DataFrame, keys: StructType, others: StructType) -> DataFrame:
    """Aggregate the events of each session; one that has none is gone.

    In one pass: the batch must not be computed twice, for it changes state.
    """
    rows = batch.select(
        "__start",
        "__stop",
        F.timestamp_micros("__at").alias(TIME),
        F.from_json("__key", _parsed(keys)).alias("__key"),
        F.from_json("__row", _parsed(others)).alias("__row"),
    ).select("__start", "__stop", TIME, *_fields("__key", keys), *_fields("__row", others))
    results = [gather(agg).alias(agg.name) for agg in node.aggs]
    found = rows.groupBy("__start", "__stop", *map(column, node.keys)).agg(*results, F.count(TIME).alias("__events"))
    sides = zip(("__start", "__stop"), BOUNDS, strict=True)
    bounds = [F.timestamp_micros(side).alias(name) for side, name in sides]
    gone = (F.col("__events") == 0).alias(GONE)
    return found.select(*bounds, *map(column, node.keys), *map(finish, node.aggs), gone)


def _parsed(schema: StructType) -> StructType:
    return StructType([StructField("_", IntegerType()), *schema.fields])


def _fields(parent: str, schema: StructType) -> list[Any]:
    return [F.col(parent)[name].alias(name) for name in schema.names]


class _Keeper(StatefulProcessor):
    """The sessions of a bucket of keys."""

    def __init__(self, gap: int) -> None:
        self._gap = gap

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        number = StructType([StructField("page", IntegerType())])
        self._pages = handle.getMapState("pages", number, StructType([StructField("bytes", BinaryType())]))

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        """Add a batch's events to the sessions of their keys."""
        events: dict[int, dict[str, list[Event]]] = defaultdict(lambda: defaultdict(list))
        for frame in rows:
            for name, at, row in zip(frame["key"], frame["at"], frame["row"], strict=True):
                events[zlib.crc32(name.encode()) % _PAGES][name].append((int(at), row))
        told: list[tuple[str, int, int, int | None, str | None]] = []
        due = []
        for number, keys in events.items():
            page = self._read(number)
            for name, new in keys.items():
                change = add(page.get(name, ()), new, self._gap)
                page[name] = change.sessions
                told += [(name, *bounds, None, None) for bounds in change.gone]
                told += [(name, s.start, s.stop, at, row) for s in change.changed for at, row in s.events]
            due.append(self._keep(number, page, _watermark(timerValues)))
        self._wake(due)
        yield pd.DataFrame(told, columns=_FIELDS).astype({"__at": "Int64"})

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        """Forget the sessions that cannot change any more."""
        numbers = [page[0] for page, _ in self._pages.iterator()]
        self._wake([self._keep(number, self._read(number), _watermark(timerValues)) for number in numbers])
        yield pd.DataFrame([], columns=_FIELDS).astype({"__at": "Int64"})

    def close(self) -> None:
        """Nothing is held open."""

    def _read(self, number: int) -> Sessions:
        stored = self._pages.getValue((number,)) if self._pages.containsKey((number,)) else None
        return decode_page(bytes(stored[0])) if stored else {}

    def _keep(self, number: int, page: Sessions, watermark: int) -> int | None:
        """Write a page without the sessions that are closed; return when the next one closes."""
        left = {name: kept for name, sessions in page.items() if (kept := still_open(sessions, watermark))}
        if left:
            self._pages.updateValue((number,), (encode_page(left),))
            return min(session.stop for sessions in left.values() for session in sessions)
        if self._pages.containsKey((number,)):
            self._pages.removeKey((number,))
        return None

    def _wake(self, due: Iterable[int | None]) -> None:
        """See to it that there is a timer for the first session that closes."""
        moments = [-(-moment // 1000) for moment in due if moment is not None]
        waiting = [timer if isinstance(timer, int) else timer[0] for timer in self._handle.listTimers()]
        if moments and (not waiting or min(moments) < min(waiting)):
            self._handle.registerTimer(min(moments))


def encode_page(page: Sessions) -> bytes:
    """Return the bytes of a page, with the version of their format."""
    return orjson.dumps([_FORMAT, {name: [(s.start, s.stop, s.events) for s in kept] for name, kept in page.items()}])


def decode_page(stored: bytes) -> Sessions:
    """Return the sessions that `encode_page` wrote."""
    version, page = orjson.loads(stored)
    if version != _FORMAT:
        raise ValueError(f"the state has the format {version}, this Headrace knows {_FORMAT}; start another version=")
    return {
        name: [Session(start, stop, tuple((at, row) for at, row in events)) for start, stop, events in kept]
        for name, kept in page.items()
    }


def _watermark(timers: Any) -> int:
    return int(timers.getCurrentWatermarkInMs()) * 1000
