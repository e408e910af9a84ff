"""Topics of a test: files that Spark reads as it would a broker."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

_KAFKA = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
_HEADERS = "array<struct<key: string, value: binary>>"
_ARROW = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
    ]
)


@dataclass(frozen=True)
class Sent:
    """One event of a test."""

    key: bytes | None
    value: bytes | None


class Topics:
    """Folders of files, one file for each sending."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = 0
        self._offsets: dict[str, int] = {}

    def folder(self, topic: str) -> Path:
        """Return where a topic's files lie."""
        path = self._folder / topic
        path.mkdir(parents=True, exist_ok=True)
        return path

    def files(self, topic: str, begin: int, end: int) -> list[Path]:
        """Return the files of a topic after the number ``begin``, up to ``end``; Spark reads one at a time."""
        return sorted(self.folder(topic).glob("*.parquet"))[begin + 1 : end + 1]

    def put(self, topic: str, events: Iterable[Sent], at: datetime, origin: str | None = None) -> None:
        """Append events, all at once; ``origin`` is the topic they say they are of."""
        named = origin or topic
        first = self._offsets.get(named, 0)
        rows: list[dict[str, Any]] = [
            {"key": e.key, "value": e.value, "topic": named, "partition": 0, "offset": first + n, "timestamp": at}
            for n, e in enumerate(events)
        ]
        self._offsets[named] = first + len(rows)
        path = self._path(topic)
        hidden = path.with_name(f".{path.name}")  # Spark sees a file when it is whole
        table = pa.Table.from_pylist(rows, schema=_ARROW)
        pq.write_table(table, hidden, row_group_size=len(rows))  # one group is one task: rows keep their order
        hidden.rename(path)

    def take(self, topic: str, file: Path) -> None:
        """Append the events of a file that Spark wrote."""
        file.replace(self._path(topic))

    def _path(self, topic: str) -> Path:
        self._files += 1
        return self.folder(topic) / f"{self._files:09}.parquet"


class FileLog:
    """A `Log` that follows the folders, a file at a time."""

    def __init__(self, spark: SparkSession, topics: Topics) -> None:
        self._spark, self._topics = spark, topics

    def read(self, topic: str, start: str, whole: bool = False, headers: bool = False) -> DataFrame:
        """Return the events of a topic as they are put."""
        reader = self._spark.readStream.schema(_KAFKA).option("maxFilesPerTrigger", 1)
        return _shown(reader.parquet(str(self._topics.folder(topic))), headers)

    def now(self) -> Column:
        """Return the test's clock: the time at which an event was put."""
        return F.col("__timestamp")


class Sendings:
    """A `Log` of what one batch has read, to look at it again; ``paths`` are the files of each topic."""

    def __init__(self, spark: SparkSession, paths: Mapping[str, Sequence[Path]]) -> None:
        self._spark, self._paths = spark, paths

    def read(self, topic: str, start: str, whole: bool = False, headers: bool = False) -> DataFrame:
        """Return the events of a topic that were in the batch, without heartbeats."""
        reader = self._spark.read.schema(_KAFKA)
        if not (paths := self._paths.get(topic)):
            return _shown(self._spark.createDataFrame([], _KAFKA), headers)
        return _shown(reader.parquet(*map(str, paths)).filter(F.col("topic") == topic), headers)

    def now(self) -> Column:
        """Return the test's clock: the time at which an event was put."""
        return F.col("__timestamp")


def _shown(rows: DataFrame, headers: bool) -> DataFrame:
    """Return rows with the column of headers where they are asked for: events of a test have none."""
    return rows.withColumn("headers", F.lit(None).cast(_HEADERS)) if headers else rows
