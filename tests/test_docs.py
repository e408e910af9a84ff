"""Every example in the documentation does what its page says."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from headrace.cli.main import app
from headrace.core.errors import HeadraceError
from headrace.core.settings import Settings
from headrace.log.broker.cluster import Cluster
from tests.pages import FENCE, PageError, blocks, commands, run, unmet

ROOT = Path(__file__).parent.parent
RUNNER = Path(__file__).with_name("pages.py")
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
OWN_HOME = "<!-- with a broker of its own -->"  # a page that starts and stops a broker must not stop the shared one


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def reader(tmp_path, monkeypatch) -> None:
    """Be where a reader is who tries a page: in an empty folder, with the command at hand."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "200")  # the width of the tests' terminal is nobody's business
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]  # the next page may have one of that name


@pytest.mark.parametrize("page", [page for page in PAGES if OWN_HOME not in page.read_text("utf-8")], ids=_name)
def test_a_page_does_what_it_says(page, cluster, reader):
    """In this process, where Spark runs already: to start it takes longer than most pages."""
    run(page)


@pytest.mark.parametrize("page", [page for page in PAGES if OWN_HOME in page.read_text("utf-8")], ids=_name)
def test_a_page_with_a_broker_of_its_own_does_what_it_says(page, tmp_path, monkeypatch, reader):
    monkeypatch.delenv("HEADRACE_HOME", raising=False)
    try:
        done = subprocess.run([sys.executable, RUNNER, page], capture_output=True, timeout=170, check=False)
    finally:
        for left in tmp_path.rglob("cluster.json"):
            Cluster(Settings(home=left.parent)).erase()
    assert done.returncode == 0, f"{done.stdout.decode()}\n{done.stderr.decode()}"


def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path):
    mkdocs = Path(sys.executable).with_name("mkdocs")
    command = [mkdocs, "build", "--strict", "--quiet", "--config-file", ROOT / "mkdocs.yml", "--site-dir", tmp_path]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    for page in tmp_path.rglob("*.html"):
        text = page.read_text("utf-8")
        assert not re.search(r"<(script|link|img)[^>]+(src|href)=.https?:", text), page
        assert FENCE not in text, f"{page} has a fence that Markdown did not understand"


def test_every_error_is_explained():
    def leaves(kind: type[HeadraceError]) -> Iterator[str]:
        yield kind.__name__
        for below in kind.__subclasses__():
            if below.__module__ == kind.__module__:
                yield from leaves(below)

    explained = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/errors.md").read_text("utf-8"), re.MULTILINE)
    assert sorted({"HeadraceError", *explained}) == sorted(leaves(HeadraceError))


def test_every_command_is_described():
    def names(command: Any, prefix: str) -> Iterator[str]:
        if not hasattr(command, "commands"):
            yield prefix
        for name, below in getattr(command, "commands", {}).items():
            yield from names(below, f"{prefix} {name}")

    described = re.findall(r"^## (headrace .+)$", (ROOT / "docs/cli.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(described) == sorted(names(typer.main.get_command(app), "headrace"))


def test_every_page_can_be_reached():
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    missing = [page for page in PAGES[1:] if str(page.relative_to(ROOT / "docs")) not in nav]
    assert not missing


def test_pages_give_no_absolute_path_of_whoever_wrote_them():
    found = [page for page in PAGES if re.search(r"(?<![\w.])/(home|root|work|Users|tmp)/", page.read_text("utf-8"))]
    assert not found


def test_a_block_that_never_ends_or_has_a_mistaken_word_is_an_error():
    with pytest.raises(PageError, match="does not end"):
        list(blocks(f"{FENCE}python\nprint(1)\n"))
    with pytest.raises(PageError, match="'skip' after 'python' means nothing"):
        list(blocks(f"{FENCE}python skip\nprint(1)\n{FENCE}\n"))


def test_blocks_tell_their_language_line_and_exit_code():
    page = f"# A page\n\n{FENCE}python norun\nx\n{FENCE}\n\n{FENCE}console exit=2\n$ false\n{FENCE}\n"
    [block] = blocks(page)
    assert (block.language, block.line, block.exit, block.code) == ("console", 8, 2, "$ false")


def test_commands_come_with_what_they_are_shown_to_print():
    assert commands("$ cat <<end\n> a\n> end\na\n\n$ true") == [("cat <<end\na\nend", ["a"]), ("true", [])]
    with pytest.raises(PageError, match=r"begins with '\$ '"):
        commands("true")


@pytest.mark.parametrize(
    ("shown", "printed", "first_unmet"),
    [
        (["a  b"], "x\na b\ny", None),
        (["a … c"], "a b c", None),
        (["a", "b"], "b\na", "b"),
        (["a.c"], "abc", "a.c"),
        (["a", "a"], "a", "a"),
        (["a"], "ab", "a"),
    ],
)
def test_shown_lines_must_be_printed_in_order(shown, printed, first_unmet):
    assert unmet(shown, printed) == first_unmet
