import json
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from headrace.core.settings import Settings
from headrace.log import Producer, Topics
from headrace.serve import View
from headrace.web.serving import Serving
from tests.web.client import Client
from tests.web.conftest import until


@pytest.fixture
def table(cluster):
    """A table of 250 shops, one of whose keys is no text."""
    name = f"shops-{uuid.uuid4().hex[:8]}"
    with Topics() as topics, Producer() as producer:
        topics.create(name, partitions=2, compact=True)
        for n in range(250):
            producer.send(name, {"shop": n, "city": "Oslo" if n % 2 else "Rome", "tags": [n]}, key=f"{n:03}")
        producer.send(name, {"shop": -1, "id": 2**60}, key=b"\xff\xfe")
    return name


def query(ui, table, sql, **more):
    return ui.post(f"/api/tables/{table}/query", {"sql": sql, **more})


def listed(ui, table):
    return next((one for one in ui.get("/api/tables") if one["name"] == table), None)


def test_tables_are_listed_and_stored_when_they_are_looked_at(ui, table, topic):
    until(lambda: listed(ui, table) is not None)
    assert listed(ui, table) == {"name": table, "rows": None, "lag": None, "partitions": 2}
    assert listed(ui, topic) is None
    ui.get(f"/api/tables/{table}/rows")
    until(lambda: listed(ui, table) == {"name": table, "rows": 251, "lag": 0, "partitions": 2})


def test_a_table_that_comes_while_the_log_is_looked_at_is_known(brokers, monkeypatch, tmp_path):
    name, compacted = f"late-{uuid.uuid4().hex[:8]}", Topics.compacted

    def late(self, *among):
        with Topics() as topics:
            topics.create(name, partitions=1, compact=True, exist_ok=True)
        return compacted(self, *among)

    monkeypatch.setattr(Topics, "compacted", late)
    with Serving(Settings(home=tmp_path, brokers=brokers)) as serving:
        ui = Client(serving.url, serving.token)
        ui.get("/api/tables")
        assert ui.get(f"/api/tables/{name}/rows")["rows"] == []


def test_rows_are_browsed_page_by_page(ui, table):
    seen, after = [], {}
    while True:
        answer = ui.get(f"/api/tables/{table}/rows", limit=100, **after)
        shop = answer["columns"].index("shop")
        seen += [row[shop] for row in answer["rows"]]
        if not answer["more"]:
            break
        after = {"after": answer["after"]}
    assert seen == [*range(250), -1]
    assert (answer["after"], answer["complete"]) == (None, True)
    last = dict(zip(answer["columns"], answer["rows"][-1], strict=True))
    assert last["id"] == str(2**60)  # which a browser would round


def test_a_row_is_looked_up_as_it_is_now(ui, table):
    assert ui.get(f"/api/tables/{table}/row", key="007")["row"] == {"shop": 7, "city": "Oslo", "tags": [7]}
    with Producer() as producer:
        producer.send(table, {"shop": 7, "city": "Bern"}, key="007")
        producer.send(table, None, key="008")
        producer.send(table, {"n": 9}, key={"a": 1, "b": "x"})
    assert ui.get(f"/api/tables/{table}/row", key="007")["row"] == {"shop": 7, "city": "Bern"}
    assert ui.get(f"/api/tables/{table}/row", key='{"a": 1, "b": "x"}')["row"] == {"n": 9}
    answer = ui.answer(f"/api/tables/{table}/row", key="008")
    assert (answer.status, "there is no row with the key '008'" in answer.json["error"]) == (404, True)
    assert ui.answer(f"/api/tables/{table}/row").status == 400


def test_sql_reads(ui, table):
    sql = f'select city, count(*) as n from "{table}" where city is not null group by city order by city'
    answer = query(ui, table, sql).json
    assert (answer["columns"], answer["rows"], answer["more"]) == (["city", "n"], [["Oslo", 125], ["Rome", 125]], False)
    assert answer["seconds"] >= 0
    few = query(ui, table, f'select shop from "{table}" order by shop', limit=3).json
    assert (few["rows"], few["more"]) == ([[-1], [0], [1]], True)


