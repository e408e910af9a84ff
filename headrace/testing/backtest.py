"""What a rule would have said over the history: the same plan, the same lowering, and nothing written to any topic."""

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.core.errors import ConfigError, UnknownAlertError
from headrace.dsl.program import Program
from headrace.log.client import open_client, partitions_of
from headrace.log.connection import connect
from headrace.log.positions import resolve
from headrace.plan.alert import Alerts
from headrace.plan.source import Source
from headrace.plan.stages import Stage, writes
from headrace.spark.kafka import java_settings
from headrace.spark.session import MANY_ROWS, session
from headrace.testing.driver import TestDriver
from headrace.testing.topics import COLUMNS

_ROWS = 50_000  # of a slice of the history
_LEAST = 25  # slices where stages follow each other, whose rows have the times of slices
_WITHIN = timedelta(microseconds=999)  # of a millisecond that has begun: what was written in it may have been written
_NOTHING: Callable[[int, int], None] = lambda done, of: None  # noqa: E731 - a default
Row = dict[str, Any]


@dataclass(frozen=True)
class Backtest:
    """What would have happened.

    Attributes:
        program: Its name.
        rule: Its name.
        begin: From when on.
        end: Until when.
        rows: How many events were read.
        alerts: Each with its key, when it fired, when it resolved or None, and its message.
        resolution: How exact the times are; None for as exact as those of the events.
    """

    program: str
    rule: str
    begin: datetime
    end: datetime
    rows: int
    alerts: tuple[Row, ...]
    resolution: timedelta | None

    @property
    def fired(self) -> int:
        """Return how often it would have fired."""
        return len(self.alerts)

    @property
    def resolved(self) -> int:
        """Return how many of these would have resolved by the end."""
        return sum(alert["resolved"] is not None for alert in self.alerts)


def backtest(
    program: Program,
    rule: str,
    begin: datetime,
    end: datetime | None = None,
    *,
    brokers: str | None = None,
    progress: Callable[[int, int], None] = _NOTHING,
) -> Backtest:
    """Run one rule of a program over what its topics hold, by the time at which events were written.

    A rule over a stream sees the events between the two times. One over a table, or over what the program computes
    with memory, needs what was before, and reads from the beginning.

    Args:
        program: The `App`; it need not run.
        rule: The name of the alert.
        begin: From when on.
        end: Until when; all that there is unless given.
        brokers: ``host:port,…``; what is configured, or the managed broker, unless given.
        progress: Called with the slices of the history that are done, and how many there are.

    Raises:
        UnknownAlertError: The program declares no such alert.
    """
    now = datetime.now(UTC)
    begin, end = _millisecond(begin), _millisecond(min(end or now, now) + _WITHIN)
    if begin >= end:
        raise ConfigError(f"the history ends at {end.isoformat()}, before it begins at {begin.isoformat()}")
    part = _Part(program, rule)
    client = connect(brokers if brokers is not None else getattr(getattr(program, "options", None), "brokers", None))
    with tempfile.TemporaryDirectory(prefix="headrace-backtest-", ignore_cleanup_errors=True) as folder:
        history = _History(part, client, begin, end, Path(folder))
        with _Replay(part, end, history.rows) as replay:
            for number, ends in enumerate(history.ends):
                if number == history.before:
                    replay.read(part.topic)  # what fired before is not asked for
                replay.slice(history.files(number), ends)
                progress(number + 1, len(history.ends))
            rows = replay.finish(part.topic)
    exact = None if part.alone else history.width
    return Backtest(program.name, rule, begin, end, history.rows, tuple(_alerts(rows)), exact)


