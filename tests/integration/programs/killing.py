"""Ways for a program to die by kill -9 at a chosen point of a batch; to be imported by the program itself.

Nothing in headrace knows of this: functions of the driver are wrapped, and the checkpoint folder is watched.
"""

import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from pyspark import TaskContext

from headrace.runtime.asides import Asides
from headrace.spark import markers, sink

POINTS = (
    "before-offsets",  # the batch before is committed, this one not yet planned
    "after-offsets",  # planned, foreachBatch entered
    "mid-batch",  # workers write
    "between-partitions",  # one partition's transaction is committed, the others are not
    "after-sink",  # all transactions committed, foreachBatch has not returned
    "before-commit",  # foreachBatch has returned, commits/N is not there
    "after-commit",  # commits/N has just appeared
    "before-recovery",  # nothing of the recovery done
    "after-fencing",  # earlier writers are shut out, the markers not yet read
    "before-asides",  # the batch is committed, what it put aside is not written
    "after-asides",  # written, but not noted
)


def die(group: bool) -> None:
    """Kill this process, or all of its group: Spark's JVM dies with it, its Python workers a moment later."""
    if group:
        os.killpg(os.getpgid(0), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def arm(*, point: str, folder: Path, stage: str, batches: int, group: bool, delay: float) -> None:
    """Have this process die at a point.

    Args:
        point: One of `POINTS`.
        folder: Of the checkpoints of all stages.
        stage: In which stage.
        batches: How many batches of it may pass before.
        group: Whether the JVM dies with Python.
        delay: Seconds after the beginning of the batch, for ``mid-batch``.
    """
    target = _Target(point, folder / stage, stage, batches, group, delay)
    if point in ("before-recovery", "after-fencing"):
        target.in_recovery()
    elif point.endswith("-asides"):
        target.in_asides()
    elif point == "between-partitions":
        target.between_partitions()
    else:
        target.in_sink()


@dataclass
class _Target:
    point: str
    folder: Path
    stage: str
    batches: int
    group: bool
    delay: float

    def die(self) -> None:
        die(self.group)

    def in_sink(self) -> None:
        call = sink.ExactlyOnce.__call__

        def wrapped(writer, batch, number):
            due = self.stage == writer._target.topic and self._due()
            if due and self.point == "after-offsets":
                self.die()
            if due and self.point == "mid-batch":
                threading.Timer(self.delay, self.die).start()
            if due and self.point in ("before-offsets", "after-commit"):
                self._when(self.folder / "commits", lambda names: str(number) in names)
            call(writer, batch, number)
            if due and self.point == "after-sink":
                self.die()
            if due and self.point == "before-commit":
                self._when(
                    self.folder / "commits", lambda names: any(f"{number}." in n or n == str(number) for n in names)
                )

        sink.ExactlyOnce.__call__ = wrapped

    def _due(self) -> bool:
        self.batches -= 1
        return self.batches < 0

    def _when(self, folder: Path, seen) -> None:
        """Die as soon as the names in a folder are such."""

        def watch():
            while not seen(os.listdir(folder) if folder.exists() else []):
                time.sleep(0.0005)
            if self.point == "after-commit":
                time.sleep(self.delay)
            self.die()

        threading.Thread(target=watch, daemon=True).start()

    def between_partitions(self) -> None:
        writer, driver, group = sink._writer, os.getpid(), os.getpgid(0) if self.group else 0

        def wrapped(target, *rest):
            write = writer(target, *rest)
            if target.topic != self.stage or not self._due():
                return write
            chosen = int(self.delay * 1000) % 2  # the task that commits and then kills

            def one(batches):
                yield from write(batches)
                if TaskContext.get().partitionId() == chosen:
                    os.kill(driver, signal.SIGKILL)
                    if group:
                        os.killpg(group, signal.SIGKILL)

            return one

        sink._writer = wrapped

    def in_recovery(self) -> None:
        read, recover = markers._read, markers.recover

        def recovering(client, topic, place, *rest):
            if self.stage in topic and self.point == "before-recovery":
                self.die()
            return recover(client, topic, place, *rest)

        def reading(client, topic, place, isolation, *rest):
            if self.stage in topic and self.point == "after-fencing" and isolation == "read_committed":
                self.die()
            return read(client, topic, place, isolation, *rest)

        markers.recover, markers._read = recovering, reading

    def in_asides(self) -> None:
        write = Asides._write

        def wrapped(asides, *arguments):
            if self.stage in asides._markers and self.point == "before-asides":
                self.die()
            write(asides, *arguments)
            if self.stage in asides._markers and self.point == "after-asides":
                self.die()

        Asides._write = wrapped
