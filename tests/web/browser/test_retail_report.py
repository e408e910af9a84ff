"""The retail mesh's own page, on a broker of its own: its topics have names that are fixed."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from headrace.core.settings import Settings
from headrace.log import Producer, Topics
from headrace.log.broker.cluster import Cluster
from tests.web.browser.chrome import PHONE, Tab
from tests.web.browser.conftest import Server

RETAIL = Path(__file__).parents[3] / "examples" / "retail" / "report"
NOW = datetime.now(UTC).replace(second=0, microsecond=0)
SHOPS = [f"S{number:02}" for number in range(1, 97)]  # all but those of Buenos Aires
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A dashboard with the report, and topics as the programs have written them; nobody has declared an alert yet."""
    home = tmp_path_factory.mktemp("retail")
    cluster = Cluster(Settings(home=home))
    server = Server(home, cluster.up(), RETAIL)
    try:
        write(server.env["HEADRACE_BROKERS"])
        server.start()
        yield server
        server.stop()
    finally:
        cluster.erase()


def write(brokers: str) -> None:
    """Write minutes of revenue, of which a tail of 300 events holds less than four; twenty rewards; a suspicion."""
    with Topics(brokers) as topics, Producer(brokers) as producer:
        topics.create("revenue", partitions=2, compact=True)
        for name in ("rewards", "fraud"):
            topics.create(name, partitions=2)
        for ago in range(8, -1, -1):
            for row in minute(ago):
                producer.send("revenue", row, key={name: row[name] for name in ("dimension", "name", "window_start")})
        for number in range(20):
            producer.send("rewards", reward(f"L{number:03}"), key=f"L{number:03}")
        producer.send("fraud", suspicion("C1"), key="C1")


