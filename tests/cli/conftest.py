"""The command line inside this process, for the many wrong ways to call it."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from headrace.cli.main import main
from tests.conftest import Run


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Like ``headrace``, without a process of its own, a standard input or a terminal."""

    def run(*arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        with monkeypatch.context() as patch, pytest.raises(SystemExit) as ended:
            patch.chdir(tmp_path)
            patch.setattr(sys, "argv", ["headrace", *arguments])
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            main()
        printed = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), printed.out, printed.err)

    return run


@pytest.fixture
def stopped(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has started no broker."""
    return {"HEADRACE_HOME": str(tmp_path / "empty")}
