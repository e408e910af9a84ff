"""The value of a table that held at a time: stream rows look it up among the versions of their key."""

from typing import Literal

import numpy as np
import pyarrow as pa

from headrace.operators.operator import (
    DUE,
    GONE,
    KEY,
    ORDER,
    SIDE,
    TIME,
    Flags,
    Numbers,
    Turn,
    codes,
    kept_for_good,
    milliseconds,
    numbers,
    readable,
    starts,
    with_column,
)

STREAM, TABLE = 0, 1


class AsOf:
    """Enrich stream rows with the version of the table that held at their time, or with the latest.

    A row waits until the time has come at which no older version is expected, if it is told to; otherwise it gets what
    is known. Versions are kept for a while after they were replaced, the latest of a key for ever.

    Args:
        rows: The columns that come from both sides, `SIDE`, `TIME`, `ORDER` and `GONE` among them.
        stream: Those of the stream that come out.
        table: Those of the table that come out.
        how: Whether rows without a partner come out.
        history: How long versions are kept, in milliseconds; None to keep the latest only, and to look that up.
        waits: Whether rows wait for their time.
    """

    def __init__(
        self,
        rows: pa.Schema,
        stream: tuple[str, ...],
        table: tuple[str, ...],
        *,
        how: Literal["inner", "left"],
        history: int | None,
        waits: bool,
    ) -> None:
        self._rows, self._stream, self._table = rows, stream, table
        self._how, self._history, self._waits = how, history, waits
        self.kept = rows.append(pa.field(DUE, pa.int64()))
        self.out = pa.schema([rows.field(TIME), *(rows.field(name) for name in (*stream, *table))])

    def turn(self, kept: pa.Table, rows: pa.Table, now: int) -> Turn:
        """Add the versions of a batch, then answer its stream rows and those that have waited long enough."""
        read = readable(rows)
        table = pa.concat_tables([kept.select(self._rows.names), read]).combine_chunks()
        of_stream = numbers(table, SIDE) == STREAM
        asking, versions = table.filter(pa.array(of_stream)), table.filter(pa.array(~of_stream))
        asking = asking.take(pa.array(np.argsort(numbers(asking, ORDER), kind="stable")))  # as they lie in the log
        versions = self._sorted(versions)
        if self._waits:
            ready = milliseconds(asking) <= now
            asking, waiting = asking.filter(pa.array(ready)), asking.filter(pa.array(~ready))
        else:
            waiting = asking.slice(0, 0)
        out = self._answered(asking, versions)
        later = with_column(waiting, DUE, milliseconds(waiting)).select(self.kept.names)
        left = pa.concat_tables([self._remembered(versions, now), later])
        return Turn(left, out, rows.num_rows - read.num_rows)

    def _sorted(self, versions: pa.Table) -> pa.Table:
        """Return the versions by key and time; of those of one time, the last written."""
        at = np.zeros(versions.num_rows, np.int64) if self._history is None else numbers(versions, TIME)
        code = codes(versions.column(KEY))
        order = np.lexsort((numbers(versions, ORDER), at, code))
        at, code = at[order], code[order]
        last = np.ones(len(order), np.bool_)
        last[:-1] = (code[1:] != code[:-1]) | (at[1:] != at[:-1])
        return versions.take(pa.array(order[last]))

    def _answered(self, asking: pa.Table, versions: pa.Table) -> pa.Table:
        code = codes(pa.chunked_array([*versions.column(KEY).chunks, *asking.column(KEY).chunks], pa.string()))
        held, wanted = code[: versions.num_rows], code[versions.num_rows :]
        if self._history is None:
            at = np.zeros(len(code), np.int64)
        else:
            at = np.concatenate([numbers(versions, TIME), numbers(asking, TIME)])
        known = np.unique(at)
        place = code * (len(known) + 1) + np.searchsorted(known, at)
        found = np.searchsorted(place[: len(held)], place[len(held) :], side="right") - 1  # versions come sorted
        index = np.maximum(found, 0)
        hit: Flags = np.zeros(len(wanted), np.bool_)
        if len(held):
            gone = versions.column(GONE).to_numpy()
            hit = (found >= 0) & (held[index] == wanted) & ~gone[index]
        if self._how == "inner":
            asking, index, hit = asking.filter(pa.array(hit)), index[hit], hit[hit]
        columns = versions.select(list(self._table)).take(pa.array(index, mask=~hit))
        given = asking.select([TIME, *self._stream])
        return pa.table([*given.columns, *columns.columns], schema=self.out)

    def _remembered(self, versions: pa.Table, now: int) -> pa.Table:
        """Return the versions that a later row may ask for: the latest, and those replaced not long ago."""
        code = codes(versions.column(KEY))
        latest: Flags = np.append(starts(code)[1:], True) if len(code) else np.zeros(0, np.bool_)
        gone = versions.column(GONE).to_numpy()
        if self._history is None:
            needed = latest & ~gone
        else:
            began = milliseconds(versions)
            until = _replaced(began, latest)
            needed = (until > now - self._history) & ~(latest & gone & (began <= now - self._history))
        return kept_for_good(versions.filter(pa.array(needed)), self.kept)


def _replaced(began: Numbers, latest: Flags) -> Numbers:
    """Return until when each version held; the latest hold for ever."""
    until = np.append(began[1:], 0)
    until[latest] = np.iinfo(np.int64).max
    return until
