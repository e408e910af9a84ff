import json
import os
import pty
import re
import select
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from headrace.log import Producer, Topics
from headrace.serve import View
from tests.cli.outcome import refused, row, rows, told

FOLLOWING = Path(__file__).parent.parent / "serve" / "following.py"


@pytest.fixture
def table(cluster):
    """A table of ten shops."""
    name = f"shops-{uuid.uuid4().hex[:8]}"
    with Topics() as topics, Producer() as producer:
        topics.create(name, partitions=2, compact=True)
        for n in range(10):
            producer.send(name, {"shop": n, "city": "Oslo" if n % 2 else "Rome", "open": True, "tags": [n]}, key=str(n))
    return name


def listed(done, name):
    return next(one for one in rows(done) if one["name"] == name)


def test_tables_are_listed_with_their_rows_and_lag(headrace, table, topic):
    before = headrace("table", "list")
    assert listed(before, table) == {"name": table, "partitions": 2, "rows": None, "lag": None}
    assert topic not in [one["name"] for one in rows(before)]
    headrace("table", "get", table, "1")
    with Producer() as producer:
        producer.send(table, None, key="1")
    assert listed(headrace("table", "list"), table) == {"name": table, "partitions": 2, "rows": 10, "lag": 1}
    headrace("table", "get", table, "1")
    assert listed(headrace("table", "list"), table) == {"name": table, "partitions": 2, "rows": 9, "lag": 0}


def test_what_programs_note_is_listed_only_if_asked_for(cli, cluster):
    name = f"{uuid.uuid4().hex}.1.revenue.commits"
    with Topics() as topics:
        topics.create(name, partitions=1, compact=True)
        assert name not in [one["name"] for one in rows(cli("table", "list"))]
        assert name in [one["name"] for one in rows(cli("table", "list", "--internal"))]
        topics.delete(name)


def test_get_shows_the_row_as_it_is_now(cli, table):
    assert row(cli("table", "get", table, "3")) == {"shop": 3, "city": "Oslo", "open": True, "tags": [3]}
    with Producer() as producer:
        producer.send(table, {"shop": 3, "city": "Bern"}, key="3")
    assert row(cli("table", "get", table, "3")) == {"shop": 3, "city": "Bern"}
    with Producer() as producer:
        producer.send(table, None, key="3")
    refused(cli("table", "get", table, "3"), 1, f"there is no row with the key '3' in '{table}'")


def test_query_shows_what_it_selects(cli, table):
    sql = f"select city, count(*) as n from {table.replace('-', '_')} group by city order by city"
    assert rows(cli("table", "query", table, sql)) == [{"city": "Oslo", "n": 5}, {"city": "Rome", "n": 5}]
    assert rows(cli("table", "query", table, f'select shop from "{table}" where shop > 7 order by shop')) == [
        {"shop": 8},
        {"shop": 9},
    ]
    assert rows(cli("table", "query", table, f'select * from "{table}" where shop > 70')) == []


def test_for_people(cli, table):
    shown = cli("table", "get", table, "3", "--format", "text").stdout.splitlines()
    assert [line.split() for line in shown] == [["shop", "3"], ["city", "Oslo"], ["open", "True"], ["tags", "[3]"]]
    sql = f'select city, count(*) as n from "{table}" group by city order by city'
    shown = cli("table", "query", table, sql, "--format", "text").stdout.splitlines()
    assert [line.split() for line in shown] == [["city", "n"], ["Oslo", "5"], ["Rome", "5"]]
    done = cli("table", "query", table, f'select * from "{table}" where shop > 70', "--format", "text")
    assert (done.stdout, told(done)) == ("", "No rows.")
    assert table in cli("table", "list", "--format", "text").stdout


def test_more_rows_than_asked_for_are_mentioned(cli, table):
    done = cli("table", "query", table, f'select * from "{table}"', "--limit", "3")
    assert len(rows(done)) == 3
    assert told(done) == "There are more than 3 rows; --limit shows more."
    assert told(cli("table", "query", table, f'select * from "{table}"', "--limit", "10")) == ""


def test_a_key_of_several_columns_is_json(cli, table):
    with Producer() as producer:
        producer.send(table, {"a": 1, "b": "x", "n": 7}, key={"a": 1, "b": "x"})
    for key in ('{"a":1,"b":"x"}', '{"a": 1, "b": "x"}'):
        assert row(cli("table", "get", table, key))["n"] == 7
    refused(cli("table", "get", table, '{"a": 1'), 1, "there is no row")


def test_columns_that_a_program_declared_stay(cli, table, cluster):
    with View(table, "shop int, at timestamp, raw binary", key="shop") as view:
        view.wait()
    with Producer() as producer:
        value = {"shop": 11, "at": "2024-05-01T10:00:00Z", "raw": "AAH/", "city": "Bern"}
        producer.send(table, value, key="11")
    assert row(cli("table", "get", table, "11")) == {"shop": 11, "at": "2024-05-01T10:00:00+00:00", "raw": "AAH/"}
    refused(cli("table", "query", table, f'select city from "{table}"'), 1, "has the columns shop, at, raw")


def test_a_view_that_a_program_keeps_is_read(headrace, table, cluster):
    command = [sys.executable, FOLLOWING, table, cluster.home / "views", "shop int, city string", "shop"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        with Producer() as producer:
            producer.send(table, {"shop": 3, "city": "Bern"}, key="3")
        assert row(headrace("table", "get", table, "3")) == {"shop": 3, "city": "Bern"}
        assert process.poll() is None
        process.kill()


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ('drop table "headrace rows"', ["a view can only be read; write a SELECT"]),
        ("attach 'x' as y", ["a view can only be read"]),
        ("select * from nowhere", ["no such table: nowhere; the table is shops_"]),
        ("", ["nothing to run"]),
        ("select 1; select 2", ["cannot be run"]),
    ],
)
def test_sql_that_does_not_read_is_refused(cli, table, sql, words):
    refused(cli("table", "query", table, sql), 1, *words)


def test_a_query_that_takes_too_long_is_stopped(cli, table):
    endless = "with recursive t(n) as (select 1 union all select n + 1 from t) select max(n) from t"
    refused(cli("table", "query", table, endless, "--timeout", "200 ms"), 1, "took longer than 0.2 s and was stopped")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("query", "t", "select 1", "--timeout", "soon"), ["'soon' is not a time span"]),
        (("query", "t", "select 1", "--limit", "0"), ["--limit"]),
        (("get", "t"), ["KEY"]),
    ],
)
def test_wrong_use_is_told(cli, cluster, arguments, words):
    refused(cli("table", *arguments), 2, *words)


def test_a_long_way_to_catch_up_is_told_with_a_bar(table):
    with Producer() as producer:
        for n in range(300_000):
            producer.send(table, {"shop": n}, key=str(n))
    terminal, end = pty.openpty()
    command = [
        Path(sys.executable).with_name("headrace"),
        "table",
        "query",
        table,
        f'select count(*) as n from "{table}"',
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=end) as process:
        shown = b""
        while process.poll() is None:
            if select.select([terminal], [], [], 0.1)[0]:
                shown += os.read(terminal, 4096)
        assert json.loads(process.stdout.read()) == {"n": 300_000}
    os.close(end)
    os.close(terminal)
    assert f"Reading {table}".encode() in shown
    assert re.search(rb"\d+/\d{6}", shown)
