"""Alerts as an operator has them: they fire, are acknowledged and silenced, and resolve while one looks."""

from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from headrace.log import Producer, Topics


@pytest.fixture
def alert(name):
    """Have an alert of a rule of its own fire or resolve."""
    with Topics() as topics:
        topics.create("alerts", partitions=1, exist_ok=True)
    since = datetime.now(UTC).isoformat()

    def tell(state: str, shop: str = "S07", severity: str = "critical") -> None:
        row = {
            "id": f"{name}-{shop}",
            "alert": f"inventory/{name}/{shop}",
            "rule": name,
            "program": "inventory",
            "key": {"shop": shop},
            "state": state,
            "severity": severity,
            "message": f"<i>bread</i> in {shop}: only 4 left",
            "row": {"shop": shop, "units": 4},
            "since": since,
            "at": datetime.now(UTC).isoformat(),
        }
        with Producer() as producer:
            producer.send("alerts", row, key=f"inventory/{name}/{shop}")

    return tell


def test_an_alert_fires_is_acknowledged_and_resolves_before_ones_eyes(show, alert, name):
    page = show(f"alerts/{name}")
    expect(page.get_by_text("No alert fires")).to_be_visible()
    alert("firing")
    card = page.locator("article.alert")
    expect(card).to_contain_text("<i>bread</i> in S07: only 4 left")
    expect(card).to_contain_text("critical")
    card.get_by_role("button", name="Acknowledge").click()
    page.get_by_label("Comment").fill("on it")
    page.get_by_role("dialog").get_by_role("button", name="Acknowledge").click()
    expect(card).to_contain_text("acknowledged by dashboard: on it")
    alert("resolved")
    expect(card).to_have_count(0)
    history = page.get_by_role("table", name="History of alerts").locator("tbody tr")
    expect(history).to_have_count(2)
    expect(history.first).to_contain_text("resolved")


def test_an_alert_whose_program_is_gone_is_resolved_by_hand(show, alert, name):
    alert("firing")
    page = show(f"alerts/{name}")
    card = page.locator("article.alert")
    card.get_by_role("button", name="Resolve").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("whose rule or program is gone")
    dialog.get_by_role("button", name="Resolve").click()
    expect(card).to_have_count(0)
    history = page.get_by_role("table", name="History of alerts").locator("tbody tr")
    expect(history.first).to_contain_text("resolved")


def test_an_alert_leads_from_the_overview_to_its_rule(show, alert, name):
    alert("firing")
    page = show("overview")
    problem = page.locator(f'.problems a[href="#/alerts/{name}"]')
    expect(problem).to_contain_text("only 4 left")
    expect(page.locator('nav a[href="#/alerts"] .count')).not_to_be_empty()
    problem.click()
    expect(page.locator("article.alert")).to_contain_text("only 4 left")
    alert("resolved")


def test_alerts_of_one_rule_are_one_line_of_the_overview(show, alert, name):
    shops = [f"S{number:02}" for number in range(1, 13)]
    for shop in shops:
        alert("firing", shop)
    page = show("overview")
    problem = page.locator(".problems a").filter(has_text=name)
    expect(problem).to_contain_text(f"{name}: 12 alerts, such as: <i>bread</i> in S")
    expect(problem).to_have_count(1)
    expect(page.locator(".alert-short li").filter(has_text=f"{name}: 12 alerts")).to_have_count(1)
    problem.focus()
    alert("resolved", "S12")
    expect(problem).to_contain_text(f"{name}: 11 alerts")
    expect(problem).to_be_focused()
    problem.click()
    expect(page.locator("article.alert")).to_have_count(11)
    for shop in shops:
        alert("resolved", shop)


def test_a_link_of_the_history_keeps_the_focus_while_alerts_come(show, alert, name):
    alert("firing")
    page = show(f"alerts/{name}")
    history = page.get_by_role("table", name="History of alerts").locator("tbody tr")
    history.last.get_by_role("link", name=name).focus()
    alert("resolved")
    expect(history).to_have_count(2)
    expect(history.last).to_contain_text("fires")
    expect(history.last.get_by_role("link", name=name)).to_be_focused()


def test_a_severity_that_is_none_is_a_note(show, alert, name):
    alert("firing", severity="constructor")
    page = show(f"alerts/{name}")
    expect(page.locator("article.alert.info")).to_contain_text("constructor")
    alert("resolved", severity="constructor")


def test_an_alert_is_silenced_for_its_key_and_the_silence_is_ended(show, alert, name):
    alert("firing", "S07")
    alert("firing", "S08")
    page = show(f"alerts/{name}")
    cards = page.locator("article.alert")
    expect(cards).to_have_count(2)
    cards.filter(has_text="S07").get_by_role("button", name="Silence").click()
    page.get_by_label("For", exact=True).select_option("4 hours")
    page.get_by_role("dialog").get_by_role("button", name="Silence").click()
    expect(cards.filter(has_text="S07")).to_contain_text("silenced until")
    expect(cards.filter(has_text="S08")).not_to_contain_text("silenced until")
    silences = page.get_by_role("table", name="Silences").locator("tbody tr")
    expect(silences).to_contain_text("shop S07")
    silences.get_by_role("button", name="End").click()
    page.get_by_role("dialog").get_by_role("button", name="End the silence").click()
    expect(silences).to_have_count(0)
    expect(cards.filter(has_text="S07")).not_to_contain_text("silenced until")
    alert("resolved", "S07")
    alert("resolved", "S08")
