"""Programs that run on the real broker: what comes out, what is put aside, how they are seen and steered."""

import json
import time
from datetime import datetime

import pytest

import headrace as hr
from headrace.core.errors import (
    AlreadyRunningError,
    QueryError,
    StateChangedError,
    UnknownQueryError,
    UnknownTopicError,
)
from headrace.core.settings import Settings
from headrace.log import Producer, Topics
from headrace.runtime import control
from headrace.runtime.together import together
from headrace.spark.session import MANY_ROWS
from tests.runtime.conftest import read, send, until

SCHEMA = "k string, n int, at timestamp"


def event(key, number, second):
    return {"k": key, "n": number, "at": f"2024-05-01T10:{second // 60:02}:{second % 60:02}Z"}


def windowed(app, source, target, window=None, emit="final", **options):
    events = app.stream(source, schema=SCHEMA, key="k", event_time="at", lateness="5 seconds", **options)
    table = events.group_by("k").window(window or hr.tumbling("10 seconds"), emit=emit)
    table.agg(total="sum(n)", c="count(*)").to(target)
    return events


def test_rows_go_through_under_their_key_and_in_its_order(app, source, name):
    events = app.stream(source, schema="k string, n int")
    events.filter("n % 2 = 0").with_columns(double="n * 2").key_by("k").to(f"{name}-out")
    send(source, [{"k": f"k{n % 5}", "n": n} for n in range(500)], key="k")
    app.run(drain=True)
    rows = read(f"{name}-out")
    assert sorted(row.value["n"] for row in rows) == list(range(0, 500, 2))
    assert all(row.value["double"] == 2 * row.value["n"] and row.key == row.value["k"] for row in rows)
    for key in {row.key for row in rows}:
        numbers = [row.value["n"] for row in rows if row.key == key]
        assert numbers == sorted(numbers)


@pytest.mark.timeout(90)
@pytest.mark.parametrize("every", [None, "3 seconds"])
def test_programs_drain_together_whichever_comes_first(app, source, name, every):
    with Topics() as topics:
        topics.create(f"{name}-mid", partitions=2)
    app.stream(source, schema="k string, n int").filter("n > 0").to(f"{name}-mid", every=every)
    behind = hr.App(f"{name}-behind")
    behind.stream(f"{name}-mid", schema="k string, n int").to(f"{name}-out", every=every)
    send(source, [{"k": "a", "n": n} for n in range(100)])
    together([behind, app], drain=True, show=False)
    assert sorted(row.value["n"] for row in read(f"{name}-out")) == list(range(1, 100))


def test_late_and_dead_events_are_put_aside_once_with_the_reason(app, source, name):
    events = windowed(app, source, f"{name}-sums")
    events.select("k", "n").to(f"{name}-copy")
    with app.start() as run:
        send(source, [event("a", 1, 0), event("a", 2, 100), b"{]", {"k": "b", "n": "many"}])
        run.drain()
        send(source, [event("a", 3, 1)])
        run.drain()
        send(source, [event("a", 4, 101)])
        run.drain()
    [late] = read(f"{name}.late")
    assert json.loads(late.raw_value)["n"] == 3
    assert late.headers["headrace-topic"] == source
    assert "happened at 2024-05-01T10:00:01.000Z, but time in 'aggregate-" in late.headers["headrace-reason"]
    dead = {row.raw_value: row.headers["headrace-reason"] for row in read(f"{source}.dlq")}
    assert len(read(f"{source}.dlq")) == len(dead) == 2
    assert dead[b"{]"].startswith("the value is not JSON")
    assert dead[b'{"k":"b","n":"many"}'] == "the field 'n' is \"many\", not int"
    assert sorted(row.value["n"] for row in read(f"{name}-copy")) == [1, 2, 3, 4]
    assert [(row.value["total"], row.value["c"]) for row in read(f"{name}-sums")] == [(1, 1)]


