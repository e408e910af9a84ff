"""A Chromium for tests, measurements and pictures."""

import subprocess
from pathlib import Path

from playwright.sync_api import Browser, Playwright

_SCRIPT = Path(__file__).with_name("chromium.sh")
_PATIENCE = 600.0  # seconds: it may have to be installed
_FLAGS = [
    "--no-sandbox",  # tests run as root in containers
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class NoBrowserError(Exception):
    """There is no Chromium, and none can be installed."""


def launch(playwright: Playwright) -> Browser:
    """Start it, installed first where that is needed and possible.

    Raises:
        NoBrowserError: It is not; the message says why.
    """
    done = subprocess.run([_SCRIPT], capture_output=True, text=True, timeout=_PATIENCE, check=False)
    if done.returncode:
        raise NoBrowserError(done.stderr.strip()[-500:])
    return playwright.chromium.launch(executable_path=done.stdout.strip().splitlines()[-1], args=_FLAGS)
