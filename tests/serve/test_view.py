"""A view follows its table."""

import threading
from datetime import UTC, datetime

import pytest

from headrace.core.errors import (
    ConfigError,
    SchemaError,
    TopicNameError,
    UnknownTopicError,
    ViewError,
    ViewTimeoutError,
)
from headrace.log import Producer, Topics
from headrace.serve import View


def test_a_view_has_the_last_row_of_each_key(view, put):
    put(("a", {"id": "a", "n": 1}), ("b", {"id": "b", "n": 2}))
    found = view()
    found.wait()
    assert (len(found), found.get("a"), found.get("b")) == (2, {"id": "a", "n": 1}, {"id": "b", "n": 2})
    put(("a", {"id": "a", "n": 3}), ("c", {"id": "c", "n": 4}))
    found.wait()
    assert [row["n"] for row in found.range()] == [3, 2, 4]
    put(("b", None), ("nobody", None))
    found.wait()
    assert found.get("b") is None
    assert [row["id"] for row in found.range()] == ["a", "c"]
    assert found.skipped == 0
    assert found.lag() == 0


def test_it_follows_by_itself(view, put):
    found = view()
    seen = threading.Event()

    def look():
        while not seen.wait(0.01):
            if found.get("a"):
                seen.set()

    thread = threading.Thread(target=look)
    thread.start()
    put(("a", {"id": "a", "n": 1}))
    assert seen.wait(10), "what was sent has not arrived"
    thread.join()


def test_sql_sees_the_table_under_its_name(view, put, table):
    put(*((f"k{n}", {"id": f"k{n}", "n": n}) for n in range(10)))
    found = view()
    found.wait()
    assert found.table == table.replace("-", "_")
    assert found.query(f"select sum(n) as total from {found.table} where n > ?", 5) == [{"total": 30}]
    assert found.query(f'select max(n) as n from "{table}"') == [{"n": 9}]
    assert len(found.query(f"select * from {found.table}", limit=3)) == 3
    with pytest.raises(ViewTimeoutError):
        found.query("with recursive t(n) as (select 1 union all select n + 1 from t) select max(n) from t", timeout=0.2)
    with pytest.raises(ViewError, match="can only be read"):
        found.query('delete from "headrace rows"')
    assert len(found) == 10


def test_without_a_schema_columns_appear_with_the_rows(view, put):
    put(("a", {"id": "a", "at": "2024-05-01T10:00:00Z"}))
    found = view(None)
    found.wait()
    assert found.query(f"select * from {found.table}") == [{"id": "a", "at": "2024-05-01T10:00:00Z"}]
    put(("b", {"id": "b", "new": [1]}))
    found.wait()
    assert found.query(f"select id, new from {found.table} order by id") == [
        {"id": "a", "new": None},
        {"id": "b", "new": "[1]"},
    ]
    assert found.get("b") == {"id": "b", "new": [1]}


def test_a_key_of_several_columns_is_updated_and_deleted(view, put):
    key, other = {"shop": 1, "day": "2024-05-01"}, {"shop": 2, "day": "2024-05-01"}
    put((key, {**key, "n": 1}), (other, {**other, "n": 2}), (key, {**key, "n": 3}))
    found = view("shop int, day date, n int", ("shop", "day"))
    found.wait()
    assert found.get(key)["n"] == 3
    put((key, None))
    found.wait()
    assert found.get(key) is None
    assert found.get((2, "2024-05-01"))["n"] == 2


def test_times_are_aware(view, put):
    put(("a", {"id": "a", "at": "2024-05-01T12:00:00.5+02:00"}))
    found = view("id string, at timestamp")
    found.wait()
    at = datetime(2024, 5, 1, 10, 0, 0, 500_000, tzinfo=UTC)
    assert found.get("a")["at"] == at
    assert found.query(f"select max(at) as last from {found.table}") == [{"last": at}]


def test_only_committed_transactions_count(view, table):
    with Producer(transactional_id=f"{table}-tx") as producer:
        with producer.transaction():
            producer.send(table, {"id": "a", "n": 1}, key="a")
        with pytest.raises(RuntimeError, match="on purpose"), producer.transaction():
            producer.send(table, {"id": "a", "n": 2}, key="a")
            producer.send(table, {"id": "b", "n": 2}, key="b")
            raise RuntimeError("on purpose")
        found = view()
        found.wait(20)  # all offsets, those of markers and of what was aborted too
        assert found.range() == [{"id": "a", "n": 1}]
        assert found.lag() == 0
        with producer.transaction():
            producer.send(table, {"id": "a", "n": 3}, key="a")
            producer.flush()
            with pytest.raises(ViewTimeoutError, match="still lacks 1 offsets"):
                found.wait(0.5)
            assert found.get("a")["n"] == 1
            assert found.lag() == 0, "what may never be committed is not missing"
        found.wait(20)
        assert found.get("a")["n"] == 3


