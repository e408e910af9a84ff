"""A hook of mkdocs: fences of code may have words for the tests, such as ``norun``, which Markdown does not know."""

import re
from typing import Any


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page with nothing but the language behind the opening fences."""
    return re.sub(r"^(```\w+)[^\n`]+$", r"\1", markdown, flags=re.MULTILINE)
