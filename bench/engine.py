"""The engine: Headrace programs beside hand-written PySpark that does the same, in one session, in turns."""

import json
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.log import Producer, Topics
from headrace.log.connection import connect
from headrace.runtime.progress import Progress, parse
from headrace.spark import markers
from headrace.spark.session import session, stage_session
from headrace.spark.sink import ExactlyOnce, Target
from headrace.testing import TestDriver

EVENTS = 1_000_000
PAIRS = 480_000  # events of the join's left side: state for two sides is slow, here and by hand
BATCH = 200_000
ROUNDS = 5
KEYS = 10_000
POISON = 20  # every twentieth event is no JSON
SCHEMA = "id bigint, user string, amount double, at timestamp"
Rate = tuple[float, float, float]  # ours, theirs, the median of the rounds' ratios


@dataclass(frozen=True)
class Job:
    """The same work twice: declared, and written by hand up to the columns key and value."""

    name: str
    declare: Callable[[hr.App], None]
    by_hand: Callable[[SparkSession], DataFrame]
    mode: str = "append"


def prepare() -> None:
    """Fill the topics that are read."""
    with Topics() as topics:
        for name in ("bench", "bench-ads", "bench-clicks", "bench-poison"):
            topics.create(name, partitions=2)
    with Producer(config={"queue.buffering.max.messages": 1_000_000}) as producer:
        for number in range(EVENTS):
            user = f"u{number * 7919 % KEYS}"
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_714_557_600 + number // 5000))
            value = {"id": number, "user": user, "amount": number % 1000 / 10, "at": at}
            producer.send("bench", value, key=user)
            producer.send("bench-poison", b"{]" if number % POISON == 0 else value, key=user)
            if number < PAIRS:
                producer.send("bench-ads", value, key=user)
            if number < PAIRS and number % 4 == 0:
                producer.send("bench-clicks", value, key=user)


def stream(app: hr.App, topic: str = "bench") -> "hr.dsl.stream.Stream":  # type: ignore[name-defined]
    """Declare the events of a topic."""
    return app.stream(topic, schema=SCHEMA, key="user", event_time="at", lateness="10 seconds")


