"""The Spark session of this process: one for all programs, tuned for streams."""

import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.core.errors import SetupError
from headrace.core.jars import locked, provide
from headrace.core.java import find_java
from headrace.core.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_FILES = "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"
_CORES = max(2, os.cpu_count() or 2)

TUNING: dict[str, str] = {
    # The default looks at links, by a process for each file: a micro-batch then takes 70 ms longer.
    "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINTS,
    # State on disk: it may outgrow memory. Changes are logged, instead of whole files for each batch.
    "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # All stores of the process share this memory; each on its own would take what it likes.
    "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
    "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": "512",
    # One task per core: a stateful batch costs a task for every shuffle partition, however small.
    "spark.sql.shuffle.partitions": str(_CORES),
    # Bad data give null, they do not stop the query.
    "spark.sql.ansi.enabled": "false",
    # The same batch must be cut into the same partitions when it is repeated.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.streaming.numRecentProgressUpdates": "200",
    # How Spark tells itself what a batch does, which nobody looks at.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.streaming.metricsEnabled": "false",
    # Looks after each of Spark's own rewritings of a plan; a batch takes a millisecond longer.
    "spark.sql.lightweightPlanChangeValidation": "false",
}
_STATIC: dict[str, str] = {
    "spark.driver.memory": "2g",
    # Batches leave much behind that is dead at once: a twelfth less time for each than with the usual collector.
    # Code for many queries is large; where it is full, Java throws away what it has compiled, and compiles it again.
    # Spark plans each batch with much code that is never hot: to compile it well takes more than it then saves, so that
    # code has to run five times as often as usual before Java does.
    # What the stores of state free is given back every half minute, by a Java that can (17.0.9 and later).
    "spark.driver.defaultJavaOptions": "-XX:+UseParallelGC -XX:ReservedCodeCacheSize=512m "
    "-XX:Tier4InvocationThreshold=25000 -XX:Tier4MinInvocationThreshold=3000 "
    "-XX:Tier4CompileThreshold=75000 -XX:Tier4BackEdgeThreshold=200000 "
    "-XX:+IgnoreUnrecognizedVMOptions -XX:TrimNativeHeapInterval=30000",
    # Two pools, so that stages that may wait hold up nobody who is in a hurry.
    "spark.scheduler.mode": "FAIR",
    "spark.scheduler.allocation.file": str(Path(__file__).with_name("pools.xml")),
    "spark.ui.enabled": "false",
    # Spark remembers a thousand jobs, with all that is to be told of them, also where it has no page to show them.
    **dict.fromkeys(("spark.ui.retainedJobs", "spark.ui.retainedStages", "spark.sql.ui.retainedExecutions"), "20"),
    "spark.ui.retainedTasks": "200",
    "spark.ui.liveUpdate.period": "-1",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # A part of a batch that Spark would write again by itself starts the stage anew instead, which shuts out the first.
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.sql.artifact.isolation.enabled": "false",
    "spark.python.daemon.module": "headrace.spark.daemon",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}

# What one process hands to itself needs no packing.
_ONE_PROCESS = {
    "spark.broadcast.compress": "false",
    "spark.broadcast.checksum": "false",
    "spark.shuffle.compress": "false",
}

POOL, SOON, LATER = "spark.scheduler.pool", "soon", "later"

# Each task costs time, however few rows it has; of many programs that run beside each other, none needs all cores.
ONE_TASK = {"spark.sql.shuffle.partitions": "1"}

# Spark makes Java code of each batch anew, which takes 15 ms or more; rows pay for it when they are many.
FEW_ROWS = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
MANY_ROWS = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}


def session(
    master: str | None = None, options: Mapping[str, Any] | None = None, slots: int = 0, log: Path | None = None
) -> "SparkSession":
    """Return the session of this process, and start Spark first if it does not run.

    Args:
        master: Of which Spark; all cores of this machine unless told.
        options: Further settings by Spark's names.
        slots: How many tasks must be able to run at once; only where ``master`` is not told.
        log: File for what the JVM writes beside our own output; one in the folder for temporary files unless told.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - half a second that declarations do not need

    running = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if running is not None and running._jsc is not None and not running._jsc.sc().isStopped():
        return running
    find_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("MALLOC_ARENA_MAX", "4")  # pools of memory that the stores of state take and never give back
    jars = [str(path) for path in provide(locked("spark"), Settings.load().jars)]
    master = master or f"local[{max(_CORES, slots)}]"
    builder = SparkSession.builder.master(master).appName("headrace")
    settings = {**_STATIC, **TUNING, "spark.sql.warehouse.dir": tempfile.gettempdir(), "spark.jars": ",".join(jars)}
    if master.startswith("local["):  # Hadoop's own starts a process for each file that is written, to chmod it
        settings["spark.hadoop.fs.file.impl"] = _FILES
        settings |= _ONE_PROCESS
        settings["spark.driver.extraClassPath"] = next(jar for jar in jars if "local-fs" in jar)
    for name, value in {**settings, **(options or {})}.items():
        builder = builder.config(name, value)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # what fails in a batch is told by the runtime, in words
    log = log or Path(tempfile.gettempdir(), f"headrace-spark-{os.getuid()}.log")
    with _quiet(log):
        try:
            return builder.getOrCreate()
        except Exception as error:
            raise SetupError(f"Spark did not start: {_first_line(error)}. What it wrote is in {log}") from error


def stage_session(spark: "SparkSession", settings: Mapping[str, Any]) -> "SparkSession":
    """Return a session with settings of its own, in the same Spark."""
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - as above

    own = spark.newSession()
    for name, value in {**TUNING, **settings}.items():
        with suppress(AnalysisException):  # what cannot be changed any more was set when Spark was started
            own.conf.set(name, str(value))
    return own


@contextmanager
def _quiet(log: Path) -> Iterator[None]:
    """Give the JVM another standard error than ours: it would write there what nobody asked for."""
    log.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
