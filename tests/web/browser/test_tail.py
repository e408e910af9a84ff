"""The live tail: nothing is lost, whatever the reader does, and everything is shown as text."""

import re
import time
from datetime import datetime, timedelta, timezone

from playwright.sync_api import Page, expect

from headrace.log import Producer
from tests.web.browser.chrome import PHONE, hide
from tests.web.browser.conftest import until


def send(topic, numbers, **more):
    with Producer() as producer:
        for number in numbers:
            producer.send(topic, {"number": number, **more}, key=f"key-{number % 7}")


def shown(page: Page) -> list[str]:
    return page.locator(".events-space .event:not([hidden]) span:last-child").all_inner_texts()


def received(page: Page) -> int:
    found = re.search(r"([\d,]+) received", page.locator(".tail-numbers").inner_text())
    return int(found[1].replace(",", "")) if found else 0


def live(page: Page) -> None:
    expect(page.locator(".tail-state")).to_have_text("Live")


def test_events_appear_as_they_are_sent(show, events):
    send(events, [1])
    page = show(f"topics/{events}")
    live(page)
    expect(page.get_by_text('{"number":1}')).to_be_visible()
    send(events, [2, 3])
    expect(page.get_by_text('{"number":3}')).to_be_visible()
    expect(page.locator(".tail-numbers")).to_contain_text("2 received")


def test_a_pause_loses_nothing_even_when_more_comes_than_is_held(show, events):
    page = show(f"topics/{events}")
    live(page)
    page.get_by_role("button", name="Pause").click()
    send(events, range(12_000))
    expect(page.locator(".tail-numbers")).to_contain_text("12,000 events waiting")
    assert shown(page) == []
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".tail-numbers")).to_contain_text("12,000 received", timeout=30_000)
    expect(page.locator(".tail-numbers")).to_contain_text("the last 5,000 kept")
    send(events, [77_777])
    expect(page.get_by_text('{"number":77777}')).to_be_visible()
    expect(page.locator(".tail-numbers")).to_contain_text("12,001 received")


def test_a_hidden_tab_holds_no_connection_and_later_gets_what_came(show, server, events):
    page = show(f"topics/{events}")
    live(page)
    assert server.streams() >= 2  # what every page follows, and the tail
    send(events, [1])
    expect(page.locator(".tail-numbers")).to_contain_text("1 received")
    hide(page, True)
    until(lambda: not server.streams())
    send(events, range(2, 32))
    hide(page, False)
    expect(page.locator(".tail-numbers")).to_contain_text("31 received")
    live(page)


def test_a_burst_is_received_whole_with_the_rows_that_there_were(show, events):
    page = show(f"topics/{events}")
    live(page)
    before = page.locator(".events-space .event").count()
    send(events, range(5_000))
    expect(page.locator(".tail-numbers")).to_contain_text("5,000 received", timeout=30_000)
    assert page.locator(".events-space .event").count() == before < 80


def test_who_reads_older_events_is_not_carried_away_by_new_ones(show, events):
    send(events, range(90))
    page = show(f"topics/{events}")
    live(page)
    page.locator(".events-view").evaluate("view => view.scrollTop = 400")
    expect(page.locator(".events-space .event").first).to_be_visible()
    page.wait_for_timeout(300)  # until the rows of that place are drawn
    before = shown(page)
    send(events, range(100, 110))
    expect(page.get_by_role("button", name="10 newer events")).to_be_visible()
    assert shown(page) == before
    page.get_by_role("button", name="10 newer events").click()
    expect(page.get_by_text('{"number":109}')).to_be_visible()


def test_a_script_in_a_value_a_key_or_a_header_is_text(show, events):
    evil = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    with Producer() as producer:
        producer.send(events, {"name": evil}, key=evil, headers={"h": evil})
        producer.send(events, evil.encode(), key="plain")
    page = show(f"topics/{events}")
    for number in range(2):
        page.locator(".events-space .event").nth(number).click()
        expect(page.locator(".detail .json")).to_contain_text("<img src=x onerror=")
    assert page.locator("#page img, #page script").count() == 0
    assert "owned" not in page.title()


def test_a_value_is_readable_with_its_headers_and_its_long_numbers(show, events):
    with Producer() as producer:
        producer.send(events, b'{"id": 9007199254740993123, "who": {"name": "Ann"}}', key="a", headers={"trace": "t-1"})
    page = show(f"topics/{events}")
    page.locator(".events-space .event").first.click()
    detail = page.locator(".detail")
    expect(detail.locator(".json")).to_contain_text('"id": 9007199254740993123')
    assert '\n  "who": {\n    "name": "Ann"\n  }' in detail.locator(".json").inner_text()
    expect(detail).to_contain_text("trace")
    expect(detail).to_contain_text("t-1")


