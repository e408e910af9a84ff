"""Topics of a test: what was sent lies in memory until a stage is handed it."""

from base64 import b64encode
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp")
_HEADERS = "array<struct<key: string, value: binary>>"
# A sending on its way to Spark: one text for all its events, bytes in base 64, times in microseconds.
_SENDING = "array<struct<key string, value string, topic string, partition int, offset bigint, timestamp bigint>>"
# Spark's own source for tests, for which PySpark has no name.
_MEMORY = "org.apache.spark.sql.execution.streaming.runtime.MemoryStream"
_ENCODERS = "org.apache.spark.sql.Encoders"
_UTILS = "org.apache.spark.api.python.PythonUtils"
_EPOCH = datetime.fromtimestamp(0, UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Sent:
    """One event of a test."""

    key: bytes | None
    value: bytes | None


class Topics:
    """Hands what is sent to whoever follows a topic."""

    def __init__(self) -> None:
        self._followers: dict[str, list[deque[str]]] = defaultdict(list)
        self._offsets: dict[str, int] = {}

    def follow(self, topic: str) -> deque[str]:
        """Return where the sendings to a topic will lie until they are taken away."""
        self._followers[topic].append(deque())
        return self._followers[topic][-1]

    def put(self, topic: str, events: Iterable[Sent], at: datetime, origin: str | None = None) -> None:
        """Append events, all at once; ``origin`` is the topic they say they are of."""
        named = origin or topic
        first = self._offsets.get(named, 0)
        told = {"topic": named, "partition": 0, "timestamp": (at - _EPOCH) // _MICROSECOND}
        rows = [{**told, "key": e.key, "value": e.value, "offset": first + n} for n, e in enumerate(events)]
        self._offsets[named] = first + len(rows)
        self._send(topic, rows)

    def take(self, topic: str, file: Path) -> None:
        """Append the events of a file that Spark wrote."""
        table = pq.read_table(file, columns=list(COLUMNS))
        times = table["timestamp"].cast(pa.timestamp("us")).cast(pa.int64())  # Spark writes them in UTC
        self._send(topic, table.set_column(COLUMNS.index("timestamp"), "timestamp", times).to_pylist())

    def _send(self, topic: str, rows: Iterable[Mapping[str, Any]]) -> None:
        sending = orjson.dumps([_packed(row) for row in rows]).decode()
        for follower in self._followers[topic]:
            follower.append(sending)


class HandFed:
    """A `Log` of a stage under test: Spark sees of it what it was fed."""

    def __init__(self, spark: SparkSession, topics: Topics) -> None:
        self._spark, self._topics = spark, topics
        self._inputs: list[tuple[str, deque[str], Any]] = []

    def read(self, topic: str, start: str, whole: bool = False, headers: bool = False) -> DataFrame:
        """Return the events of a topic as they are fed."""
        stream = self._java(_MEMORY).apply(self._java(_ENCODERS).STRING(), self._spark._jsparkSession)
        self._inputs.append((topic, self._topics.follow(topic), stream))
        return _shown(DataFrame(stream.toDF(), self._spark), headers)

    def feed(self) -> dict[str, str]:
        """Let Spark see the next sending of each topic; return them."""
        fed = {}
        for topic, waiting, stream in self._inputs:
            if waiting:
                fed[topic] = waiting.popleft()
                stream.addData(self._java(_UTILS).toSeq([fed[topic]]).toList())
        return fed

    def now(self) -> Column:
        """Return the test's clock: the time at which an event was put."""
        return F.col("__timestamp")

    def _java(self, name: str) -> Any:
        """Return a class by its whole name: package by package, each would be sought in all jars."""
        return getattr(self._spark._jvm, name)


class Sendings:
    """A `Log` of what one batch has read, by topic, to look at it again."""

    def __init__(self, spark: SparkSession, fed: Mapping[str, str]) -> None:
        self._spark, self._fed = spark, fed

    def read(self, topic: str, start: str, whole: bool = False, headers: bool = False) -> DataFrame:
        """Return the events of a topic that were in the batch, without heartbeats."""
        sendings = self._spark.createDataFrame([(self._fed.get(topic, "[]"),)], "value string")
        return _shown(sendings, headers).filter(F.col("topic") == topic)

    def now(self) -> Column:
        """Return the test's clock: the time at which an event was put."""
        return F.col("__timestamp")


def _packed(row: Mapping[str, Any]) -> dict[str, Any]:
    key, value = (None if row[name] is None else b64encode(row[name]).decode() for name in ("key", "value"))
    return {**row, "key": key, "value": value}


def _shown(sendings: DataFrame, headers: bool) -> DataFrame:
    """Return the events of sendings; events of a test have no headers, but the column where it is asked for."""
    events = sendings.select(F.explode(F.from_json("value", _SENDING)).alias("event")).select("event.*")
    unpacked = {
        "key": F.unbase64("key"),
        "value": F.unbase64("value"),
        "timestamp": F.timestamp_micros("timestamp"),
    }
    more = {"headers": F.lit(None).cast(_HEADERS)} if headers else {}
    return events.withColumns({**unpacked, **more})
