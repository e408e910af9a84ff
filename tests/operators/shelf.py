"""A bucket in memory: operators with their pages, but without Spark."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headrace.operators.bucket import Bucket
from headrace.operators.operator import HASH, KEY, Operator

_ODD = -7046029254386353131  # spreads small numbers over all bits


class Memory:
    """A shelf whose blobs one can look at; it counts what it is asked for."""

    def __init__(self) -> None:
        self.stored: bytes | None = None
        self.blobs: dict[int, bytes] = {}
        self.timers: list[int] = []
        self.reads = self.writes = 0

    def layout(self) -> bytes | None:
        return self.stored

    def keep_layout(self, blob: bytes) -> None:
        self.stored = blob

    def pages(self, wanted: list[int], of: int) -> dict[int, bytes]:
        assert of == len(self.blobs)
        self.reads += len(wanted)
        return {page: self.blobs[page] for page in wanted}

    def keep(self, page: int, blob: bytes) -> None:
        self.writes += 1
        self.blobs[page] = blob

    def remove(self, page: int) -> None:
        del self.blobs[page]

    def wake(self, at: int) -> None:
        self.timers.append(at)


class Hosted:
    """Feeds an operator as Spark would: first the rows of a batch, then what is due."""

    def __init__(self, operator: Operator, rows: pa.Schema) -> None:
        self.operator, self.rows, self.shelf, self.late = operator, rows, Memory(), 0

    def send(self, rows: Sequence[dict[str, Any]], now: int = 0) -> list[dict[str, Any]]:
        """Return what comes out of a batch at a time."""
        out = []
        if rows:
            placed = [{**row, HASH: placed_at(row[KEY])} for row in rows]
            out.append(self._bucket().take(pa.Table.from_pylist(placed, self.rows), now))
        if any(timer <= now for timer in self.shelf.timers):
            self.shelf.timers = [timer for timer in self.shelf.timers if timer > now]
            out.append(self._bucket().due(now))
        self.late += sum(turn.late for turn in out)
        return [row for turn in out for row in turn.out.to_pylist()]

    def _bucket(self) -> Bucket:
        return Bucket(self.operator, self.rows, "step", self.shelf)


def placed_at(key: str) -> int:
    """Return a hash of a key, as Spark would: any 64 bits."""
    number = int.from_bytes(key.encode()[:8].ljust(8, b"\0"), "little") * _ODD % 2**64
    return number - 2**64 if number >= 2**63 else number
