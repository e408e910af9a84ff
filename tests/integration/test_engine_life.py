"""Programs started twice, stopped while they work, and changed."""

import json
import signal
from collections import Counter

import pytest

from tests.integration.programs.feed import Feed, check, read, told

pytestmark = pytest.mark.timeout(400)
BATCH = 3_000


@pytest.mark.whole
def test_a_program_runs_once_at_a_time_and_can_start_again_at_once_after_a_kill(cluster, start):
    feed = Feed()
    feed.send(6_000)
    it = told(feed, options={"max_batch": BATCH})
    first = start("sums.py", {**it, "drain": False})
    first.until(lambda: first.batches("out"))
    second = start("sums.py", it)
    assert second.wait() == 1
    assert "AlreadyRunningError" in second.text
    assert f"process {first.process.pid};" in second.text
    first.process.kill()
    assert start("sums.py", it).wait() == 0  # while the first one's Java may still be dying
    check(it["name"], feed)


@pytest.mark.whole
def test_asked_to_stop_it_finishes_the_batch_under_way_and_goes_on_at_the_next_start(cluster, start):
    feed = Feed()
    feed.send(25_000)
    it = told(feed, options={"max_batch": BATCH})
    for number in (signal.SIGTERM, signal.SIGINT):
        program = start("sums.py", {**it, "drain": False})
        before = len(program.batches("sums"))
        program.until(lambda: len(program.batches("sums")) > before + 1)  # noqa: B023 - called at once
        processes = program.processes()
        assert any(process.name() == "java" for process in processes)
        program.process.send_signal(number)
        assert program.wait(60) == 0, program.text
        assert program.gone(), program.processes()
        for stage in ("out", "sums"):  # what was begun is finished, or has written nothing
            assert program.batches(stage, "offsets")[-1] - program.batches(stage)[-1] in (0, 1)
    assert start("sums.py", it).wait() == 0
    check(it["name"], feed)


@pytest.mark.whole
def test_changed_steps_need_another_version_where_they_keep_state(cluster, start):
    feed = Feed()
    feed.send(5_000)
    it = told(feed)
    assert start("sums.py", it).wait() == 0
    check(it["name"], feed)
    changed = start("sums.py", {**it, "window": "20 seconds"})
    assert changed.wait() == 1
    assert "StateChangedError" in changed.text
    shown = [line.strip()[0] for line in changed.text.splitlines() if line.strip().startswith(("- ", "+ "))]
    assert sorted(shown) == ["+", "-"], changed.text
    assert "version=" in changed.text
    feed.send(1_000)
    stateless = start("sums.py", {**it, "filter": "n >= 5500"})
    assert stateless.wait() == 0, stateless.text
    numbers = sorted(event.value["n"] for event in read(f"{it['name']}-out"))
    assert numbers == sorted(n for _, n in feed.rows if not 5_000 <= n < 5_500)
    anew = start("sums.py", {**it, "version": 2, "window": "20 seconds"})
    assert anew.wait() == 0, anew.text
    again = Counter(event.value["n"] for event in read(f"{it['name']}-out"))
    assert all(again[n] == (1 if 5_000 <= n < 5_500 else 2) for _, n in feed.rows)
    assert json.loads((anew.folder / "stages" / f"{it['name']}-sums.json").read_text())["steps"]