def test_offsets_are_those_of_the_topic(view, table):
    with Producer() as producer:
        for partition in (0, 0, 2):
            producer.send(table, {"id": "x", "n": 1}, key="x", partition=partition)
    found = view()
    found.wait()
    assert found.offsets == {0: 2, 1: 0, 2: 1, 3: 0}


def test_partitions_that_are_added_are_followed(view, table):
    found = view()
    with Topics() as topics, Producer() as producer:
        topics.grow(table, 6)
        producer.send(table, {"id": "x", "n": 1}, key="x", partition=5)
    found.wait(30)
    assert found.get("x") == {"id": "x", "n": 1}
    assert found.offsets[5] == 1


def test_waiting_tells_how_much_is_left(view, put):
    put(*((f"k{n}", {"id": f"k{n}", "n": n}) for n in range(100)))
    seen = []
    found = view()
    found.wait(progress=seen.append)
    assert seen == sorted(seen, reverse=True)
    assert all(0 < left <= 100 for left in seen)


def test_many_threads_read_while_rows_change(view, table):
    found = view()
    ended = threading.Event()
    seen = [[] for _ in range(8)]

    def read(mine):
        while not ended.is_set():
            mine.append((found.get("a") or {"n": -1})["n"])
            mine.extend(row["n"] for row in found.query(f"select n from {found.table} where id = 'a'"))

    threads = [threading.Thread(target=read, args=[mine]) for mine in seen]
    for thread in threads:
        thread.start()
    with Producer() as producer:
        for n in range(300):
            producer.send(table, {"id": "a", "n": n}, key="a")
            producer.flush()
    found.wait()
    ended.set()
    for thread in threads:
        thread.join()
    assert found.get("a")["n"] == 299
    for mine in seen:
        assert mine == sorted(mine), "time never goes back"
        assert len(set(mine)) > 1, "changes were seen while they came"


def test_a_view_that_is_closed_says_so(view):
    found = view()
    found.close()
    found.close()
    for ask in (len, lambda v: v.get("a"), lambda v: v.range(), lambda v: v.query("select 1"), lambda v: v.offsets):
        with pytest.raises(ViewError, match="the view is closed"):
            ask(found)


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        (("no-such-table",), UnknownTopicError, "there is no topic 'no-such-table'"),
        (("../x",), TopicNameError, "is not a topic name"),
        (("t", "id strin"), SchemaError, "'id strin' is not a schema"),
        (("t", "id string", "name"), ConfigError, "the key column 'name' is not in the schema, which has id"),
        (("t", None, "id"), ConfigError, "give schema= too"),
    ],
)
def test_wrong_declarations_are_told(cluster, tmp_path, arguments, error, told):
    with pytest.raises(error, match=told):
        View(*arguments, folder=tmp_path)


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "many"])
def test_wrong_limits_are_told(view, limit):
    found = view()
    for ask in (lambda: found.range(limit=limit), lambda: found.query("select 1 as n", limit=limit)):
        with pytest.raises(ConfigError, match="limit must be a number of rows, at least 1"):
            ask()


def test_a_folder_that_cannot_be_written_is_told(table, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        View(table, folder=tmp_path / "file" / "views")


def test_the_store_is_in_the_home_folder_unless_told(table, cluster, tmp_path):
    with View(table) as found:
        assert (cluster.home / "views" / f"{table}.db").exists()
        assert found.get("a") is None
        assert found, "a view without rows is a view"


def test_all_rows_are_looked_through_page_by_page(view, put):
    put(*((f"{n:02}", {"id": f"{n:02}", "n": n}) for n in range(25)), (b"\xff", {"id": "bytes", "n": 99}))
    for schema in ("id string, n int", None):
        rows, after = [], None
        with view(schema) as one:
            one.wait()
            while page := one.page(after, limit=10):
                rows += [row["n"] for _, row in page]
                after = page[-1][0]
            assert after == b"\xff"
            assert one.columns == ["id", "n"]
        assert rows == [*range(25), 99]


def test_a_key_that_looks_like_a_time_stays_text(view, put):
    put(("2024-05-01 10:00:00.000000+00:00", {"id": "a", "n": 1}))
    one = view()
    one.wait()
    assert one.page() == [("2024-05-01 10:00:00.000000+00:00", {"id": "a", "n": 1})]
