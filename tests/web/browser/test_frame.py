"""Every page, at every width and in both themes; keys; the token; the connection."""

import re

import pytest
from playwright.sync_api import expect

from headrace.core.settings import Settings
from headrace.log import Producer
from headrace.web.serving import Serving
from tests.web.browser.chrome import DESK, PHONE
from tests.web.browser.conftest import Server

PAGES = {
    "overview": "Overview",
    "topology": "Topology",
    "queries": "Queries",
    "topics": "Topics",
    "groups": "Consumer groups",
    "tables": "Tables",
    "alerts": "Alerts",
    "dead-letters": "Dead letters",
    "reports": "Reports",
}


def luminance(colour: str) -> float:
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3]) / 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_every_page_has_its_title_fits_its_screen_and_keeps_to_the_theme(tabs, events, size, scheme):
    tab = tabs(viewport=size, color_scheme=scheme)
    for way, title in PAGES.items():
        page = tab.open(way)
        expect(page.get_by_role("heading", level=1, name=title)).to_be_attached()
        expect(page.locator("#page .waiting"), way).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], way
        assert page.locator('nav a[aria-current="page"]').get_attribute("href") == f"#/{way}"
        ground = luminance(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
        assert (ground < 80) == (scheme == "dark")


def test_the_theme_can_be_chosen_and_is_kept(show):
    page = show(color_scheme="light")
    for wanted, dark in (("light", False), ("dark", True)):
        page.get_by_role("button", name="Theme").click()
        expect(page.get_by_role("button", name=f"Theme: {wanted}")).to_be_visible()
        ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert (luminance(ground) < 80) == dark
    page.reload()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()


def test_everything_can_be_reached_by_keys(show, events):
    page = show()
    expect(page.locator("#connection")).to_have_text("Live")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Search on this page")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("t")
    expect(page.get_by_role("heading", level=1, name="Topics")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type(events)
    expect(page.locator("table.data tbody tr")).to_have_count(1)
    page.keyboard.press("g")  # a letter, while somebody types
    expect(page.locator("table.data tbody tr")).to_have_count(0)


def test_the_menu_of_a_phone_opens_and_closes(show):
    page = show(viewport=PHONE)
    topics = page.locator('#nav a[href="#/topics"]')
    expect(topics).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    topics.click()
    expect(page.get_by_role("heading", level=1, name="Topics")).to_be_visible()
    expect(topics).to_be_hidden()


def test_the_token_leaves_the_address_and_stays_in_the_tab(tabs):
    tab = tabs()
    page = tab.open("topics")
    assert tab.token not in page.url
    page.reload()
    expect(page.get_by_role("heading", level=1, name="Topics")).to_be_visible()
    expect(page.locator("#connection")).to_have_text("Live")
    assert page.evaluate("Object.values(localStorage).join()").find(tab.token) < 0


@pytest.mark.parametrize("given", ["", "#token=wrong"])
def test_a_missing_or_wrong_token_is_asked_for_and_the_right_one_lets_in(tabs, given):
    tab = tabs()
    page = tab.page
    page.goto(f"{tab.base}/{given}")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("server refused" if given else "this tab has none")
    dialog.get_by_label("Token").fill("still wrong")
    dialog.get_by_role("button", name="Use this token").click()
    expect(dialog).to_contain_text("server refused")
    expect(page.locator("#connection")).to_have_text("Not signed in")
    dialog.get_by_label("Token").fill(tab.token)
    dialog.get_by_label("Token").press("Enter")
    expect(page.locator("#connection")).to_have_text("Live")
    expect(dialog).to_have_count(0)
    expect(page.locator("#banner")).to_be_hidden()
    tab.troubles = [told for told in tab.troubles if "401" not in told]


def test_an_address_with_a_token_may_be_pasted_into_an_open_tab(tabs):
    tab = tabs()
    page = tab.page
    page.goto(tab.base)
    expect(page.get_by_role("dialog")).to_contain_text("this tab has none")
    page.goto(f"{tab.base}/#token={tab.token}")  # only what follows the # is another: nothing is loaded
    expect(page.locator("#connection")).to_have_text("Live")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", level=1, name="Overview")).to_be_attached()
    assert tab.token not in page.url
    page.goto(f"{tab.base}/#token=wrong")
    expect(page.get_by_role("dialog")).to_contain_text("server refused")
    tab.troubles = [told for told in tab.troubles if "401" not in told]


def test_a_foreign_name_that_points_here_gets_not_even_the_page(tabs, server):
    tab = tabs()
    answer = tab.page.goto(f"http://evil.localhost:{server.port}/")  # a browser takes it to this machine by itself
    assert answer is not None
    assert answer.status == 421
    assert "not known by that name" in tab.page.content()
    tab.troubles = [told for told in tab.troubles if "421" not in told]
    tab.asked.clear()


def test_a_page_that_is_opened_has_the_focus(show, events):
    page = show()
    assert page.evaluate("document.activeElement.tagName") == "BODY"
    page.locator('nav a[href="#/topics"]').click()
    expect(page.locator("main")).to_be_focused()
    search = page.get_by_role("searchbox")
    search.fill(events)
    expect(search).to_be_focused()
    page.get_by_role("link", name=events).click()
    expect(page.get_by_role("heading", level=1, name=events)).to_be_visible()
    expect(page.locator("main")).to_be_focused()


def test_a_lost_connection_is_told_and_the_tail_goes_on_where_it_was(tabs, events, brokers, tmp_path):
    server = Server(tmp_path, brokers)
    server.start()
    tab = tabs()
    tab.base, tab.token = server.url, server.token
    page = tab.open(f"topics/{events}")
    expect(page.locator(".tail-state")).to_have_text("Live")
    server.stop()
    expect(page.locator("#banner")).to_contain_text("The connection to the server is lost")
    with Producer() as producer:
        for number in range(25):
            producer.send(events, {"number": number})
    server.start()
    expect(page.locator("#banner")).to_be_hidden(timeout=30_000)
    expect(page.locator(".tail-numbers")).to_contain_text("25 received", timeout=30_000)
    server.stop()
    tab.troubles = [told for told in tab.troubles if "net::ERR_" not in told]
    tab.asked.clear()


@pytest.mark.parametrize("way", ["nonsense", "constructor"])
def test_a_page_that_is_none_says_so(show, way):
    page = show(way)
    expect(page.get_by_text("There is no such page")).to_be_visible()
    page.get_by_role("link", name="Go to the overview").click()
    expect(page.locator("#connection")).to_have_text("Live")


NOTHING = {
    "overview": "Nothing runs yet",
    "topology": "No program runs",
    "queries": "No program runs",
    "topics": "No topics yet",
    "groups": "No groups yet",
    "tables": "No tables yet",
    "alerts": "No alert fires",
    "dead-letters": "No dead letters",
    "reports": "No reports",
}


def test_pages_with_nothing_yet_say_so_in_words(tabs, tmp_path):
    with Serving(Settings(home=tmp_path)) as alone:
        tab = tabs()
        tab.base, tab.token = alone.url.rstrip("/"), alone.token
        for way, told in NOTHING.items():
            expect(tab.open(way).get_by_role("heading", level=2, name=told)).to_be_visible()
        tab.page.goto("about:blank")
    tab.asked.clear()
