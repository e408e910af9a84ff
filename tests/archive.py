"""Write an archive of the classes that Spark loads: with it, a Spark of the tests starts in two thirds of the time.

``python -m tests.archive FILE``. Java takes it only where its jars are the same, and goes on without it otherwise.
"""

import os
import sys
import tempfile
from pathlib import Path

import psutil

from headrace.spark.session import session

LONGEST = 120  # seconds for Java to write it


def main(archive: Path) -> None:
    new = archive.with_suffix(".new")
    os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:ArchiveClassesAtExit={new} -XX:TieredStopAtLevel=1 -Xlog:disable"
    spark = session()
    java = psutil.Process(spark._jvm.java.lang.ProcessHandle.current().pid())
    counts = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load().groupBy("value").count()
    with tempfile.TemporaryDirectory() as checkpoint:
        query = (
            counts.writeStream.outputMode("update")
            .option("checkpointLocation", checkpoint)
            .foreachBatch(lambda batch, _: batch.selectExpr("to_json(struct(*))").collect())
            .start()
        )
        while query.lastProgress is None or query.lastProgress["batchId"] < 1:
            query.awaitTermination(0.2)
        query.stop()
    spark.stop()
    spark._sc._gateway.proc.stdin.close()  # upon which Java ends, and writes
    java.wait(LONGEST)
    new.replace(archive)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