def test_a_long_value_is_cut_until_it_is_asked_for(show, events):
    with Producer() as producer:
        producer.send(events, {"text": "x" * 40_000, "end": "the very end"})
    page = show(f"topics/{events}")
    page.locator(".events-space .event").first.click()
    expect(page.locator(".detail")).not_to_contain_text("the very end")
    page.get_by_role("button", name="Show it whole").click()
    expect(page.locator(".detail")).to_contain_text("the very end")


def test_events_are_found_by_key_text_and_offset(show, events):
    send(events, range(300))
    page = show(f"topics/{events}")
    live(page)
    page.get_by_label("Key").fill("key-3")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".search-told")).to_contain_text("43 events found")
    page.get_by_label("Key").fill("")
    page.get_by_label("Text").fill('"number":123}')
    page.get_by_label("Text").press("Enter")
    expect(page.locator(".search-told")).to_contain_text("1 event found")
    assert shown(page) == ['{"number":123}']
    assert "contains=" in page.url
    page.get_by_label("Text").fill("")
    page.get_by_label("Partition").fill("1")
    page.get_by_label("From offset").fill("0")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".search-told")).to_have_text(re.compile(r"^\d{2,3} events found"))
    assert page.locator(".events-space .event").first.inner_text().split()[1].startswith("1:")
    page.get_by_role("button", name="Back to the tail").click()
    expect(page.locator(".tail-numbers")).to_be_visible()


def test_events_are_found_from_a_time_on(show, events):
    send(events, range(5))
    moment = int(time.time()) + 1
    until(lambda: time.time() > moment)
    send(events, [7, 8])
    page = show(f"topics/{events}", timezone_id="Asia/Kolkata")  # whose clocks are half an hour off
    live(page)
    local = datetime.fromtimestamp(moment, timezone(timedelta(hours=5, minutes=30)))
    page.get_by_label("From time").fill(f"{local:%Y-%m-%dT%H:%M:%S}")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".search-told")).to_contain_text("2 events found")
    assert sorted(shown(page)) == ['{"number":7}', '{"number":8}']
    page.get_by_label("From time").fill(f"{local + timedelta(days=1):%Y-%m-%dT%H:%M:%S}")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".events .none")).to_have_text("No event fits.")


def test_a_topic_with_nothing_in_it_says_so_until_something_comes(show, events):
    page = show(f"topics/{events}")
    live(page)
    expect(page.get_by_text("What is sent to the topic appears here.")).to_be_in_viewport()
    send(events, [1])
    expect(page.get_by_text('{"number":1}')).to_be_visible()
    expect(page.get_by_text("What is sent to the topic appears here.")).to_be_hidden()


def test_escape_closes_the_event_wherever_the_focus_is(show, events):
    send(events, range(3))
    page = show(f"topics/{events}")
    live(page)
    for focused in (page.locator(".events-view"), page.get_by_role("button", name="Copy value")):
        page.locator(".events-space .event").first.click()
        expect(page.locator(".detail")).to_be_visible()
        focused.focus()
        page.keyboard.press("Escape")
        expect(page.locator(".detail")).to_be_hidden()
        expect(page.locator(".events-view")).to_be_focused()
    live(page)


def test_events_are_chosen_with_the_arrow_keys(show, events):
    send(events, range(20))
    page = show(f"topics/{events}")
    live(page)
    page.locator(".events-view").focus()
    page.keyboard.press("ArrowDown")
    first = page.locator('.event[aria-selected="true"]').inner_text()
    expect(page.locator(".detail")).to_be_visible()
    page.keyboard.press("ArrowDown")
    assert page.locator('.event[aria-selected="true"]').inner_text() != first
    page.keyboard.press("p")
    live(page)
    page.keyboard.press("p")
    expect(page.locator(".tail-state")).to_have_text("Paused")


def test_the_tail_fits_a_phone(show, events):
    send(events, range(50), text="a long text that does not fit " * 10)
    page = show(f"topics/{events}", viewport=PHONE)
    live(page)
    page.locator(".events-space .event").first.click()
    expect(page.locator(".detail")).to_be_visible()
    expect(page.locator(".tail-state")).to_have_text("Paused while you read")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
