"""Rows as they lie in topics: key and value as bytes."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from headrace.plan.node import Node
from headrace.plan.stages import TopicOutput
from headrace.spark.columns import DEAD, GONE, TIME, column, visible

_PARTS = ("reason", "topic", "partition", "offset")
LETTER = "reason string, topic string, partition int, offset bigint"
# Six digits: what Spark keeps. Its default would cut them to three.
JSON = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "ignoreNullFields": "false"}


def encoded(
    frame: DataFrame, node: Node, output: TopicOutput, with_time: bool = False, also: Sequence[Column] = ()
) -> DataFrame:
    """Return the columns key, value (bytes) and dead (text); ``with_time`` keeps the rows' time in their values.

    A dead row has the key and the value of the event that it was. What else is known of it is JSON: to carry a struct
    that is nearly always null takes a twentieth of the time of passing rows on.
    """
    names = visible(frame)
    if output.format == "json":
        fields = [column(name) for name in names]
        if with_time and TIME in frame.columns:
            fields.append(F.col(TIME))
        value = F.to_json(F.struct(*fields), JSON).cast("binary")
    else:
        value = column(names[0]).cast("binary")
    if GONE in frame.columns:
        value = F.when(~F.col(GONE), value)
    key = key_of(frame, node.key)
    if DEAD not in frame.columns:
        dead = F.lit(None).cast("string")
    else:
        letter = F.col(DEAD)
        key = F.when(letter.isNull(), key).otherwise(letter["key"])
        value = F.when(letter.isNull(), value).otherwise(letter["value"])
        dead = F.when(letter.isNotNull(), F.to_json(F.struct(*(letter[part].alias(part) for part in _PARTS))))
    return frame.select(key.alias("key"), value.alias("value"), dead.alias("dead"), *also)


def key_of(frame: DataFrame, key: tuple[str, ...]) -> Column:
    """Return the bytes of a row's key: text as it is, other values as text, several columns as JSON."""
    if not key:
        return F.lit(None).cast("binary")
    if len(key) > 1:
        return F.to_json(F.struct(*(column(name) for name in key)), JSON).cast("binary")
    field = next(field for field in frame.schema.fields if field.name == key[0])
    value = column(key[0])
    return (value if isinstance(field.dataType, StringType) else value.cast("string")).cast("binary")
