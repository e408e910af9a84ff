"""A program as the dashboard shows it: one for all these tests, fed all the while."""

import re
import subprocess
import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, expect

from headrace.log import Producer, Topics
from tests.web.browser.chrome import PHONE
from tests.web.browser.conftest import HEADRACE, until

RATE = re.compile(r"^[1-9][\d.,K]*/s$")
# Where the name of each query ends, and where its mark begins.
BOXES = """stages => stages.map((stage) => [
    stage.querySelector(".node-name").getBoundingClientRect().right,
    stage.querySelector(".sign").getBoundingClientRect().left,
])"""
PROGRAM = """
from pathlib import Path

import headrace as hr

app = hr.App("{name}")
orders = app.stream(
    "{name}-orders", schema="store int, amount double, at timestamp", event_time="at", lateness="1 second"
)
orders.filter("amount > 0").to("{name}-good")
minutes = orders.group_by("store").window(hr.tumbling("2 seconds"), emit="updates")
minutes.agg(revenue="sum(amount)").to("{name}-revenue")


class Fragile(hr.Processor):
    def on_rows(self, key, rows):
        if Path("{broken}").exists():
            raise ValueError("<b>the machine is broken</b>")
        return [{{"n": row["n"]}} for row in rows]


fragile = app.stream("{name}-fragile", schema="n int", time="append").group_by("n")
fragile.process(Fragile(), "n int", name="fragile").to("{name}-whole")
"""


@pytest.fixture(scope="module")
def program(server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A program that runs, fed with some events a second."""
    name = f"shop-{uuid.uuid4().hex[:6]}"
    path = tmp_path_factory.mktemp("program") / "shop.py"
    path.write_text(PROGRAM.format(name=name, broken=server.home / "broken"))
    with Topics() as topics:
        topics.create(f"{name}-orders", partitions=2)
        topics.create(f"{name}-fragile", partitions=1)
    log = path.with_name("log")
    ended = threading.Event()
    with log.open("wb") as output:
        running = subprocess.Popen(
            [*HEADRACE, "run", str(path), "--quiet"], stdout=output, stderr=output, env=server.env
        )
    feeder = threading.Thread(target=feed, args=(f"{name}-orders", ended))
    feeder.start()
    try:
        status = server.home / "programs" / name / "1" / "status.json"
        until(lambda: status.exists() or running.poll() is not None, 120)
        assert running.poll() is None, log.read_text()
        yield name
    finally:
        ended.set()
        feeder.join()
        running.terminate()
        running.wait(60)


def feed(topic: str, ended: threading.Event) -> None:
    with Producer() as producer:
        for number in range(1_000_000):
            store, now = number % 5, datetime.now(UTC).isoformat()
            producer.send(topic, {"store": store, "amount": 2.5, "at": now}, key=str(store))
            producer.flush()
            if ended.wait(0.05):
                return


def stage(page: Page, name: str):
    return page.locator("table.data tbody tr").filter(has=page.get_by_role("link", name=name))


def test_the_overview_is_live(show, program):
    page = show("overview")
    row = stage(page, f"{program}.{program}-good")
    expect(row).to_contain_text("running", timeout=60_000)
    expect(page.locator(".tile-value").first).to_have_text(RATE, timeout=60_000)  # the first batches take long
    expect(page.locator(".chart canvas")).to_have_count(2)
    expect(page.locator(".chart-now").first).to_contain_text("/s")


def test_the_topology_is_drawn_with_its_rates_and_leads_to_its_parts(show, program):
    page = show("topology")
    drawing = page.locator("svg.topology")
    for topic in ("orders", "good", "revenue"):
        expect(drawing.locator("g.topic").filter(has_text=f"{program}-{topic}")).to_be_visible()
    for query in ("good", "revenue"):
        well = drawing.locator("g.stage.good").filter(has_text=f"{program}-{query}: running")
        expect(well).to_be_visible(timeout=60_000)
    expect(drawing.locator("g.stage .sign")).to_have_count(3)
    boxes = drawing.locator("g.stage").evaluate_all(BOXES)
    assert [name < mark for name, mark in boxes] == [True] * 3, boxes
    expect(drawing.locator(".edge-rate").filter(has_text=RATE).first).to_be_visible()
    drawing.locator("g.stage").filter(has_text=f"{program}-good").click()
    expect(page.get_by_role("heading", level=1, name=f"{program}.{program}-good")).to_be_visible()


def test_a_query_shows_its_charts_what_it_does_and_how_far_it_is(show, program):
    page = show(f"queries/{program}.{program}-revenue")
    expect(page.locator(".chart canvas")).to_have_count(4)
    expect(page.locator("section").filter(has_text="What it does")).to_contain_text("exactly once")
    rows = page.locator("dt", has_text="Rows so far").locator("xpath=following-sibling::dd")
    before = rows.inner_text()
    expect(rows).not_to_have_text(before, timeout=60_000)  # as above


def test_rates_stay_while_they_cannot_be_asked_for(tabs, program):
    tab = tabs()
    page = tab.open("topology")
    expect(page.locator("svg.topology")).to_be_visible()
    rate = stage(page, f"{program}.{program}-good").locator("td").filter(has_text=RATE)
    expect(rate).to_be_visible(timeout=60_000)
    page.route("**/api/topics?internal=1", lambda route: route.abort())
    with page.expect_event("requestfailed", lambda request: "/api/topics" in request.url):
        pass
    page.wait_for_timeout(1500)  # the row is drawn anew each second
    expect(rate).to_be_visible(timeout=1)
    tab.troubles = [told for told in tab.troubles if "net::ERR_FAILED" not in told]


def test_a_query_shows_its_last_error(show, server, program):
    page = show(f"queries/{program}.{program}-whole")
    expect(page.locator(".head .state-line")).to_have_text("running", timeout=60_000)
    (server.home / "broken").touch()
    with Producer() as producer:
        producer.send(f"{program}-fragile", {"n": 1})
    expect(page.locator(".failure")).to_contain_text("<b>the machine is broken</b>", timeout=120_000)
    expect(page.locator(".head .state-line")).to_have_text("restarting")
    (server.home / "broken").unlink()  # it is well before long


def test_a_query_is_stopped_after_a_question_and_started_again(show, program):
    name = f"{program}.{program}-good"
    page = show(f"queries/{name}")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.locator(".head .state-line")).to_have_text("running")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Stop the query").click()
    expect(page.locator(".head .state-line")).to_have_text("stopped", timeout=30_000)
    page.get_by_role("link", name="Overview").click()
    problem = page.locator(".problems a").filter(has_text=name)
    expect(problem).to_contain_text("stopped")
    problem.click()
    page.get_by_role("button", name="Restart").click()
    page.get_by_role("dialog").get_by_role("button", name="Restart the query").click()
    expect(page.locator(".head .state-line")).not_to_have_text("stopped", timeout=60_000)


def test_the_pages_of_a_program_fit_a_phone(tabs, program):
    tab = tabs(viewport=PHONE)
    for way in ("overview", "topology", "queries", f"queries/{program}.{program}-good", f"topics/{program}-good"):
        page = tab.open(way)
        expect(page.locator("#page .waiting"), way).to_have_count(0)
        page.wait_for_timeout(500)  # charts take their widths
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], way
