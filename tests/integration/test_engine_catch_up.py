"""Programs far behind: batches, memory and rate stay bounded, and history gives what live gave."""

import contextlib
import signal
import time
from collections import Counter
from datetime import UTC, datetime

import psutil
import pytest

from headrace.log import Producer
from tests.integration.programs.feed import Feed, check, read, told

pytestmark = pytest.mark.timeout(600)


def memory(program):
    """All that the program's processes hold; what forked workers share counts once."""
    held = 0
    for one in program.processes():
        with contextlib.suppress(psutil.NoSuchProcess):
            held += one.memory_full_info().pss
    return held


@pytest.mark.whole
def test_three_hundred_thousand_events_behind(cluster, start):
    feed = Feed()
    feed.send(300_000)
    program = start("sums.py", told(feed, options={"max_batch": 20_000}))
    most = 0
    while program.process.poll() is None:
        most = max(most, memory(program))
        time.sleep(0.25)
    assert program.wait() == 0, program.text
    check(program.folder.parent.name, feed)
    for stage in ("out", "sums"):
        assert max(program.taken(stage)) <= 20_000
        assert sum(program.taken(stage)) == 300_000
    print(f"at most {most / 2**30:.2f} GiB")
    assert most < 3.5 * 2**30, f"{most / 2**30:.1f} GiB"


@pytest.mark.whole
def test_a_rate_is_kept(cluster, start):
    feed = Feed()
    feed.send(60_000)
    program = start("sums.py", told(feed, options={"rate": 4_000}, drain=False))
    program.until(lambda: len(program.batches("out")) >= 13)
    program.process.send_signal(signal.SIGTERM)
    assert program.wait(60) == 0, program.text
    assert program.taken("out")[:13] == [4_000] * 13
    folder = next((program.folder / "checkpoints").glob("*-out")) / "commits"
    first, last = (((folder / str(number)).stat().st_mtime) for number in (2, 12))  # the first ones are slow
    assert 40_000 / (last - first) <= 1.2 * 4_000  # a busy machine may take less


@pytest.mark.whole
def test_history_gives_what_live_gave(cluster, start):
    feed = Feed()
    it = told(feed, options={"idle": "2 seconds"}, window="4 seconds", drain=False)
    live = start("sums.py", it)
    live.until(lambda: live.status("sums"))
    sent, pauses = Counter(), (0.3, 3, 0.3, 0.3, 5, 0.3, 3, 0.3)  # some are longer than it waits for events
    with Producer() as producer:
        for piece, pause in enumerate(pauses):
            for n in range(200):
                event = {"k": f"k{n % 7}", "n": piece * 1000 + n, "at": datetime.now(UTC).isoformat()}
                producer.send(feed.topic, event, key=event["k"])
                sent[event["k"]] += event["n"]
            producer.flush()
            time.sleep(pause)  # the time of events is the time on the wall
    first = complete(live, it, sent)
    live.process.send_signal(signal.SIGTERM)
    assert live.wait(60) == 0, live.text
    again = start("sums.py", {**it, "version": 2})
    both = complete(again, it, sent + sent)
    again.process.send_signal(signal.SIGTERM)
    assert again.wait(60) == 0, again.text
    assert both == first + first
    assert len(first) >= 7 * 3


@pytest.mark.whole
def test_a_chain_of_stages_closes_the_same_windows_from_far_behind(cluster, start):
    """The second stage has read all there is before the first is done: its last windows must close all the same."""
    feed = Feed()
    feed.send(20_000)
    found = []
    for most in (3_000, 500_000):
        it = told(feed, options={"max_batch": most})
        program = start("chain.py", it)
        assert program.wait() == 0, program.text
        found.append([event.value for event in read(f"{it['name']}-minutes")])
    assert sorted(found[0], key=str) == sorted(found[1], key=str)
    assert [row["c"] for row in found[0]] == [6 * 50] * 2


def complete(program, it, wanted):
    """Wait until the windows of a program hold all that was sent, and return them."""
    found = Counter()

    def look():
        found.clear()
        found.update(tuple(sorted(event.value.items())) for event in read(f"{it['name']}-sums"))
        totals = Counter()
        for row in found.elements():
            totals[dict(row)["k"]] += dict(row)["total"]
        return totals == wanted

    program.until(look, 90)
    return found