def test_a_row_that_is_too_large_for_kafka_is_put_aside_and_the_rest_goes_on(app, source, name):
    rows = app.stream(source, schema="n int")
    rows.select(k="repeat('k', 1 + n * 600000)").key_by("k").to(f"{name}-out")  # the key is in the value too
    send(source, [{"n": n} for n in (0, 1, 3, 0)])
    with app.start() as run:
        run.drain(60)
    assert [event.value["k"] for event in read(f"{name}-out")] == ["k", "k"]
    letters = read(f"{name}-out.dlq")
    assert [event.headers["headrace-reason"].split(" bytes")[0] for event in letters] == [
        "the row has 1200010",
        "the row has 3600010",
    ]


def test_windows_close_when_nothing_comes_any_more(app, source, name):
    windowed(app, source, f"{name}-sums", idle="1 second")
    send(source, [event("a", 1, 0), event("b", 2, 3)])
    with app.start() as run:
        until(lambda: len(read(f"{name}-sums")) == 2)
        until(lambda: run.queries[0].last.state == 0)
        beats = len(read(f"{name}.heartbeat"))
        assert beats >= 1
        run.queries[0].seen_at = 0  # long idle: but there is nothing left to close, so nothing more is written
        run.drain()
        assert len(read(f"{name}.heartbeat")) <= beats + 1


def test_sessions_tell_their_changes_and_take_back_what_grew(app, source, name):
    windowed(app, source, f"{name}-visits", hr.session("10 seconds"), emit="updates")
    with app.start() as run:
        send(source, [event("a", 1, 0)])
        run.drain()
        send(source, [event("a", 2, 8)])
        run.drain()
    rows = [(json.loads(row.raw_key)["window_end"][17:19], row.value) for row in read(f"{name}-visits")]
    assert rows[0][0] == "10"
    assert rows[0][1]["total"] == 1
    assert {end: value and value["total"] for end, value in rows[1:]} == {"10": None, "18": 3}


def test_stages_joined_by_a_topic(app, source, name):
    events = app.stream(source, schema=SCHEMA, event_time="at")
    per_key = events.repartition("k", partitions=3).group_by("k").window(hr.tumbling("10 seconds"))
    per_key.agg(total="sum(n)").to(f"{name}-sums")
    send(source, [event(f"k{n % 4}", n, n % 10) for n in range(100)])
    app.run(drain=True)
    latest = {row.key: row.value["total"] for row in read(f"{name}-sums")}
    assert sorted(latest.values()) == [sum(range(first, 100, 4)) for first in range(4)]


def test_a_stage_whose_input_stays_empty_holds_nobody_up(app, source, name):
    events = app.stream(source, schema=SCHEMA, event_time="at")
    events.repartition("k").group_by("k").window(hr.tumbling("10 seconds")).agg(c="count(*)").to(f"{name}-counts")
    app.run(drain=True)
    send(source, [event("a", 1, 0)])
    app.run(drain=True)
    app.run(drain=True)
    assert [row.value["c"] for row in read(f"{name}-counts")] == [1]


def test_time_goes_on_where_a_stage_is_joined_with_a_topic(app, source, name):
    """The second stage must not read its other input while it waits for the first: time would stand still there."""
    passed = app.stream(source, schema=SCHEMA, event_time="at").through(f"{name}-passed")
    others = app.stream(f"{name}-others", schema="k string, at timestamp", event_time="at")
    passed.join(others, on="k", within="1 second", how="left").select("k", "n").to(f"{name}-out")
    with Topics() as topics:
        topics.create(f"{name}-others")
    for minute in (0, 1):
        send(source, [event("a", minute, 60 * minute), event("end", 0, 60 * minute + 30)])
        send(f"{name}-others", [event("other end", 0, 60 * minute + 30)])
        app.run(drain=True)
        assert {row.value["n"] for row in read(f"{name}-out") if row.value["k"] == "a"} == {0, minute}


