"""Run the code of a page as its reader would: block after block, in the current folder.

A page is Markdown. Its ```python blocks are one program; its ```console blocks are commands (lines that begin with
``$ ``, continued by lines that begin with ``> ``) and what they print; a ```text block right after a ```python block
is what that one prints. Printed lines that the page shows must be printed, in that order, where ``…`` stands for
anything and the width of gaps does not matter. ``norun`` after the language leaves a block out; ``exit=1`` tells how
its commands end.

By hand: ``.venv/bin/python tests/pages.py docs/tutorial.md`` in an empty folder, with a path that fits.
"""

import contextlib
import io
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.cli.main import main

FENCE = "```"
RUN = ("python", "console")
# Commands that need no shell and end by themselves: most of the time of a page would go into starting Python for them.
INSIDE = re.compile(r"headrace (alert|dlq|explain|group|query|status|table|topic)\b[^\n|&;<>$`*{}~]*")


class PageError(Exception):
    """The page does not do what it says."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code: its language, the further words of its fence, and where in the page it begins."""

    language: str
    words: tuple[str, ...]
    line: int
    code: str

    @property
    def exit(self) -> int:
        return next((int(word.removeprefix("exit=")) for word in self.words if word.startswith("exit=")), 0)


def blocks(text: str) -> Iterator[Block]:
    """Return the blocks of a page in order, those that are not to be run left out."""
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if not line.startswith(FENCE):
            continue
        language, *words = line.removeprefix(FENCE).split() or [""]
        if wrong := [word for word in words if not re.fullmatch(r"norun|exit=\d+", word)]:
            raise PageError(f"line {number}: {wrong[0]!r} after {language!r} means nothing")
        code = []
        for _, inside in lines:
            if inside == FENCE:
                break
            code.append(inside)
        else:
            raise PageError(f"line {number}: the block does not end")
        if "norun" not in words:
            yield Block(language, tuple(words), number + 1, "\n".join(code))


def commands(code: str) -> list[tuple[str, list[str]]]:
    """Return the commands of a console block, each with the lines that it is shown to print."""
    found: list[tuple[str, list[str]]] = []
    for line in code.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        elif not found:
            raise PageError(f"a console block begins with '$ ', not with {line!r}")
        elif (line == ">" or line.startswith("> ")) and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        elif line.strip():
            found[-1][1].append(line)
    return found


def unmet(shown: Sequence[str], printed: str) -> str | None:
    """Return the first line that is shown but not printed, or None if all are, in their order."""
    rest = iter(_plain(line) for line in printed.splitlines())
    for line in shown:
        parts = (re.escape(part) for part in _plain(line).split("…"))
        pattern = re.compile(".*".join(parts))
        if not any(pattern.fullmatch(candidate) for candidate in rest):
            return line
    return None


def run(page: Path) -> None:
    """Run the blocks of ``page``, or raise `PageError` at the first that fails or prints something else."""
    program: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    before = ""
    for block in blocks(page.read_text("utf-8")):
        if block.language == "python":
            printed = _run_python(page, block, program)
        elif block.language == "console":
            _run_console(page, block)
        elif block.language == "text" and before == "python":
            _compare(page, block, block.code.splitlines(), printed)
        before = block.language


def _run_python(page: Path, block: Block, program: dict[str, Any]) -> str:
    padding = "\n" * (block.line - 1)  # so that a traceback tells the page's own lines
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(padding + block.code, page, "exec"), program)
    print(printed.getvalue(), end="")
    return printed.getvalue()


def _run_console(page: Path, block: Block) -> None:
    for command, shown in commands(block.code):
        code, printed = (_inside if INSIDE.fullmatch(command) else _outside)(command)
        print(f"$ {command}\n{printed}", end="", flush=True)
        if code != block.exit:
            raise PageError(f"{page}:{block.line}: {command!r} ended with {code}, not {block.exit}")
        _compare(page, block, shown, printed)


def _outside(command: str) -> tuple[int, str]:
    """Have a shell run a command; return how it ended and what it printed."""
    done = subprocess.run(
        command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.returncode, done.stdout.decode()


def _inside(command: str) -> tuple[int, str]:
    """Run a command of ours in this process, which has everything loaded, as a shell would run it in another."""
    code: object = 0
    before, sys.argv = sys.argv, shlex.split(command)
    with tempfile.TemporaryFile() as file, open(file.fileno(), "w", closefd=False, encoding="utf-8") as text:
        try:
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
                main()
        except SystemExit as ended:
            code = ended.code
        finally:
            sys.argv = before
        text.flush()
        file.seek(0)
        return int(str(code or 0)), file.read().decode()


def _compare(page: Path, block: Block, shown: Sequence[str], printed: str) -> None:
    if (line := unmet([line for line in shown if line.strip()], printed)) is not None:
        raise PageError(f"{page}:{block.line}: shown but not printed: {line!r}; printed was:\n{printed}")


def _plain(line: str) -> str:
    return " ".join(line.split())


if __name__ == "__main__":
    sys.path.insert(0, "")  # what the page has written into the folder can be imported
    run(Path(sys.argv[1]))
