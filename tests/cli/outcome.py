"""What a command told, and whether it refused as it should."""

import json
import re
import subprocess
from typing import Any


def rows(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """Return the JSON lines of a command that went well."""
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def row(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the one JSON object of a command that went well."""
    (only,) = rows(done)
    return only


def told(done: subprocess.CompletedProcess[str]) -> str:
    """Return what went to standard error as one line, without frames."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", done.stderr).split())


def refused(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """Check that a command failed with ``code``, without a stack trace, and said why and what to do."""
    said = told(done)
    assert done.returncode == code, f"exit code {done.returncode}: {said}"
    assert "Traceback" not in done.stderr + done.stdout, said
    assert "Headrace failed" not in said, said
    missing = [word for word in words if word not in said]
    assert not missing, f"{missing} not in: {said}"
