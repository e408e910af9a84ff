"""SQL from outside reads, within bounds, and does nothing else."""

import resource
import threading
import time
from decimal import Decimal

import pytest

from headrace.core.errors import ViewError, ViewTimeoutError

ROWS = [(str(n), {"id": n, "n": n % 3}) for n in range(100)]
ENDLESS = "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) as n from t"


KEYS = """('{{' || rtrim(replace(substr(text, 1, 100000), 'x', '"{}":0,'), ',') || '}}')"""


@pytest.fixture
def store(stored):
    return stored(ROWS, "id int, n int", topic="orders-by.day")


def ask(store, sql, *params, limit=1000, timeout=5.0):
    return store.query(sql, params, limit, timeout)


@pytest.mark.parametrize(
    "sql",
    [
        "delete from orders_by_day",
        'delete from "headrace rows"',
        'insert into "headrace rows" values (1, 2, 3)',
        'with x as (select 1) delete from "headrace rows"',
        'update "headrace offsets" set next = 0',
        'drop table "headrace rows"',
        "drop view orders_by_day",
        "create table x (a)",
        "create temp table x (a)",
        "create view x as select 1",
        "create temp trigger x after insert on orders_by_day begin select 1; end",
        'alter table "headrace rows" rename to x',
        "attach ':memory:' as other",
        "attach 'elsewhere.db' as other",
        "detach main",
        "vacuum",
        "vacuum into 'copy.db'",
        "pragma journal_mode = delete",
        "pragma writable_schema = on",
        "pragma query_only = off",
        "pragma user_version",
        "select * from pragma_database_list",
        "select load_extension('evil')",
        "select fts3_tokenizer('simple')",
        "select sqlite_log(1, 'told')",
        "select sqlite_compileoption_get(1)",
        "select printf('%.*c', 2000000000, 'x')",
        "select format('%.*c', 2000000000, 'x')",
        "begin",
        "begin immediate",
        "commit",
        "savepoint x",
        "analyze",
        "reindex",
        'explain delete from "headrace rows"',
        "create virtual table x using fts5(a)",
        "update sqlite_master set sql = ''",
    ],
)
def test_everything_but_reading_is_refused(store, sql, tmp_path):
    before = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(ViewError):
        ask(store, sql)
    assert ask(store, "select count(*) as n from orders_by_day") == [{"n": 100}]
    assert {path.name for path in tmp_path.iterdir()} <= before | {"0.db-wal", "0.db-shm"}


def test_who_writes_is_told_to_read(store):
    with pytest.raises(ViewError, match="a view can only be read; write a SELECT"):
        ask(store, "attach 'x' as y")
    with pytest.raises(ViewError, match="a view can only be read"):
        ask(store, "delete from orders_by_day")


@pytest.mark.parametrize(
    "sql", ["select 1; select 2", "select 1; drop table x", "select '\0'", "select", "sel", "((", "-- x"]
)
def test_what_is_no_query_is_told(store, sql):
    with pytest.raises(ViewError):
        ask(store, sql)


def test_an_empty_query_is_told(store):
    with pytest.raises(ViewError, match="nothing to run; write a SELECT"):
        ask(store, "  ")


@pytest.mark.parametrize(
    "sql",
    [
        ENDLESS,
        "select count(*) as n from orders_by_day a, orders_by_day b, orders_by_day c, orders_by_day d, orders_by_day e",
        "with recursive t(n) as (select 1 union all select n + 1 from t) select n from t order by n desc",
    ],
)
def test_a_query_that_takes_too_long_is_stopped(store, sql):
    begun = time.monotonic()
    with pytest.raises(ViewTimeoutError, match=r"took longer than 0.3 s and was stopped") as raised:
        ask(store, sql, timeout=0.3)
    assert time.monotonic() - begun < 3
    assert isinstance(raised.value, TimeoutError)
    assert ask(store, "select count(*) as n from orders_by_day", timeout=5) == [{"n": 100}]


def test_others_read_while_a_query_runs(store):
    begun = threading.Event()
    ended = []

    def run():
        begun.set()
        with pytest.raises(ViewTimeoutError):
            ask(store, ENDLESS, timeout=2)
        ended.append(time.monotonic())

    thread = threading.Thread(target=run)
    thread.start()
    begun.wait()
    assert all(store.get(n)["id"] == n for n in range(100))
    assert not ended
    thread.join()
    assert ended


def test_rows_are_limited(store):
    assert len(ask(store, "select * from orders_by_day", limit=7)) == 7
    endless = "with recursive t(n) as (select 1 union all select n + 1 from t) select n from t"
    assert ask(store, endless, limit=3) == [{"n": 1}, {"n": 2}, {"n": 3}]


@pytest.mark.parametrize(
    "sql",
    [
        "select zeroblob(100000000) as x",
        "select replace(hex(zeroblob(40000)), '0', hex(zeroblob(1000))) as x",
        "select group_concat(hex(zeroblob(20000))) as x from orders_by_day",
    ],
)
def test_values_are_not_too_long(store, sql):
    with pytest.raises(ViewError, match="values that are much longer than any row"):
        ask(store, sql)


