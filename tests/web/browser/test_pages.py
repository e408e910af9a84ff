"""What operators do on the pages: dead letters, tables, groups, alerts, reports."""

import re

import pytest
from playwright.sync_api import expect

from headrace.log import Consumer, Producer, Topics
from tests.web.browser.chrome import PHONE, hide
from tests.web.browser.conftest import until


@pytest.fixture
def letters(events):
    """Three events that could not be handled, and the topic they came from."""
    with Topics() as topics, Producer() as producer:
        topics.create(f"{events}.dlq", partitions=1)
        for number in range(3):
            told = {"headrace-reason": f"amount: 'a lot' is no number ({number})", "headrace-topic": events}
            told |= {"headrace-partition": "1", "headrace-offset": str(number)}
            producer.send(f"{events}.dlq", {"number": number, "amount": "a lot"}, key="a", headers=told)
    return events


def values(topic):
    with Consumer(topic, follow=False) as consumer:
        return [event.value for event in consumer]


def test_a_dead_letter_is_replayed_and_then_marked(show, letters):
    page = show("dead-letters")
    page.get_by_role("link", name=letters, exact=True).click()
    letter = page.locator(".letter").filter(has_text="is no number (2)")
    expect(letter).to_contain_text('"amount": "a lot"')
    letter.get_by_role("button", name="Replay", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Replay").click()
    expect(letter).to_contain_text("replayed")
    assert values(letters) == [{"number": 2, "amount": "a lot"}]
    page.reload()
    expect(page.locator(".letter").filter(has_text="(2)")).to_contain_text("replayed")
    expect(page.locator(".letter").filter(has_text="(1)").locator("header")).not_to_contain_text("replayed")


def test_many_dead_letters_are_replayed_at_once(show, letters):
    page = show(f"dead-letters/{letters}.dlq")
    page.get_by_label("All that are shown").check()
    page.get_by_role("button", name="Replay 3 letters").click()
    page.get_by_role("dialog").get_by_role("button", name="Replay").click()
    expect(page.locator(".letter header").filter(has_text="replayed")).to_have_count(3)
    assert sorted(value["number"] for value in values(letters)) == [0, 1, 2]


def test_a_dead_letter_is_mended_before_it_is_replayed(show, letters):
    page = show(f"dead-letters/{letters}.dlq")
    page.locator(".letter").filter(has_text="(1)").get_by_role("button", name="Mend and replay").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill('{"number": 1, "amount": 5}')
    expect(dialog).to_contain_text("This is JSON.")
    dialog.get_by_role("button", name="Replay").click()
    expect(page.locator(".letter").filter(has_text="(1)").locator("header")).to_contain_text("replayed")
    assert values(letters) == [{"number": 1, "amount": 5}]


def test_letters_that_cannot_be_had_are_told(tabs, letters):
    tab = tabs()
    page = tab.open(f"dead-letters/{letters}.dlq")
    expect(page.locator(".letter")).to_have_count(3)
    tab.context.set_offline(True)
    page.get_by_role("button", name="Look again").click()
    expect(page.locator(".toast.bad")).to_have_text("The server does not answer.")
    expect(page.locator(".letter")).to_have_count(3)
    tab.troubles = [told for told in tab.troubles if "net::ERR_" not in told]


def test_letters_fit_a_phone(show, letters):
    with Producer() as producer:
        told = {"headrace-reason": "a-long-word-" * 20, "headrace-topic": letters}
        producer.send(f"{letters}.dlq", {"text": "x" * 500}, key="a-long-key-" * 20, headers=told)
    page = show(f"dead-letters/{letters}.dlq", viewport=PHONE)
    expect(page.locator(".letter")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.fixture
def shops(name):
    """A table of sixty shops."""
    with Topics() as topics, Producer() as producer:
        topics.create(name, partitions=2, compact=True)
        for n in range(60):
            producer.send(name, {"shop": n, "city": "Oslo" if n % 2 else "<b>Rome</b>"}, key=str(n))
    return name


def test_a_table_is_browsed_looked_up_and_queried(show, shops):
    page = show(f"tables/{shops}")
    rows = page.locator("section .data tbody tr")
    expect(rows).to_have_count(50)
    expect(page.get_by_role("cell", name="<b>Rome</b>").first).to_be_visible()
    page.get_by_role("button", name="Next rows").click()
    expect(rows).to_have_count(10)
    page.get_by_label("Key", exact=True).fill("7")
    page.get_by_role("button", name="Get").click()
    expect(page.locator(".found")).to_contain_text('"city": "Oslo"')
    page.get_by_label("A SELECT").fill(f'select city, count(*) as n from "{shops}" group by city order by city')
    page.get_by_label("A SELECT").press("Control+Enter")
    expect(page.locator(".result tbody tr")).to_have_count(2)
    expect(page.locator(".result")).to_contain_text("Oslo")
    expect(page.get_by_text(re.compile("2 rows, in"))).to_be_visible()


def test_rows_that_cannot_be_had_are_told(tabs, shops):
    tab = tabs()
    page = tab.open(f"tables/{shops}")
    rows = page.locator("section .data tbody tr")
    expect(rows).to_have_count(50)
    tab.context.set_offline(True)
    page.get_by_role("button", name="Next rows").click()
    expect(page.locator(".toast.bad")).to_have_text("The server does not answer.")
    expect(rows).to_have_count(50)
    tab.troubles = [told for told in tab.troubles if "net::ERR_" not in told]


def test_sql_that_would_write_is_refused_in_words(tabs, shops):
    tab = tabs()
    page = tab.open(f"tables/{shops}")
    page.get_by_label("A SELECT").fill(f'delete from "{shops}"')
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".result .trouble")).not_to_be_empty()
    tab.troubles = [told for told in tab.troubles if "400" not in told]


def test_a_group_shows_its_lag_as_it_grows(show, events):
    with Producer() as producer:
        producer.send(events, {"n": 1})
    with Consumer(events, group=f"{events}-readers", start="earliest", follow=False) as consumer:
        assert len(list(consumer)) == 1
    page = show(f"groups/{events}-readers")
    expect(page.locator(".state-line")).to_contain_text("lag 0")
    with Producer() as producer:
        for n in range(5):
            producer.send(events, {"n": n})
    expect(page.locator(".state-line")).to_contain_text("lag 5")
    expect(page.locator("table.data tbody tr")).to_have_count(2)


def test_topics_are_found_by_name_and_lead_to_their_events(show, events):
    page = show("topics")
    page.get_by_label("Search").fill(events[-5:])
    expect(page.locator("table.data tbody tr")).to_have_count(1)
    page.get_by_role("link", name=events).click()
    expect(page.get_by_role("heading", level=1, name=events)).to_be_visible()


def test_a_report_follows_its_topics_and_is_told_when_it_is_left(show, server, events):
    with Producer() as producer:
        producer.send(events, {"number": 40})
    page = show("reports")
    expect(page.get_by_role("link", name="Numbers")).to_be_visible()
    page.goto(page.url.replace("#/reports", f"#/reports/report?topic={events}"))
    expect(page.locator(".said")).to_have_text("sum 40")
    expect(page.locator(".report canvas")).to_be_visible()
    with Producer() as producer:
        producer.send(events, {"number": 2})
    expect(page.locator(".said")).to_have_text("sum 42")
    hide(page, True)
    until(lambda: not server.streams())
    with Producer() as producer:
        producer.send(events, {"number": 3})
    hide(page, False)
    expect(page.locator(".said")).to_have_text("sum 45")
    page.get_by_role("link", name="Topics", exact=True).click()
    expect(page.locator('body[data-left="report"]')).to_be_attached()
