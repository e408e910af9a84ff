"""Write docs/images/dashboard-*.png: every page of a dashboard that runs now, best that of ``headrace demo``.

Without options it takes the dashboard of this home; with ``--url``, ``--token`` and ``--folder`` another one, to
elsewhere, and with ``--every`` light and dark, at the width of a desk and of a phone.

Run it: ``python -m scripts.screenshots``.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, Page, sync_playwright

from scripts.chromium import launch

ROOT = Path(__file__).parent.parent
MOST = 150_000  # bytes of a picture
Options = argparse.Namespace
DESK, PHONE = (1280, 800), (360, 740)


def main() -> None:
    """Visit every page and take its picture."""
    options = parsed()
    url, token = options.url, options.token
    if url is None:
        from headrace.core.settings import Settings  # noqa: PLC0415 - not needed where the address is given

        home = Settings.load().home
        url, token = json.loads((home / "ui.json").read_text())["url"].split("/#")[0], (home / "ui.token").read_text()
    options.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for size, scheme in looks(options.every):
            take(browser, url.rstrip("/"), token.strip(), size=size, scheme=scheme, options=options)
        browser.close()


def parsed() -> Options:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="of the dashboard; that of this home unless given")
    parser.add_argument("--token", default="")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--every", action="store_true", help="light and dark, desk and phone, to look at")
    parser.add_argument("--settle", type=float, default=4.0, help="seconds that a page gets to fill")
    return parser.parse_args()


def looks(every: bool) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield sizes and colour schemes."""
    for size in (DESK, PHONE):
        for scheme in ("light", "dark"):
            if every or (size, scheme) == (DESK, "light"):
                yield size, scheme


def take(browser: Browser, url: str, token: str, *, size: tuple[int, int], scheme: str, options: Options) -> None:
    """Take the pictures of one size in one colour scheme; those for the docs have the overview in others too."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"{url}/#token={quote(token)}")
    page.wait_for_function("document.getElementById('connection').dataset.state === 'open'")
    mark = f"-{'phone' if size == PHONE else 'desk'}-{scheme}" if options.every else ""
    for name, way in ways(page, token):
        page.goto(f"{url}/#/{way}")
        page.wait_for_timeout(options.settle * 1000)
        prepare(page, name)
        shoot(page, options.folder / f"dashboard-{name}{mark}.png")
    if not options.every:
        page.emulate_media(color_scheme="dark")
        page.goto(f"{url}/#/overview")
        page.wait_for_timeout(options.settle * 1000)
        shoot(page, options.folder / "dashboard-dark.png")
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        page.emulate_media(color_scheme="light")
        page.wait_for_timeout(1000)
        shoot(page, options.folder / "dashboard-phone.png")
    context.close()


def ways(page: Page, token: str) -> Iterator[tuple[str, str]]:
    """Yield every page, and one of each kind of thing: the busiest topic, the first query, table, group and report."""

    def first(path: str, field: str, rank: str = "") -> str | None:
        found = page.evaluate(
            "async ([path, token]) => (await fetch(path, {headers: {Authorization: `Bearer ${token}`}})).json()",
            [f"/api/{path}", token],
        )
        rows = sorted(found, key=lambda row: -(row.get(rank) or 0)) if rank else found
        return quote(rows[0][field], safe="") if rows else None

    for name in ("overview", "topology", "queries", "topics", "groups", "tables", "alerts", "dead-letters", "reports"):
        yield name, name
    program = page.evaluate(
        "async (token) => (await (await fetch('/api/programs', {headers: {Authorization: `Bearer ${token}`}})).json())"
        ".flatMap((one) => one.stages.map((stage) => stage.name))[0]",
        token,
    )
    singles = {
        "query": ("queries", quote(program, safe="") if program else None),
        "tail": ("topics", first("topics", "name", "rate")),
        "group": ("groups", first("groups", "name")),
        "table": ("tables", first("tables", "name", "rows")),
        "letters": ("dead-letters", first("dead-letters", "topic")),
        "report": ("reports", first("reports", "name")),
    }
    for name, (kind, thing) in singles.items():
        if thing:
            yield name, f"{kind}/{thing}"


def prepare(page: Page, name: str) -> None:
    """Open what a page would otherwise hide."""
    if name == "tail" and page.locator(".events-space .event:not([hidden])").count():
        page.get_by_role("button", name="Pause").click()
        page.locator(".events-space .event").nth(2).click()
        page.wait_for_timeout(300)
    if name == "table":
        page.get_by_role("button", name="Run").click()
        page.wait_for_timeout(1000)


def shoot(page: Page, path: Path) -> None:
    """Write a picture, and say if it is too large for the docs."""
    page.screenshot(path=path)
    size = path.stat().st_size
    print(f"{path} {size // 1000} KB{' TOO LARGE' if size > MOST else ''}")


if __name__ == "__main__":
    main()
