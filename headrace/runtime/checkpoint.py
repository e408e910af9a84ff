"""The folder in which Spark notes the batches of a query, on whatever file system it lies."""

import json
from typing import Any

from pyspark.sql import SparkSession

from headrace.runtime.progress import Offsets, merged


class Checkpoint:
    """Reads what Spark has noted: up to where each batch reads, and which of them are done.

    Args:
        spark: A session; its settings tell how to reach the file system.
        place: A path or an address such as ``s3a://bucket/folder``.
    """

    def __init__(self, spark: SparkSession, place: str) -> None:
        jvm: Any = spark._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        self._io = jvm.org.apache.commons.io.IOUtils
        self._place = place
        self._files = self._path(place).getFileSystem(spark._jsc.hadoopConfiguration())

    def planned(self) -> Offsets | None:
        """Return up to where the last batch reads, whether it is done or not; None if there was none."""
        return self._ends("offsets")

    def done(self) -> Offsets | None:
        """Return up to where the last batch that is done has read; None if there was none."""
        return self._ends("commits")

    def committed(self, number: int) -> bool:
        """Whether a batch is done."""
        return bool(self._files.exists(self._path(f"{self._place}/commits/{number}")))

    def batch(self, number: int) -> tuple[Offsets, int] | None:
        """Return the offsets at which a batch ends, and its watermark in milliseconds; None if it is not there."""
        path = self._path(f"{self._place}/offsets/{number}")
        if not self._files.exists(path):
            return None
        file = self._files.open(path)
        try:
            _, metadata, *sources = self._io.toString(file, "UTF-8").splitlines()
        finally:
            file.close()
        ends = [{"endOffset": json.loads(source)} for source in sources if source.startswith("{")]
        return merged(ends, "endOffset"), int(json.loads(metadata)["batchWatermarkMs"])

    def _ends(self, folder: str) -> Offsets | None:
        path = self._path(f"{self._place}/{folder}")
        if not self._files.exists(path):
            return None
        names = [file.getPath().getName() for file in self._files.listStatus(path)]
        last = max((int(name) for name in names if name.isdigit()), default=None)
        found = None if last is None else self.batch(last)
        return found[0] if found else None
