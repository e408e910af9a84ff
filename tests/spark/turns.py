"""Queries that always have a job for Spark: print how many jobs one was ahead of another, in each pool."""

import threading
from collections import Counter

from pyspark import InheritableThread

from headrace.spark.session import LATER, POOL, SOON, session

JOBS = 20


def main() -> None:
    spark = session()
    queries = [(pool, n) for pool in (SOON, LATER) for n in range(spark.sparkContext.defaultParallelism + 2)]
    done: list[tuple[str, int]] = []

    def work(query: tuple[str, int]) -> None:
        spark.sparkContext.setLocalProperty(POOL, query[0])
        job = spark.range(0, 5_000_000, 1, 1).selectExpr("max(hash(id))")
        together.wait()
        for _ in range(JOBS):
            job.collect()
            done.append(query)

    together = threading.Barrier(len(queries))
    threads = [InheritableThread(target=work, args=(query,)) for query in queries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for pool in (SOON, LATER):
        counts, ahead = Counter({query: 0 for query in queries if query[0] == pool}), 0
        for query in (query for query in done if query[0] == pool):
            counts[query] += 1
            ahead = max(ahead, max(counts.values()) - min(counts.values()))
        print(ahead)


if __name__ == "__main__":
    main()
