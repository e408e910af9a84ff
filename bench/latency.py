"""From topic to topic: how long an event takes, with stock settings, with ours, and in real time.

Run as ``python -m bench.latency KIND``, each kind (stock, tuned, stock-window, tuned-window, realtime) in a process of
its own, because a process has one Spark.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid

import headrace as hr
from headrace.log import Consumer, Producer, Topics
from headrace.log.connection import connect

EVENTS = 6000
PAUSE = 0.01  # seconds between two events
WARM = 4500  # first events, which are not counted: Java compiles while it runs
SCHEMA = "id bigint, sent double, at timestamp"


def measure(kind: str) -> tuple[float, float]:
    """Return p50 and p99 in seconds."""
    done = subprocess.run([sys.executable, "-m", "bench.latency", kind], capture_output=True, check=True, text=True)
    told = json.loads(done.stdout.splitlines()[-1])
    return told["p50"], told["p99"]


def main(kind: str) -> None:
    """Measure one kind and print it as JSON."""
    name = f"latency-{uuid.uuid4().hex[:8]}"
    with Topics() as topics:
        topics.create(f"{name}-in", partitions=2)
        topics.create(f"{name}-out", partitions=2)
    stop = _stock(name, kind) if kind.startswith("stock") else _headrace(name, kind)
    taken = _taken(name)
    stop()
    print(json.dumps({"p50": statistics.median(taken), "p99": statistics.quantiles(taken, n=100)[98]}))


def _headrace(name: str, kind: str):
    app = hr.App(name)
    events = app.stream(f"{name}-in", schema=SCHEMA, key="id", event_time="at", lateness="1 second")
    if kind == "tuned-window":
        windows = events.group_by("id").window(hr.tumbling("1 minute"))
        windows.agg(sent="max(sent)", n="count(*)").to(f"{name}-out")
    else:
        events.filter("id >= 0").to(f"{name}-out", latency="realtime" if kind == "realtime" else "batch")
    return app.start().stop


def _stock(name: str, kind: str):
    """Run what a first program by hand has: Spark's settings as they come, its own Kafka sink."""
    from pyspark.sql import SparkSession  # noqa: PLC0415
    from pyspark.sql import functions as F  # noqa: PLC0415

    from headrace.core.jars import locked, provide  # noqa: PLC0415

    jars = ",".join(map(str, provide(locked("spark"))))
    spark = SparkSession.builder.master("local[2]").config("spark.jars", jars).getOrCreate()
    brokers = connect()["bootstrap.servers"]
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers)
    raw = reader.option("subscribe", f"{name}-in").option("startingOffsets", "earliest").load()
    events = raw.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("v")).select("v.*").filter("id >= 0")
    if kind == "stock-window":
        grouped = events.withWatermark("at", "1 second").groupBy("id", F.window("at", "1 minute"))
        events = grouped.agg(F.max("sent").alias("sent"), F.count("*").alias("n")).drop("window")
    rows = events.select(F.col("id").cast("string").alias("key"), F.to_json(F.struct("*")).alias("value"))
    query = (
        rows.writeStream.format("kafka")
        .outputMode("update")
        .option("kafka.bootstrap.servers", brokers)
        .option("topic", f"{name}-out")
        .option("checkpointLocation", tempfile.mkdtemp())
        .start()
    )
    return query.stop


def _taken(name: str) -> list[float]:
    taken: dict[int, float] = {}
    ended = threading.Event()

    def read() -> None:
        with Consumer(f"{name}-out", start="earliest", config={"fetch.wait.max.ms": 5}) as consumer:
            for event in consumer:
                number = event.value["id"]
                taken.setdefault(number, time.time() - event.value["sent"])
                if number == EVENTS - 1 or ended.is_set():
                    return

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    with Producer(config={"linger.ms": 0}) as producer:
        for number in range(EVENTS):
            now = time.time()
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
            producer.send(f"{name}-in", {"id": number, "sent": now, "at": at}, key=str(number))
            time.sleep(PAUSE)
        producer.flush()
        reader.join(120)
        ended.set()
    return [seconds for number, seconds in taken.items() if number >= WARM]


if __name__ == "__main__":
    main(sys.argv[1])