def minute(ago: int) -> Iterator[dict]:
    """What was sold in a minute: equally much in each, but the minute before the one under way has half."""
    start = f"{NOW - timedelta(minutes=ago):%Y-%m-%dT%H:%M:%S.000000Z}"
    rows = [("shop", name, 1_000) for name in SHOPS] + [("shop", "WEB", 4_000)]
    rows += [("product", "Baguette", 60_000), ("product", "Bananas 1 kg", 40_000), ("total", "total", 100_000)]
    for dimension, name, whole in rows:
        cents = whole // 2 if ago == 1 else whole
        yield {"dimension": dimension, "name": name, "window_start": start, "cents": cents, "sales": cents // 100}


def reward(loyalty: str) -> dict:
    told = {"loyalty": loyalty, "shop": "S01", "points": 200, "message": "200 points! 2 € off your next purchase."}
    return told | {"sold_at": NOW.isoformat(), "at": NOW.isoformat()}


def suspicion(card: str) -> dict:
    told = {"kind": "two-cities", "card": card, "invoice": "S01-1-1", "city": "Rome", "cents": 1_999}
    return told | {"message": "used in Oslo and Rome", "at": NOW.isoformat()}


def send(mesh: Server, topic: str, value: dict, key: str) -> None:
    with Producer(mesh.env["HEADRACE_BROKERS"]) as producer:
        producer.send(topic, value, key=key)


@pytest.fixture
def report(browser: Browser, mesh: Server) -> Iterator[Open]:
    """Open the report in a tab of its own, in which nothing may go wrong."""
    opened: list[Tab] = []

    def open_report(meet: Callable[[Route], None] | None = None, **options: object) -> Page:
        tab = Tab(browser, mesh.url, mesh.token, **options)
        opened.append(tab)
        if meet:
            tab.page.route("**/api/tables/revenue/query", meet)
        return tab.open("reports/retail")

    yield open_report
    for tab in opened:
        tab.close()
        assert tab.troubles == []


def tile(page: Page, label: str) -> Locator:
    return page.locator(".retail-tiles li").filter(has_text=label).locator("strong")


def panel(page: Page, title: str) -> Locator:
    return page.locator(".retail-panel").filter(has=page.get_by_role("heading", name=title))


def test_sums_are_those_of_the_last_five_minutes_from_the_beginning(report):
    page = report()
    expect(panel(page, "Top products").locator("li:visible")).to_have_text(["Baguette€2.7K", "Bananas 1 kg€1.8K"])
    shops = panel(page, "Top shops").locator("li:visible")
    expect(shops.first).to_have_text("Web shop€180")
    expect(shops.nth(1)).to_have_text("S01 Lisbon€45")
    expect(tile(page, "This minute so far")).to_have_text("€1K")
    expect(tile(page, "The minute before")).to_have_text("€500")
    expect(page.locator(".retail-wide canvas")).to_be_visible()
    dots = panel(page, "Cities").locator("circle title")
    expect(dots.filter(has_text="Lisbon")).to_have_text("Lisbon: €135")
    expect(dots.filter(has_text="Buenos Aires")).to_have_text("Buenos Aires: closed")
    expect(page.locator(".retail > p")).to_be_empty()


def test_a_table_that_is_still_being_read_is_asked_again(report):
    stored: list[bool] = []  # whether the table has all by now

    def unread(route: Route) -> None:
        answer = route.fetch()
        lacks = {} if stored else {"rows": [], "complete": False}
        route.fulfill(response=answer, json={**answer.json(), **lacks})

    page = report(unread)
    dots = panel(page, "Cities").locator("circle title")
    expect(dots.filter(has_text="Buenos Aires")).to_have_text("Buenos Aires: not known yet")
    expect(page.get_by_text("Reading what was before")).to_be_visible()
    stored.append(True)
    expect(panel(page, "Top products").locator("li").first).to_have_text("Baguette€2.7K")
    expect(dots.filter(has_text="Buenos Aires")).to_have_text("Buenos Aires: closed")
    expect(page.get_by_text("Reading what was before")).to_have_count(0)


def test_rewards_and_suspicions_count_from_when_the_page_was_opened(report, mesh):
    page = report()
    rewards, frauds = panel(page, "Rewards").locator("li"), panel(page, "Suspicions").locator("li")
    expect(rewards).to_have_count(8)
    expect(frauds.first).to_contain_text("used in Oslo and Rome")
    expect(tile(page, "Rewards")).to_have_text("0")
    expect(tile(page, "Suspicions")).to_have_text("0")
    send(mesh, "rewards", reward("LATER"), "LATER")
    expect(rewards.first).to_contain_text("LATER in S01")
    expect(tile(page, "Rewards")).to_have_text("1")
    send(mesh, "fraud", suspicion("C9"), "C9")
    expect(frauds.first).to_contain_text("C9")
    expect(tile(page, "Suspicions")).to_have_text("1")


def test_what_runs_low_is_shown_though_alerts_begin_later(report, mesh):
    page = report()
    low = panel(page, "Stock that runs low")
    expect(low).to_contain_text("All shelves are full.")
    with Topics(mesh.env["HEADRACE_BROKERS"]) as topics:
        topics.create("alerts", partitions=1)
    told = {"id": "1", "alert": "inventory/low-stock/S07", "rule": "low-stock", "program": "inventory"}
    told |= {"key": {"shop": "S07"}, "severity": "warning", "message": "Baguette in S07: only 4 left"}
    told |= {"row": {"units": 4}, "since": NOW.isoformat(), "at": NOW.isoformat()}
    send(mesh, "alerts", {**told, "state": "firing"}, told["alert"])
    expect(low.locator("li")).to_contain_text("Baguette in S07: only 4 left")
    expect(low.locator("li")).to_contain_text("4 left · ")
    send(mesh, "alerts", {**told, "state": "resolved"}, told["alert"])
    expect(low.get_by_text("All shelves are full.")).to_be_visible()


def test_the_report_fits_a_phone(report):
    page = report(viewport=PHONE)
    expect(panel(page, "Top products").locator("li").first).to_contain_text("Baguette")
    page.wait_for_timeout(500)  # the chart takes its width
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