def read(spark: SparkSession, topic: str = "bench") -> DataFrame:
    """Read the events of a topic by hand."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", connect()["bootstrap.servers"])
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", BATCH)
        .load()
    )


def parsed(spark: SparkSession, topic: str = "bench") -> DataFrame:
    """Return the events of a topic as columns, by hand."""
    return read(spark, topic).select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("v")).select("v.*")


def as_rows(frame: DataFrame, key: str = "user") -> DataFrame:
    """Return key and value as they go to the topic, by hand."""
    value = F.to_json(F.struct(*frame.columns)).cast("binary").alias("value")
    return frame.select(F.col(key).cast("binary").alias("key"), value)


def pass_on(app: hr.App, topic: str = "bench") -> None:
    """Declare a program that passes events on."""
    stream(app, topic).to(f"{app.name}-out", partitions=2)


def _filter_declared(app: hr.App) -> None:
    stream(app).filter("amount > 50").select("id", "user", "amount").to(f"{app.name}-out", partitions=2)


def window(app: hr.App, topic: str = "bench") -> None:
    """Declare a program that sums and counts per user and minute."""
    windows = stream(app, topic).group_by("user").window(hr.tumbling("1 minute"))
    windows.agg(total="sum(amount)", n="count(*)").to(f"{app.name}-out", partitions=2)


def _window_by_hand(spark: SparkSession) -> DataFrame:
    events = parsed(spark).withWatermark("at", "10 seconds")
    sums = events.groupBy("user", F.window("at", "1 minute")).agg(
        F.sum("amount").alias("total"), F.count("*").alias("n")
    )
    return as_rows(sums.select("window.start", "window.end", "user", "total", "n"))


def _join_declared(app: hr.App) -> None:
    clicks = stream(app, "bench-clicks").select(other="id", user="user")
    stream(app, "bench-ads").join(clicks, on="user", within="1 second").to(f"{app.name}-out", partitions=2)


def _join_by_hand(spark: SparkSession) -> DataFrame:
    left = parsed(spark, "bench-ads").withWatermark("at", "10 seconds")
    right = parsed(spark, "bench-clicks").select(
        F.col("id").alias("other"), F.col("user").alias("user2"), F.col("at").alias("at2")
    )
    near = F.expr("user = user2 and at2 between at - interval 1 second and at + interval 1 second")
    return as_rows(left.join(right.withWatermark("at2", "10 seconds"), near).drop("user2", "at2"))


JOBS = [
    Job("pass-through", pass_on, lambda spark: as_rows(parsed(spark))),
    Job(
        "filter and project",
        _filter_declared,
        lambda spark: as_rows(parsed(spark).filter("amount > 50").select("id", "user", "amount")),
    ),
    Job("windowed sum and count", window, _window_by_hand, "update"),
    Job("stream-stream join", _join_declared, _join_by_hand),
]


def throughput(job: Job) -> Rate:
    """Return the events per second of a job, declared and by hand."""
    declared(job.declare)  # warms up what is compiled while it runs
    by_hand(job.by_hand, job.mode)
    return _summary([(declared(job.declare), by_hand(job.by_hand, job.mode)) for _ in range(ROUNDS)])


def _summary(pairs: list[tuple[float, float]]) -> Rate:
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    return ours, theirs, statistics.median(one / other for one, other in pairs)


def declared(declare: Callable[[hr.App], None]) -> float:
    """Return the events per second of a Headrace program over what the topics hold."""
    app = hr.App(f"bench-{uuid.uuid4().hex[:8]}", max_batch=BATCH)
    declare(app)
    with app.start() as run:
        batches: dict[int, Progress] = {}
        while not run.drained(0.02):
            if (last := run.queries[0].last) is not None:
                batches[last.batch] = last
    return _typical(batches.values())


def by_hand(frame: Callable[[SparkSession], DataFrame], mode: str) -> float:
    """Return the events per second of hand-written PySpark with the same settings and the same exactly-once sink."""
    spark = stage_session(session(), {})
    name = f"bench-{uuid.uuid4().hex[:8]}"
    with Topics() as topics:
        topics.create(f"{name}-out", partitions=2)
        topics.create(f"{name}-markers", partitions=markers.PARTITIONS)
    rows = frame(spark).withColumn("dead", F.lit(None).cast("string"))
    sink = ExactlyOnce(Target(f"{name}-out", f"{name}-markers", connect()))
    with tempfile.TemporaryDirectory() as folder:
        query = (
            rows.writeStream.foreachBatch(sink)
            .outputMode(mode)
            .option("checkpointLocation", folder)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return _rate(query)


def _rate(query: Any) -> float:
    return _typical(parse(json.loads(entry.json())) for entry in query._jsq.recentProgress())


def _typical(batches: Iterable[Progress]) -> float:
    """Return the rate of the batch in the middle: the first opens connections, the last is small."""
    return statistics.median(batch.rows / batch.seconds for batch in batches if batch.rows > BATCH / 2)


def sink() -> Rate:
    """Return the rates of the exactly-once sink and of Spark's own, at least once, on rows that need no work."""
    pairs = [(by_hand(lambda s: read(s).select("key", "value"), "append"), _own_sink()) for _ in range(ROUNDS + 1)]
    return _summary(pairs[1:])


def _own_sink() -> float:
    spark = stage_session(session(), {})
    name = f"bench-{uuid.uuid4().hex[:8]}-out"
    with Topics() as topics:
        topics.create(name, partitions=2)
    with tempfile.TemporaryDirectory() as folder:
        query = (
            read(spark)
            .select("key", "value")
            .writeStream.format("kafka")
            .option("kafka.bootstrap.servers", connect()["bootstrap.servers"])
            .option("kafka.compression.type", "lz4")
            .option("topic", name)
            .option("checkpointLocation", folder)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return _rate(query)


def poison(declare: Callable[[hr.App, str], None]) -> Rate:
    """Return the rates of a job with and without events that are no JSON."""
    pairs = [
        (declared(lambda app: declare(app, "bench-poison")), declared(lambda app: declare(app, "bench")))
        for _ in range(ROUNDS)
    ]
    return _summary(pairs)


def driver_step(steps: int = 10) -> float:
    """Return the median seconds of a further send and read of a windowed aggregation in a TestDriver."""
    app = hr.App("bench-driver")
    window(app)
    taken = []
    with TestDriver(app) as driver:
        for number in range(steps + 1):
            begun = time.perf_counter()
            driver.send("bench", {"id": number, "user": "u1", "amount": 1.0, "at": f"2024-05-01T10:00:{number:02}Z"})
            assert driver.read(f"{app.name}-out")[-1]["n"] == number + 1
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken[1:])
