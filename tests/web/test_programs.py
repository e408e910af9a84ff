"""Running programs on the dashboard: a real one, on Spark."""

import json
import uuid

import pytest

import headrace as hr
from headrace.core.errors import QueryFailedError
from headrace.core.settings import Settings
from headrace.log import Producer, Topics
from headrace.runtime import control, query
from tests.web.conftest import until


@pytest.fixture
def name(cluster):
    return f"dash-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def source(name):
    with Topics() as topics:
        topics.create(f"{name}-in", partitions=2)
    return f"{name}-in"


@pytest.fixture
def app(name, source):
    app = hr.App(name)
    app.stream(source, schema="n int").filter("n > 0").to(f"{name}-out")
    yield app
    app.stop()


def send(topic, values):
    with Producer() as producer:
        for value in values:
            producer.send(topic, value)


def found(ui, name):
    return next((program for program in ui.get("/api/programs") if program["program"] == name), None)


def test_a_program_is_seen_and_steered(ui, app, name, source):
    full = f"{name}.{name}-out"
    with app.start() as run:
        until(lambda: found(ui, name) is not None)
        assert found(ui, name)["topology"] == json.loads(json.dumps(app.describe()))
        assert "folder" not in found(ui, name)
        send(source, [{"n": n} for n in range(500)])
        run.drain()
        until(lambda: found(ui, name)["stages"][0]["rows"] == 500)

        with ui.stream("/api/live") as events:
            told = next(t for _, t in events if any(p["program"] == name for p in t["programs"]))
        (mine,) = [program for program in told["programs"] if program["program"] == name]
        assert (mine["stages"][0]["name"], "topology" in mine) == (full, False)
        assert told["overview"]["queries"] >= 1

        until(lambda: ui.answer(f"/api/history/{full}").status == 200)
        until(lambda: max(ui.get(f"/api/history/{full}")["rate"]) > 0)
        history = ui.get(f"/api/history/{full}")
        assert set(history) == {"t", "rate", "rows_per_second", "lag", "batch_seconds", "state_rows"}
        assert len({len(column) for column in history.values()}) == 1
        lines = ui.answer("/metrics").body.decode()
        assert f'headrace_query_rows_total{{program="{name}",stage="{name}-out"}} 500\n' in lines
        assert f'headrace_query_state{{program="{name}",stage="{name}-out",state="running"}} 1\n' in lines

        assert ui.post(f"/api/queries/{full}/stop", {}).json == {"stopped": full}
        until(lambda: any(p["name"] == full for p in ui.get("/api/overview")["problems"]))
        assert found(ui, name)["stages"][0]["state"] == "stopped"
        assert ui.post(f"/api/queries/{full}/restart", {}).json == {"restarted": full}
        until(lambda: found(ui, name)["stages"][0]["state"] == "running")
        assert ui.post("/api/queries/nothing/stop", {}).status == 404
    assert found(ui, name) is None


def test_bad_events_are_letters_with_the_reason_and_go_back_mended(ui, app, name, source):
    with app.start() as run:
        send(source, [{"n": "one"}])
        run.drain()
        until(lambda: ui.answer(f"/api/dead-letters/{source}.dlq").status == 200)
        (letter,) = ui.get(f"/api/dead-letters/{source}.dlq")["letters"]
        assert "n" in letter["reason"]
        assert letter["source"]["topic"] == source
        place = {"partition": letter["partition"], "offset": letter["offset"]}
        answer = ui.post(f"/api/dead-letters/{source}.dlq/replay", {"places": [place], "value": '{"n": 1}'})
        assert answer.json == {"replayed": 1}
        run.drain()
        until(lambda: [e["value"] for e in ui.get(f"/api/topics/{name}-out/events")["events"]] == [{"n": 1}])


class Broken(hr.Processor):
    """Fails, until it is mended."""

    def __init__(self, broken):
        self.broken = broken

    def on_rows(self, key, rows):
        if self.broken:
            raise ValueError("no way")
        return [{"n": row["n"]} for row in rows]


def test_a_program_that_failed_leaves_behind_why_until_it_runs_again(ui, name, source, monkeypatch):
    monkeypatch.setattr(query, "_TRIES", 1)

    def declared(broken):
        app = hr.App(name)
        rows = app.stream(source, schema="n int", time="append").group_by("n")
        rows.process(Broken(broken), "n int", name="step").to(f"{name}-out")
        return app

    def left():
        return [one for one in control.fallen(Settings.load()) if one["program"] == name]

    send(source, [{"n": 1}])
    with pytest.raises(QueryFailedError):
        declared(broken=True).run()
    assert "no way" in left()[0]["error"]
    until(lambda: any("no way" in problem["text"] for problem in ui.get("/api/overview")["problems"]))
    declared(broken=False).run(drain=True)
    assert left() == []