def test_a_program_far_behind_takes_nothing_for_late(source, name):
    """Two partitions with events of different times, read at the same pace: of one, all but the first would be late."""
    with Producer() as producer:
        for number in range(2000):
            producer.send(source, event("early", 1, number // 10), partition=0)
            producer.send(source, event("later", 1, 1000 + number // 10), partition=1)
            if number % 100 == 0:
                producer.send(source, f"{{] {number}", partition=1)
        producer.send(source, event("end", 1, 3000), partition=0)
    app = hr.App(name, max_batch=500)
    windowed(app, source, f"{name}-sums")
    with app.start() as run:
        until(lambda: run.queries[0].last is not None)  # stopped while dead events still wait to be looked for
    app.run(drain=True)
    assert sum(row.value["c"] for row in read(f"{name}-sums")) == 4000
    assert [int(row.raw_value[3:]) for row in read(f"{source}.dlq")] == list(range(0, 2000, 100))
    with pytest.raises(UnknownTopicError):
        read(f"{name}.late")


def test_files_have_each_row_once(app, source, name, tmp_path):
    import pandas as pd  # noqa: PLC0415 - only here

    events = app.stream(source, schema="k string, n int")
    events.filter("n >= 0").sink("parquet", tmp_path / "lake", partition_by="k")
    events.sink("json", tmp_path / "json", name="as-json")
    with app.start() as run:
        for begin in (0, 100):
            send(source, [*({"k": "ab"[n % 2], "n": n} for n in range(begin, begin + 100)), b"no"])
            run.drain()
    assert sorted(pd.read_parquet(tmp_path / "lake")["n"]) == list(range(200))
    odd = [pd.read_parquet(path)["n"] for path in (tmp_path / "lake").glob("batch=*/k=b/*.parquet")]
    assert sorted(pd.concat(odd)) == list(range(1, 200, 2))
    files = (tmp_path / "json").glob("batch=*/*.json")
    lines = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert sorted(line["n"] for line in lines) == list(range(200))
    assert len(read(f"{source}.dlq")) == 2


def test_a_program_goes_on_where_it_was(app, source, name):
    windowed(app, source, f"{name}-sums", emit="updates")
    send(source, [event("a", 1, 0)])
    app.run(drain=True)
    send(source, [event("a", 2, 1)])
    app.run(drain=True)
    assert [row.value["total"] for row in read(f"{name}-sums")] == [1, 3]


@pytest.mark.parametrize(("before", "after"), [("2", "1"), ("1", "2")])
def test_state_stays_as_it_was_cut_when_the_tasks_change(source, name, before, after):
    for tasks in (before, after):
        app = hr.App(name, spark={"spark.sql.shuffle.partitions": tasks})
        events = app.stream(source, schema="k string, n int")
        events.group_by("k").agg(total="sum(n)").to(f"{name}-totals")
        send(source, [{"k": f"k{n % 7}", "n": n} for n in range(70)], key="k")
        app.run(drain=True)
    latest = {row.key: row.value["total"] for row in read(f"{name}-totals")}
    assert latest == {f"k{rest}": 2 * sum(range(rest, 70, 7)) for rest in range(7)}


def test_a_changed_step_is_refused_with_the_difference_and_another_version_starts_anew(app, source, name):
    windowed(app, source, f"{name}-sums")
    send(source, [event("a", 1, 0), event("a", 1, 30)])
    app.run(drain=True)
    for version in (1, 2):
        changed = hr.App(name, version=version)
        windowed(changed, source, f"{name}-sums", hr.tumbling("20 seconds"))
        if version == 2:
            changed.run(drain=True)
            break
        with pytest.raises(StateChangedError) as refused:
            changed.run(drain=True)
        assert "- aggregate-" in str(refused.value)
        assert "tumbling 10 s" in str(refused.value)
        assert "tumbling 20 s" in str(refused.value)
        assert "test_run.py, line" in refused.value.__notes__[0]
    assert [row.value["window_end"][17:19] for row in read(f"{name}-sums")] == ["10", "20"]


def test_a_program_runs_once_at_a_time(app, source, name):
    windowed(app, source, f"{name}-sums")
    twin = hr.App(name)
    windowed(twin, source, f"{name}-sums")
    with app.start():
        with pytest.raises(QueryError, match="runs already in this process"):
            app.start()
        with pytest.raises(AlreadyRunningError, match="runs already, as process"):
            twin.start()
    twin.run(drain=True)


def test_queries_are_seen_and_steered_from_outside(app, source, name, headrace):
    windowed(app, source, f"{name}-sums", emit="updates")
    query = f"{name}.{name}-sums"
    with app.start() as run:
        send(source, [event("a", 1, 0)])
        run.drain()
        until(lambda: any(p["stages"][0]["rows"] for p in control.programs(Settings.load()) if p["program"] == name))
        listed = {json.loads(line)["name"]: json.loads(line) for line in headrace("query", "list").stdout.splitlines()}
        assert (listed[query]["state"], listed[query]["rows"]) == ("running", 1)
        assert json.loads(headrace("query", "describe", f"{name}-sums").stdout)["name"] == query
        assert json.loads(headrace("query", "stop", query, "--yes").stdout) == {"stopped": query}
        send(source, [event("a", 2, 1)])
        assert run.status()["stages"][0]["state"] == "stopped"
        assert json.loads(headrace("query", "restart", query).stdout) == {"restarted": query}
        run.drain()
    assert [row.value["total"] for row in read(f"{name}-sums")] == [1, 3]
    done = headrace("query", "describe", query)
    assert (done.returncode, "no query" in done.stderr) == (1, True)
    with pytest.raises(UnknownQueryError):
        control.order(Settings.load(), query, "stop")


def test_for_how_long_a_batch_is_under_way_is_told(app, source, name, tmp_path):
    go = tmp_path / "go"

    def wait(row):
        while not go.exists():
            time.sleep(0.05)
        return row

    app.stream(source, schema="n int").map(wait, "n int").to(f"{name}-out")
    with app.start() as run:
        assert run.status()["stages"][0]["under_way"] is None
        send(source, [{"n": 1}])
        until(lambda: (run.status()["stages"][0]["under_way"] or 0) > 1)
        go.touch()
        run.drain()
        until(lambda: run.status()["stages"][0]["under_way"] is None)
    assert [row.value["n"] for row in read(f"{name}-out")] == [1]


def test_checkpoints_at_an_address_and_settings_that_hold_since_spark_was_started(name, source, tmp_path):
    folder = tmp_path / "checkpoints"
    for number in range(2):
        app = hr.App(name, checkpoints=folder.as_uri(), max_batch=10, spark={"spark.driver.memory": "1g"})
        events = app.stream(source, schema="k string, n int, at timestamp", event_time="at")
        events.group_by("k").window(hr.tumbling("1 minute"), emit="final").agg(total="sum(n)").to(f"{name}-sums")
        send(source, [event("a", n, 60 * number + n) for n in range(40)])  # more than one batch behind
        app.run(drain=True)
    assert [row.value["total"] for row in read(f"{name}-sums")] == [sum(range(40))]
    assert (folder / name / "1" / f"{name}-sums" / "offsets").is_dir()


def test_a_missing_input_is_created(app, name):
    app.stream(f"{name}-nobody", schema="n int").to(f"{name}-out")
    app.run(drain=True)
    assert read(f"{name}-out") == []


def test_an_output_that_can_wait_gathers_what_comes_while_others_do_not(app, name, source):
    events = app.stream(source, schema="k string, n int")
    events.to(f"{name}-out", every="2 seconds")
    events.to(f"{name}-soon")
    with app.start() as run:
        for n in range(40):
            send(source, [{"k": "a", "n": n}])
            time.sleep(0.1)  # four seconds of events: many batches if each began when it could
        run.drain()
        begun, soon = ([datetime.fromisoformat(p["timestamp"]) for p in q._query.recentProgress] for q in run.queries)
    assert len(read(f"{name}-out")) == len(read(f"{name}-soon")) == 40
    assert len(soon) > len(begun) >= 2
    assert len({at.timestamp() // 2 for at in begun}) == len(begun)  # none twice within the same two seconds


@pytest.mark.parametrize("asked", [{}, MANY_ROWS], ids=["", "asked"])
def test_first_batches_have_no_code_made_for_them_unless_asked(name, source, asked):
    app = hr.App(name, spark=asked)
    app.stream(source, schema="k string, n int").filter("n > 1").to(f"{name}-out")
    send(source, [{"k": "a", "n": n} for n in range(5)])
    with app.start() as run:
        run.drain()
        [query] = run.queries
        plan = query._query._jsq.explainInternal(False)
    assert len(read(f"{name}-out")) == 3
    assert "Filter" in plan
    assert ("*(1)" in plan) is bool(asked)  # how Spark marks what it has made code of
