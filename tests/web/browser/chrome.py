"""A real Chromium, and a page of the dashboard in it that remembers what went wrong."""

import re

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

from scripts import chromium

DESK, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
_PATIENCE = 20_000  # milliseconds for something to appear: the broker may have hundreds of topics of other tests
expect.set_options(timeout=_PATIENCE)


def launch(playwright: Playwright) -> Browser:
    """Start a Chromium; where there can be none, the tests are skipped, and say so."""
    try:
        return chromium.launch(playwright)
    except chromium.NoBrowserError as error:
        pytest.skip(f"NO BROWSER, so the dashboard is not tested: {error}")


def hide(page: Page, hidden: bool) -> None:
    """Tell a page that nobody sees it, or that somebody does again: a browser without a screen never does."""
    page.evaluate("hidden => Object.defineProperty(document, 'hidden', {value: hidden, configurable: true})", hidden)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


class Tab:
    """A tab of its own, with what it logged, asked for and stumbled over."""

    def __init__(self, browser: Browser, base: str, token: str, **options: object) -> None:
        self.base, self.token = base, token
        self.context = browser.new_context(**{"viewport": DESK, "reduced_motion": "reduce", **options})  # type: ignore[arg-type]
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(_PATIENCE)
        self.troubles: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda said: said.type == "error" and self.troubles.append(said.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, way: str = "overview") -> Page:
        """Open a page as somebody does who got the address from the command line."""
        if self.page.url.startswith(self.base):
            self.page.goto(f"{self.base}/#/{way}")
        else:
            self.page.goto(f"{self.base}/#token={self.token}")
            expect(self.page).not_to_have_url(re.compile("token"))  # to wait in the page is more than its policy allows
            if way != "overview":
                self.page.goto(f"{self.base}/#/{way}")
        return self.page

    def close(self) -> None:
        self.context.close()
