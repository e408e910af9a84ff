"""Topics of a real broker as DataFrames: followed, or a part of them once more."""

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

Offsets = Mapping[str, Mapping[str, int]]  # topic, partition, offset, as Spark writes them
_EARLIEST, _LATEST = -2, -1
_FOLLOWING = {
    "kafka.isolation.level": "read_committed",
    # At the end of a partition a fetch waits for more, by default half a second, and the next batch with it.
    "kafka.fetch.max.wait.ms": "10",
}
_LIBRDKAFKA = {"sasl.username", "sasl.password", "sasl.mechanisms"}


def java_settings(client: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings of our Kafka client in the words of the Java client that Spark has."""
    plain = {f"kafka.{name}": str(value) for name, value in client.items() if name not in _LIBRDKAFKA}
    mechanism = client.get("sasl.mechanism") or client.get("sasl.mechanisms")
    if mechanism and "sasl.username" in client:
        kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
        login = f'username="{client["sasl.username"]}" password="{client.get("sasl.password", "")}"'
        plain["kafka.sasl.mechanism"] = str(mechanism)
        plain["kafka.sasl.jaas.config"] = f"org.apache.kafka.common.security.{kind}LoginModule required {login};"
    return plain


class KafkaLog:
    """A `Log` that follows topics.

    Args:
        spark: The session of the stage.
        client: Settings of the Kafka client.
        partitions: Of each topic that the stage reads.
        heartbeat: The topic of heartbeats, and the name under which those of the stage are written there.
        most: Events of one batch; None for as many as there are.
    """

    def __init__(
        self,
        spark: SparkSession,
        client: Mapping[str, Any],
        partitions: Mapping[str, int],
        heartbeat: tuple[str, str] | None = None,
        most: int | None = None,
    ) -> None:
        self._spark, self._client, self._partitions = spark, client, partitions
        self._heartbeat, self._most = heartbeat, most

    def read(self, topic: str, start: str, whole: bool = False, headers: bool = False) -> DataFrame:
        """Return the events of a topic; heartbeats begin now, whatever the start: old ones were for old events."""
        first = _EARLIEST if start == "earliest" else _LATEST
        begin = {topic: {str(n): first for n in range(self._partitions[topic])}}
        topics = [topic]
        if self._heartbeat:
            begin[self._heartbeat[0]] = {"0": _LATEST}
            topics.append(self._heartbeat[0])
        reader = (
            self._spark.readStream.format("kafka")
            .options(**java_settings(self._client))
            .options(**_FOLLOWING)
            .option("subscribe", ",".join(topics))
            .option("startingOffsets", json.dumps(begin))
            .option("includeHeaders", headers)
        )
        if self._most is not None and not whole:
            reader = reader.option("maxOffsetsPerTrigger", self._most)
        rows = reader.load()
        if self._heartbeat:
            ours = F.col("key") == F.lit(self._heartbeat[1]).cast("binary")
            rows = rows.filter((F.col("topic") != self._heartbeat[0]) | ours)
        return rows

    def now(self) -> Column:
        """Return the time at which the batch began: the same if it is repeated."""
        return F.current_timestamp()


class KafkaRange:
    """A `Log` of what one batch has read."""

    def __init__(self, spark: SparkSession, client: Mapping[str, Any], begin: Offsets, end: Offsets) -> None:
        self._spark, self._client, self._begin, self._end = spark, client, begin, end

    def read(self, topic: str, start: str, whole: bool = False, headers: bool = False) -> DataFrame:
        """Return the events of a topic that were in the batch."""
        end = dict(self._end.get(topic, {}))
        begin = {n: self._begin.get(topic, {}).get(n, _EARLIEST) for n in end}
        return (
            self._spark.read.format("kafka")
            .options(**java_settings(self._client))
            .option("kafka.isolation.level", "read_committed")
            .option("subscribe", topic)
            .option("startingOffsets", json.dumps({topic: begin}))
            .option("endingOffsets", json.dumps({topic: end}))
            .option("includeHeaders", headers)
            .load()
        )

    def now(self) -> Column:
        """Return the time of processing; what was read by it is never late."""
        return F.current_timestamp()
