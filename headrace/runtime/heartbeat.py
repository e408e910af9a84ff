"""Heartbeats: time goes on when nothing comes, but never while there is something left to read."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Producer

from headrace.core.errors import HeadraceError
from headrace.log.client import admin_client, open_client
from headrace.log.offsets import latest_offsets
from headrace.runtime.query import StageQuery
from headrace.runtime.topics import heartbeat_topic


class Heartbeats:
    """Writes the time to ``<program>.heartbeat`` for stages whose inputs are drained and idle."""

    def __init__(self, program: str, client: Mapping[str, Any], queries: Sequence[StageQuery]) -> None:
        self._program, self._client, self._queries = program, client, queries
        self._admin = admin_client(client)
        self._producer: Producer | None = None
        self._beaten_at: dict[str, float] = {}

    def beat(self) -> None:
        """Write a heartbeat for every stage that is due one."""
        for query in self._queries:
            idle = query.stage.idle
            if not query.beats or idle is None or query.last is None or not query.last.state:
                continue
            now, quiet = time.monotonic(), idle.total_seconds()
            since = max(query.seen_at, self._beaten_at.get(query.id, 0.0))
            if now - since >= quiet and self._all_drained(query):
                self._beaten_at[query.id] = now
                self._write(query.id, self._time(query))

    def _all_drained(self, query: StageQuery) -> bool:
        """Whether this stage, and every stage of the program that feeds it, has read all there is."""
        try:
            return all(self._drained(one) for one in (query, *self._above(query)))
        except HeadraceError:  # a broker that is away, or a client that does not hear it (see log/hearing.py): not now
            self._admin = admin_client(self._client)
            return False

    def _drained(self, query: StageQuery) -> bool:
        if query.last is None or not query.active or query.catching_up:
            return False
        read = query.last.end
        topics = {node.topic for node in query.stage.inputs}
        places = [(topic, int(n)) for topic in topics for n in read.get(topic, {})]
        latest = latest_offsets(self._admin, places, str(self._client["bootstrap.servers"]))
        return bool(places) and all(read[topic][str(n)] >= offset for (topic, n), offset in latest.items())

    def _above(self, query: StageQuery) -> list[StageQuery]:
        return [*query.fed_by, *(further for one in query.fed_by for further in self._above(one))]

    def _time(self, query: StageQuery) -> int:
        """Return the time to tell: now, but not beyond what stages that feed this one may still send.

        Rows without a time of their own have that at which they are written, which is never before now.
        """
        timed = any(node.timed for node in query.stage.inputs)
        above = self._above(query) if timed else ()
        feeding = [q.last.watermark for q in above if q.last is not None and q.stage.stateful]
        return min([int(time.time() * 1000), *feeding])

    def _write(self, name: str, millis: int) -> None:
        if self._producer is None:
            self._producer = open_client(Producer, self._client)
        self._producer.produce(heartbeat_topic(self._program), str(millis).encode(), key=name.encode())
        if self._producer.flush(5):
            self._producer = None  # it may be deaf; the next one is for a heartbeat that is due by then
