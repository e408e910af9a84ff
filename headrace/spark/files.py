"""Rows to files: a folder for each batch, so that a batch that is repeated replaces itself."""

from collections.abc import Callable

from pyspark.sql import DataFrame

from headrace.plan.stages import FileOutput


class Files:
    """Writes the batches of one query to ``path/batch=N``; to be given to ``foreachBatch``."""

    def __init__(self, output: FileOutput, finished: Callable[[int, int, int], None] = lambda *_: None) -> None:
        self._output = output
        self._finished = finished

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Write a batch whole."""
        target = f"{self._output.path.rstrip('/')}/batch={number}"
        writer = batch.write.mode("overwrite").format(self._output.format).options(**self._output.options)
        if folders := self._output.partition_by:
            writer = writer.partitionBy(*folders)
        writer.save(target)
        self._finished(number, -1, 0)
