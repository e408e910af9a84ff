"""A view that stopped, however it did, goes on without loss and without repetition."""

import random
import sqlite3
from contextlib import closing

import pytest

from headrace.core.errors import ViewError
from headrace.log import Producer, Topics
from headrace.serve import View, follower
from headrace.serve.store import Store

SCHEMA = "id string, n int"


@pytest.fixture
def read(monkeypatch):
    """How many events were applied since the test last looked."""
    counted = []
    apply = Store.apply
    monkeypatch.setattr(Store, "apply", lambda store, batch: (counted.append(len(batch.changes)), apply(store, batch)))

    def read():
        total = sum(counted)
        counted.clear()
        return total

    return read


@pytest.fixture
def path(tmp_path, table):
    """The file of the table's store."""
    return tmp_path / "views" / f"{table}.db"


def rows(view):
    view.wait()
    return {row["id"]: row["n"] for row in view.range(limit=100_000)}


def send(topic, rng, count, begin=0):
    """Send a seeded mix of rows and deletions; return what is left of them."""
    left = {}
    with Producer() as producer:
        for number in range(begin, begin + count):
            key = f"k{rng.randrange(50)}"
            if rng.random() < 0.3:
                producer.send(topic, None, key=key)
                left[key] = None
            else:
                producer.send(topic, {"id": key, "n": number}, key=key)
                left[key] = number
    return left


def test_a_restarted_view_reads_only_what_is_new(view, put, read):
    put(*((f"k{n}", {"id": f"k{n}", "n": n}) for n in range(100)))
    first = view()
    first.wait()
    assert read() == 100
    first.close()
    put(("k0", None), ("k1", {"id": "k1", "n": -1}))
    again = view()
    again.wait()
    assert read() == 2
    assert (len(again), again.get("k1")["n"]) == (99, -1)


@pytest.mark.parametrize("seed", range(4))
def test_a_view_built_anew_equals_the_one_that_followed(view, table, tmp_path, seed):
    rng = random.Random(seed)
    expected = {}
    for part in range(4):
        expected |= send(table, rng, rng.randrange(300), 1000 * part)
        followed = view()  # in pieces, as a program that is restarted
        if rng.random() < 0.5:
            followed.wait()
        followed.close()
    followed = view()
    with View(table, SCHEMA, key="id", folder=tmp_path / "anew") as anew:
        assert rows(followed) == rows(anew) == {key: n for key, n in expected.items() if n is not None}
        assert followed.offsets == anew.offsets


@pytest.mark.parametrize("more", [1, 20])  # fewer events than there were, or more
@pytest.mark.parametrize("running", [False, True])
def test_a_topic_that_was_created_again_is_another_table(view, put, table, more, running):
    put(*((f"old{n}", {"id": f"old{n}", "n": n}) for n in range(10)))
    found = view()
    found.wait()
    if not running:
        found.close()
    with Topics() as topics:
        topics.delete(table)
        topics.create(table, compact=True)
    put(*((f"new{n}", {"id": f"new{n}", "n": n}) for n in range(more)))
    if not running:
        found = view()
    assert rows(found) == {f"new{n}": n for n in range(more)}
    assert found.lag() == 0


def test_a_topic_that_was_created_again_and_is_empty_has_no_rows(view, put, table, monkeypatch):
    monkeypatch.setattr(follower, "_LOOK", 5.0)  # it is not noticed before somebody waits
    put(("a", {"id": "a", "n": 1}))
    found = view()
    found.wait()
    with Topics() as topics:
        topics.delete(table)
        topics.create(table, compact=True)
    assert rows(found) == {}


def test_a_store_that_is_ahead_of_its_topic_is_built_anew(view, put, path):
    """As after a broker that lost what it had acknowledged."""
    put(("a", {"id": "a", "n": 1}))
    with view() as found:
        found.wait()
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute('update "headrace offsets" set next = next + 100')
        raw.execute('delete from "headrace rows"')
    assert rows(view()) == {"a": 1}


def test_a_topic_that_is_gone_leaves_the_rows_until_it_comes_back(view, put, table):
    put(("a", {"id": "a", "n": 1}))
    found = view()
    found.wait()
    with Topics() as topics:
        topics.delete(table)
        assert found.get("a") == {"id": "a", "n": 1}
        topics.create(table, compact=True, partitions=1)
    put(("b", {"id": "b", "n": 2}))
    assert rows(found) == {"b": 2}


