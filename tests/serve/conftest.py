"""Tables of a test's own, and stores without a broker."""

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace.core.codec import encode
from headrace.core.schema import Schema
from headrace.log import Producer, Topics
from headrace.log.broker.cluster import Cluster
from headrace.serve import View
from headrace.serve.changes import Batch, Change
from headrace.serve.declared import Declared
from headrace.serve.reading import Reading
from headrace.serve.store import Store

Pairs = Iterable[tuple[Any, Any]]


@pytest.fixture
def table(cluster: Cluster) -> str:
    """The topic of a new table, of four partitions."""
    name = f"table-{uuid.uuid4().hex[:12]}"
    with Topics() as topics:
        topics.create(name, compact=True)
    return name


@pytest.fixture
def put(table: str) -> Callable[..., None]:
    """Send rows under their keys; None deletes."""

    def put(*pairs: tuple[Any, Any], topic: str = table) -> None:
        with Producer() as producer:
            for key, value in pairs:
                producer.send(topic, value, key=key)

    return put


@pytest.fixture
def view(table: str, tmp_path: Path) -> Iterator[Callable[..., View]]:
    """Open views of the table, all with the same store, and close them at the end."""
    opened: list[View] = []

    def view(schema: Any = "id string, n int", key: Any = "id", topic: str = table) -> View:
        opened.append(View(topic, schema, *([] if schema is None else [key]), folder=tmp_path / "views"))
        return opened[-1]

    yield view
    for one in opened:
        one.close()


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Callable[..., Reading]]:
    """Make a store without a broker, of one batch of rows, and return how to read it."""
    opened: list[Reading] = []

    def stored(pairs: Pairs, schema: str | None = None, key: tuple[str, ...] = ("id",), topic: str = "t") -> Reading:
        path = tmp_path / f"{len(opened)}.db"
        layout = None if schema is None else Declared(Schema.of(schema), key)
        with closing(Store.open(path, topic, layout)) as store:
            store.clear("a life")
            store.apply(batch(pairs))
        opened.append(Reading(path, topic))
        return opened[-1]

    yield stored
    for one in opened:
        one.close()


def batch(pairs: Pairs, begin: int = 0) -> Batch:
    """A batch of one partition."""
    changes = [Change(0, begin + n, encode(key), encode(value)) for n, (key, value) in enumerate(pairs)]
    return Batch(changes, {0: begin + len(changes)}, True)