class _Part(Program):
    """The stages of a program that lead to one rule."""

    def __init__(self, program: Program, rule: str) -> None:
        stages = program.stages
        rules = {one.name: stage for stage in stages if isinstance(stage.node, Alerts) for one in stage.node.rules}
        if rule not in rules:
            names = ", ".join(rules) or "none"
            raise UnknownAlertError(f"the program {program.name!r} declares no alert {rule!r}; it declares {names}")
        node = cast("Alerts", rules[rule].node)
        only = replace(node, rules=tuple(one for one in node.rules if one.name == rule))
        self.name, self.version = program.name, program.version
        self._needed = _needed(replace(rules[rule], node=only), stages)
        self.topic = str(writes(rules[rule]))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Return the stages, those that write a topic before those that read it."""
        return self._needed

    @property
    def alone(self) -> bool:
        """Whether the rule sees the events themselves, and not what other stages make of them."""
        return len(self._needed) == 1

    @property
    def sources(self) -> dict[str, bool]:
        """Return the topics of the history, and whether all of it is needed."""
        written = {writes(stage) for stage in self._needed}
        found = [node for stage in self._needed for node in stage.inputs if isinstance(node, Source)]
        return {node.topic: node.table or not self.alone for node in found if node.topic not in written}


class _History:
    """The events of some topics, cut into slices of time, those before the beginning apart.

    Args:
        part: Whose topics.
        client: Settings of the Kafka client.
        begin: From when on.
        end: Until when.
        folder: For the files.
    """

    def __init__(self, part: _Part, client: Mapping[str, Any], begin: datetime, end: datetime, folder: Path) -> None:
        self._folder = folder
        places = {topic: _places(client, topic, None if whole else begin, end) for topic, whole in part.sources.items()}
        frames = {topic: _read(client, topic, *found) for topic, found in places.items()}
        told = [frame.agg(F.count("*"), F.min("timestamp")).collect()[0] for frame in frames.values()]
        self.rows = sum(row[0] for row in told)
        first = min((row[1].astimezone(UTC) for row in told if row[1] is not None), default=begin)
        slices = max(1 if part.alone else _LEAST, math.ceil(self.rows / _ROWS))
        self.before = slices if first < begin else 0
        self.width = (end - begin) / slices
        self.ends = [first + (begin - first) / slices * (n + 1) for n in range(self.before)]
        self.ends += [begin + self.width * (n + 1) for n in range(slices)]
        self._topics = tuple(frames)
        number = self.before + _slice(begin, end, slices)
        if self.before:
            number = F.when(F.col("timestamp") < begin, _slice(first, begin, slices)).otherwise(number)
        for topic, frame in frames.items():
            self._write(topic, frame.select(*COLUMNS, number.alias("slice")))

    def files(self, number: int) -> dict[str, list[Path]]:
        """Return the files of a slice by topic."""
        return {topic: sorted((self._folder / topic / f"slice={number}").glob("*.parquet")) for topic in self._topics}

    def _write(self, topic: str, frame: DataFrame) -> None:
        ordered = frame.repartition("slice").sortWithinPartitions("slice", "timestamp", "partition", "offset")
        ordered.write.partitionBy("slice").parquet(str(self._folder / topic))


class _Replay(TestDriver):
    """Runs the stages over slices of the history."""

    def __init__(self, part: _Part, end: datetime, rows: int) -> None:
        super().__init__(part, now=datetime.fromtimestamp(0, UTC))
        if rows > _ROWS:
            self._tuning = MANY_ROWS
        self._end, self._topic = end, part.topic

    def slice(self, files: Mapping[str, Sequence[Path]], ends: datetime) -> None:
        """Let all stages process a slice."""
        self._now = min(ends, self._end)
        for topic, paths in files.items():
            for path in paths:
                self._topics.take(topic, path)
        for running in self._now_running():
            self._settle(running)

    def finish(self, topic: str) -> list[Row]:
        """Let time go on to the end, and return the alerts."""
        self.advance_to(self._end)
        return [row for row in self.read(topic) if isinstance(row, dict)]

    def _collect(self, stage: Stage, batch: DataFrame) -> None:
        super()._collect(stage, batch)
        if stage.output.name != self._topic:
            self._written[stage.output.name].clear()  # the stages that read it have it


def _millisecond(time: datetime) -> datetime:
    """Return the beginning of a time's millisecond: finer than that the log does not tell when events were written."""
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def _slice(begin: datetime, end: datetime, count: int) -> Column:
    """Return the number of an event's slice, from 0, of a time that is cut into some of the same width."""
    at, least, most = (F.unix_micros(time) for time in (F.col("timestamp"), F.lit(begin), F.lit(end)))
    return F.least(F.greatest(F.width_bucket(at, least, most, count) - 1, F.lit(0)), F.lit(count - 1))


def _needed(stage: Stage, stages: Sequence[Stage]) -> tuple[Stage, ...]:
    topics = {node.topic for node in stage.inputs}
    above = [one for writer in stages if writes(writer) in topics for one in _needed(writer, stages)]
    return tuple({one.name: one for one in (*above, stage)}.values())


def _places(
    client: Mapping[str, Any], topic: str, begin: datetime | None, end: datetime
) -> tuple[list[int], list[int]]:
    """Return the offsets between two times, by partition."""
    probe = open_client(Consumer, {**client, "group.id": "headrace-none"})
    try:
        count = partitions_of(probe, topic, str(client["bootstrap.servers"]))
        all_of_it = [TopicPartition(topic, number) for number in range(count)]
        first, last = (resolve(probe, all_of_it, place) for place in (begin or "earliest", end))
    finally:
        probe.close()
    return [place.offset for place in first], [place.offset for place in last]


def _read(client: Mapping[str, Any], topic: str, first: Sequence[int], last: Sequence[int]) -> DataFrame:
    offsets = [json.dumps({topic: {str(n): offset for n, offset in enumerate(side)}}) for side in (first, last)]
    return (
        session()
        .read.format("kafka")
        .options(**java_settings(client))
        .option("kafka.isolation.level", "read_committed")
        .option("subscribe", topic)
        .option("startingOffsets", offsets[0])
        .option("endingOffsets", offsets[1])
        .load()
        .select(*COLUMNS)
    )


def _alerts(rows: Sequence[Row]) -> list[Row]:
    """Return the alerts that fired, with both their times."""
    found: dict[str, Row] = {}
    for row in rows:
        if row["state"] == "firing":
            told = {"key": row["key"], "since": row["since"], "fired": row["at"], "resolved": None}
            found[row["id"]] = {**told, "severity": row["severity"], "message": row["message"]}
        elif row["id"] in found:
            found[row["id"]]["resolved"] = row["at"]
    return sorted(found.values(), key=lambda alert: (alert["fired"], *map(str, alert["key"].values())))