@pytest.mark.parametrize("damage", ["header", "middle", "emptied", "text"])
def test_a_damaged_store_is_put_aside_and_built_anew(view, put, path, damage, caplog):
    put(*((f"k{n}", {"id": f"k{n}", "n": n}) for n in range(2000)))
    found = view()
    expected = rows(found)
    found.close()
    data = bytearray(path.read_bytes())
    if damage == "header":
        data[:16] = bytes(16)
    if damage == "middle":
        data[4096:] = b"\xff" * (len(data) - 4096)
    if damage == "emptied":
        data[:] = b""
    if damage == "text":
        data[:] = b"this is no database at all, " * 1000
    path.write_bytes(data)
    assert rows(view()) == expected
    if damage != "emptied":  # an empty file is a new store to SQLite
        assert path.with_name(f"{path.name}.damaged").read_bytes() == bytes(data)
        assert "is damaged; it is now" in caplog.text


def test_damage_that_only_a_reader_meets_is_mended_too(view, put, path):
    put(*((f"k{n}", {"id": f"k{n}", "n": n}) for n in range(5000)))
    first = view()
    expected = rows(first)
    first.close()
    with closing(sqlite3.connect(path)) as raw:
        page = raw.execute("""select rootpage from sqlite_master where name = 'headrace rows'""").fetchone()[0]
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    found = view()
    with pytest.raises(ViewError, match=r"is damaged .* and is built anew from the topic; ask again"):
        found.get("k1")
    assert rows_when_mended(found, len(expected)) == expected


def rows_when_mended(view, count):
    """Wait until the store was replaced; until then it has the offsets, but not the rows."""
    while True:
        try:
            if len(view) == count:
                return rows(view)
        except ViewError:
            pass


def test_a_store_that_was_deleted_is_built_anew(view, put, path):
    put(("a", {"id": "a", "n": 1}))
    found = view()
    found.wait()
    for file in path.parent.glob("*.db*"):
        file.unlink()
    assert rows_when_mended(found, 1) == {"a": 1}


def test_other_columns_build_the_store_anew(view, put, read):
    put(("a", {"id": "a", "n": 1, "m": 2}))
    for schema, expected in (
        (SCHEMA, {"id": "a", "n": 1}),
        ("id string, m int", {"id": "a", "m": 2}),
        (None, {"id": "a", "m": 2}),  # without a schema, what is stored stays
    ):
        found = view(schema)
        found.wait()
        assert found.get("a") == expected
        found.close()
    assert read() == 2


@pytest.mark.parametrize(("kept", "expected"), [("1 ms", 3), ("1 day", 1)])
def test_a_store_that_may_have_missed_deletions_is_built_anew(view, table, read, kept, expected):
    with Topics() as topics, Producer() as producer:
        topics.configure(table, tombstone_retention=kept)
        for key in "ab":
            producer.send(table, {"id": key, "n": 1}, key=key, partition=0)
        producer.flush()
        with view() as first:
            first.wait()
        assert read() == 2
        producer.send(table, None, key="a", partition=0)
    assert rows(view()) == {"b": 1}
    assert read() == expected


def test_events_that_were_deleted_before_they_were_read_build_the_store_anew(cluster, tmp_path, group, read):
    """A topic that also deletes by age may drop what the store has not seen."""
    with Topics() as topics, Producer() as producer:
        topics.create(group, partitions=1)
        for n in range(5):
            producer.send(group, {"id": f"k{n}", "n": n}, key=f"k{n}")
        producer.flush()
        with View(group, SCHEMA, key="id", folder=tmp_path) as view:
            view.wait()
        for n in range(5, 10):
            producer.send(group, {"id": f"k{n}", "n": n}, key=f"k{n}")
        producer.flush()
        assert read() == 5
        delete_before(topics, group, 7)
        with View(group, SCHEMA, key="id", folder=tmp_path) as view:
            assert rows(view) == {"k7": 7, "k8": 8, "k9": 9}


def delete_before(topics, topic, offset):
    from confluent_kafka import TopicPartition  # noqa: PLC0415 - only here

    for done in topics._client.delete_records([TopicPartition(topic, 0, offset)]).values():
        done.result()
