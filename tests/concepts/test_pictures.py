"""Pictures are whole by themselves: no fonts, styles or images from elsewhere, readable on light and on dark pages."""

import re
from xml.etree import ElementTree

import pytest

from tests.concepts.page import DOCS

PAGES = [page.read_text("utf-8") for page in DOCS.glob("concepts/*.md")]
PICTURES = sorted({name for page in PAGES for name in re.findall(r"\]\(\.\./images/([\w-]+\.svg)\)", page)})


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_needs_nothing_from_elsewhere(name: str) -> None:
    path = DOCS / "images" / name
    text = path.read_text("utf-8")
    tree = ElementTree.fromstring(text)
    assert tree.find("{*}title") is not None
    assert not re.search(r"href=|@import|@font-face|url\((?!#)", text)
    assert "prefers-color-scheme: dark" in text
    assert tree.find("{*}rect[@class='card']") is not None  # a ground of its own, light or dark with the text


def test_every_picture_has_a_description_on_its_page() -> None:
    assert PICTURES
    assert not [page for page in PAGES if "![](" in page]
