"""What a view could be stored in: SQLite beside DuckDB, with the same rows and the same work.

DuckDB is no dependency: ``pip install duckdb``, then ``python -m bench.stores``. The figures are in docs/views.md.
"""

import random
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import duckdb
import pyarrow as pa

ROWS = 100_000
BATCH = 500
RATE = 5_000
SECONDS = 10.0
COLUMNS = "id {text} primary key, shop integer, amount double, moment {text}, sent double"
GET = "select * from t where id = ?"
AGGREGATE = "select shop, count(*), sum(amount) from t group by shop"
_NAMES = ["id", "shop", "amount", "moment", "sent"]
Apply = Callable[[list[tuple[Any, ...]]], None]
Ask = Callable[..., Any]


def rows(numbers: Iterator[int]) -> list[tuple[Any, ...]]:
    return [(f"c{n}", n % 100, random.random() * 100, "2024-05-01 10:00:05.000000+00:00", time.time()) for n in numbers]


@contextmanager
def sqlite(path: Path) -> Iterator[tuple[Apply, Ask]]:
    writer = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    writer.execute("pragma journal_mode = wal")
    writer.execute("pragma synchronous = normal")
    writer.execute(f"create table t ({COLUMNS.format(text='text')}) without rowid")
    reader = sqlite3.connect(path, check_same_thread=False)
    change = ", ".join(f"{name} = excluded.{name}" for name in _NAMES[1:])

    def apply(batch: list[tuple[Any, ...]]) -> None:
        writer.execute("begin")
        writer.executemany(f"insert into t values (?, ?, ?, ?, ?) on conflict (id) do update set {change}", batch)
        writer.execute("commit")

    yield apply, lambda sql, *params: reader.execute(sql, params).fetchall()
    reader.close()
    writer.close()


@contextmanager
def duck(path: Path) -> Iterator[tuple[Apply, Ask]]:
    writer = duckdb.connect(str(path))
    writer.execute(f"create table t ({COLUMNS.format(text='varchar')})")
    reader = writer.cursor()

    def apply(batch: list[tuple[Any, ...]]) -> None:
        columns = dict(zip(_NAMES, map(list, zip(*batch, strict=True)), strict=True))
        writer.register("batch", pa.table(columns))  # row by row it is a hundred times slower
        writer.execute("insert or replace into t select * from batch")

    yield apply, lambda sql, *params: reader.execute(sql, params).fetchall()
    reader.close()
    writer.close()


def measure(open_store: Callable[[Path], Any]) -> dict[str, str]:
    """Return the figures of one store, in words."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        with open_store(path) as (apply, ask):
            first = ROWS / _taken(lambda: [apply(rows(iter(range(n, n + BATCH)))) for n in range(0, ROWS, BATCH)])
            fastest = BATCH / median(_taken(lambda: apply(_changes())) for _ in range(100))
            gets, queries = _under_load(apply, ask)
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
    return {
        "rows/s into an empty table": f"{first:,.0f}",
        "changes/s, as fast as it goes": f"{fastest:,.0f}",
        f"get, while {RATE:,} changes/s arrive": f"p50 {median(gets) * 1e3:.3f} ms, p99 {_p99(gets) * 1e3:.3f} ms",
        "sum by shop, meanwhile": f"p50 {median(queries) * 1e3:.1f} ms",
        "size": f"{size / 1e6:.1f} MB",
    }


def _changes() -> list[tuple[Any, ...]]:
    return rows(iter(random.sample(range(ROWS), BATCH)))


def _under_load(apply: Apply, ask: Ask) -> tuple[list[float], list[float]]:
    ended = threading.Event()

    def write() -> None:
        due = time.monotonic()
        while not ended.is_set():
            apply(_changes())
            due += BATCH / RATE
            time.sleep(max(0.0, due - time.monotonic()))

    thread = threading.Thread(target=write)
    thread.start()
    gets, queries, begun = [], [], time.monotonic()
    while time.monotonic() - begun < SECONDS:
        gets += [_taken(lambda: ask(GET, f"c{random.randrange(ROWS)}")) for _ in range(50) if not time.sleep(0.002)]
        queries.append(_taken(lambda: ask(AGGREGATE)))
    ended.set()
    thread.join()
    return gets, queries


def _taken(run: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def _p99(taken: list[float]) -> float:
    return quantiles(taken, n=100)[98]


if __name__ == "__main__":
    found = {"SQLite": measure(sqlite), "DuckDB": measure(duck)}
    for what in found["SQLite"]:
        print(f"| {what} | {found['SQLite'][what]} | {found['DuckDB'][what]} |")