@pytest.fixture
def long(stored):
    """A row of a million letters; functions over it may take very long without SQLite looking at the clock."""
    return stored([("1", {"id": 1, "text": "x" * 1_000_000})], "id int, text string")


@pytest.mark.parametrize(
    "sql",
    [
        "instr(text, substr(text, 1, 500000) || 'y')",
        "replace(text, substr(text, 1, 500000) || 'y', 'z')",
        "trim(text, hex(zeroblob(40000)) || 'x')",
        f"json_patch({KEYS.format('a')}, {KEYS.format('b')})",
    ],
)
def test_no_single_step_takes_long(long, sql):
    begun = time.monotonic()
    with pytest.raises(ViewTimeoutError, match=r"took longer than 0.5 s and was stopped"):
        ask(long, f"select sum(length({sql})) as n from t a, (values (1), (2), (3), (4), (5), (6))", timeout=0.5)
    assert time.monotonic() - begun < 8
    assert ask(long, "select count(*) as n from t") == [{"n": 1}]


def doubling(levels):
    """Every name stands for twice what the one before does; SQLite writes it all out before it begins."""
    steps = [f"c{n} as (select a.x from c{n - 1} a, c{n - 1} b)" for n in range(1, levels + 1)]
    return f"with c0 as (select 1 as x), {', '.join(steps)} select count(*) as n from c{levels}"


@pytest.mark.parametrize(
    "sql",
    [
        doubling(30),
        f"select {', '.join(f'group_concat(text || {n}) as c{n}' for n in range(300))} from t",
        "with recursive n(i) as (select 1 union all select i + 1 from n limit 9999) select text || i as x from t, n "
        "order by x",
    ],
    ids=["names for names", "many long values", "much to sort"],
)
def test_memory_is_bounded_and_is_not_ours(long, sql):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ViewError, match="takes more than 256,000,000 bytes of memory; let it read or sort less"):
        ask(long, sql, timeout=60)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
    assert ask(long, "select count(*) as n from t") == [{"n": 1}]


def test_long_rows_can_be_queried(stored):
    store = stored([("a", {"id": 1, "text": "x" * 950_000})], "id int, text string")
    assert ask(store, "select text || 'y' as long from t") == [{"long": "x" * 950_000 + "y"}]


def test_results_are_not_too_large(store):
    with pytest.raises(ViewError, match="the result is larger than 64,000,000 bytes"):
        ask(store, "select hex(zeroblob(40000)) as x from orders_by_day a, orders_by_day b", limit=10_000)


def test_long_and_deep_sql_is_refused(store):
    for sql in (
        "select " + "(" * 5000 + "1" + ")" * 5000,
        "select 1 as n" + " union select 1" * 100,
        "select 1 --" + "x" * 200_000,
    ):
        with pytest.raises(ViewError):
            ask(store, sql)


def test_the_table_is_known_by_both_its_names(store):
    assert ask(store, "select count(*) as n from orders_by_day") == [{"n": 100}]
    assert ask(store, 'select count(*) as n from "orders-by.day"') == [{"n": 100}]


@pytest.mark.parametrize("topic", ["7days", "select", "sqlite_stat", "a", "A.b", "-", "_", "x" * 249])
def test_any_topic_has_a_name_in_sql(stored, topic):
    store = stored(ROWS, "id int, n int", topic=topic)
    for name in store.tables:
        assert ask(store, f'select count(*) as n from "{name}"') == [{"n": 100}]
    if not topic.startswith("s"):
        assert ask(store, f"select count(*) as n from {store.tables[0]}") == [{"n": 100}]


def test_who_mistypes_is_told_what_there_is(store):
    with pytest.raises(ViewError, match="no such table: orders; the table is orders_by_day and has the columns id, n"):
        ask(store, "select * from orders")
    with pytest.raises(ViewError, match="no such column: m; the table is orders_by_day and has the columns id, n"):
        ask(store, "select m from orders_by_day")


def test_columns_of_one_name_are_refused_not_lost(store):
    with pytest.raises(ViewError, match="the result has two columns 'id'; give one another name with AS"):
        ask(store, "select a.id, b.id from orders_by_day a join orders_by_day b using (id)")


def test_parameters(store):
    assert ask(store, "select id from orders_by_day where id in (?, ?) order by id", 3, 5) == [{"id": 3}, {"id": 5}]
    assert ask(store, "select ? as a, ? as b, ? as c, ? as d", None, True, "x' or 1", Decimal("1.5")) == [
        {"a": None, "b": 1, "c": "x' or 1", "d": 1.5}
    ]
    for wrong in ([1], {"a": 1}, object(), 2**70, "\ud800"):
        with pytest.raises(ViewError):
            ask(store, "select ? as a", wrong)
    with pytest.raises(ViewError):
        ask(store, "select ? as a")
    with pytest.raises(ViewError):
        ask(store, "select 1 as a", 1)


def test_windows_and_recursion_work(store):
    [best, *_] = ask(store, "select id, rank() over (order by id desc) as r from orders_by_day order by r")
    assert best == {"id": 99, "r": 1}
    assert ask(
        store, "with recursive t(n) as (values (1) union all select n + 1 from t where n < 5) select max(n) as n from t"
    ) == [{"n": 5}]