@pytest.mark.parametrize(
    "sql",
    [
        'insert into "headrace rows" values (1)',
        'delete from "headrace rows"',
        'update "headrace facts" set value = 1',
        'drop table "headrace rows"',
        "create table x (a)",
        "create temp table x (a)",
        "attach '/tmp/x.db' as x",
        "attach ':memory:' as x",
        "vacuum into '/tmp/x.db'",
        "pragma journal_mode = delete",
        "pragma writable_schema = 1",
        "select load_extension('/lib/x86_64-linux-gnu/libc.so.6')",
        "select readfile('/etc/passwd')",
        "select writefile('/tmp/x', 'y')",
        "select edit('x')",
        "select * from pragma_database_list",
        "select * from fsdir('/')",
        "select printf('%1000000000d', 1)",
        "select zeroblob(1000000000)",
        "select randomblob(1000000000)",
        "select hex(zeroblob(500000000))",
        "begin exclusive",
        "select 1; delete from x",
        "detach main",
        "reindex",
        "",
        "nonsense",
        "select 1 as a, 2 as a",
        "select " + "(" * 5000 + "1" + ")" * 5000,
        "select '" + "x" * 200_000 + "'",
        "select * from nowhere",
    ],
)
def test_sql_that_does_anything_but_read_is_refused(ui, table, sql):
    answer = query(ui, table, sql)
    assert answer.status == 400, answer
    assert answer.json["error"]
    assert query(ui, table, f'select count(*) as n from "{table}"').json["rows"] == [[251]]


def test_sql_that_runs_for_ever_is_stopped_and_holds_up_nobody(ui, table):
    endless = "with recursive t(n) as (select 1 union all select n + 1 from t) select max(n) from t"
    with ThreadPoolExecutor(6) as pool:
        running = [pool.submit(query, ui, table, endless) for _ in range(6)]
        begun = time.monotonic()
        assert ui.answer("/api/overview").status == 200
        assert ui.answer("/api/topics").status == 200
        assert ui.answer(f"/api/tables/{table}/row", key="001").status == 200
        assert time.monotonic() - begun < 8
        answers = [one.result() for one in running]
    assert {answer.status for answer in answers} == {504}
    assert "took longer than 10 s" in answers[0].json["error"]


def test_of_many_rows_the_first_are_shown(ui, table):
    sql = f'select a.tags || b.tags as x from "{table}" a, "{table}" b, "{table}" c'
    answer = query(ui, table, sql, limit=1000).json
    assert len(answer["rows"]) == 1000
    assert answer["more"] is True


def test_a_result_that_is_huge_is_refused(ui, table):
    answer = query(ui, table, f'select hex(zeroblob(40000)) as x from "{table}" a, "{table}" b', limit=1000)
    assert (answer.status, "larger than 64,000,000 bytes" in answer.json["error"]) == (400, True)


@pytest.mark.parametrize("body", [{}, {"sql": 1}, {"sql": "select 1", "limit": 0}, {"sql": "select 1", "limit": 1001}])
def test_a_query_that_is_none_is_told(ui, table, body):
    assert ui.post(f"/api/tables/{table}/query", body).status == 400


def test_a_stream_is_no_table_and_is_not_stored(ui, topic, cluster):
    answer = ui.answer(f"/api/tables/{topic}/rows")
    assert (answer.status, f"'{topic}' is no table" in answer.json["error"]) == (400, True)
    assert ui.answer("/api/tables/nothing/rows").status == 404
    assert not list((cluster.home / "views").glob(f"{topic}*"))


@pytest.mark.parametrize("after", ["007", "~!", "~%%%"])
def test_a_place_that_is_none_is_told(ui, table, after):
    answer = ui.answer(f"/api/tables/{table}/rows", after=after)
    assert (answer.status, "is no place in a table" in answer.json["error"]) == (400, True)


def test_a_view_that_a_program_keeps_is_read(ui, table, cluster):
    with View(table, "shop int, city string", key="shop", folder=cluster.home / "views") as view:
        view.wait()
        answer = ui.get(f"/api/tables/{table}/rows", limit=2)
    assert (answer["columns"], answer["rows"]) == (["shop", "city"], [[0, "Rome"], [1, "Oslo"]])


def test_a_table_that_is_deleted_is_no_more(ui, table):
    ui.get(f"/api/tables/{table}/rows")
    with Topics() as topics:
        topics.delete(table)
    until(lambda: ui.answer(f"/api/tables/{table}/rows").status == 404)
    assert json.loads(ui.answer(f"/api/tables/{table}/row", key="1").body)["error"]
