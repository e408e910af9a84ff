"""Rows passed on within milliseconds, without batches, by Spark's own sink: at least once."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.log.dead_letters import LATE, OFFSET, PARTITION, REASON, SUFFIX, TOPIC
from headrace.spark.encoding import LETTER
from headrace.spark.kafka import java_settings

_CHECKPOINTS = "5 minutes"  # from one to the next
_TOLD = ((REASON, "reason"), (TOPIC, "topic"), (PARTITION, "partition"), (OFFSET, "offset"))


def as_they_come(rows: DataFrame, topic: str, ledger: str, client: Mapping[str, Any]) -> DataStreamWriter:
    """Return what writes encoded rows to a topic, and dead ones to the dead letters of the topics they came from.

    Args:
        rows: The columns key, value and dead.
        topic: For the rows.
        ledger: For events that came too late.
        client: Settings of the Kafka client.
    """
    dead = F.from_json("dead", LETTER)
    headers = F.array(
        *(F.struct(F.lit(n).alias("key"), dead[f].cast("string").cast("binary").alias("value")) for n, f in _TOLD)
    )
    shaped = rows.select(
        F.when(dead["reason"].startswith(LATE), ledger)
        .otherwise(F.coalesce(F.concat(dead["topic"], F.lit(SUFFIX)), F.lit(topic)))
        .alias("topic"),
        "key",
        "value",
        F.when(dead.isNotNull(), headers).alias("headers"),
    )
    writer: Any = shaped.writeStream.format("kafka").options(**java_settings(client)).outputMode("update")
    passing: DataStreamWriter = writer.trigger(realTime=_CHECKPOINTS)  # which PySpark's stubs do not know
    return passing
