"""Measure the other tools: ``python -m bench.others.run [EVENTS]`` on a broker of its own, or `rates` on another's."""

import hashlib
import os
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import get_args

from bench.others.data import EVENTS, Job, check, create, delete, fill
from headrace.core.jars import cache_folder
from headrace.core.settings import Settings
from headrace.log.broker.cluster import Cluster

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements.txt"
PYTHON = ">=3.11,<3.13"  # what all of the requirements have wheels for
TOOLS = {"Quix Streams": "quix_jobs", "Bytewax": "bytewax_jobs"}


def rates(
    brokers: str,
    job: Job,
    *,
    events: str = "others-events",
    profiles: str = "others-profiles",
    count: int = EVENTS,
    cache: Path | None = None,
    checked: bool = False,
) -> dict[str, float]:
    """Return the events per second of each tool, run in turn, from the first row of its output to the last.

    Args:
        brokers: Addresses of the brokers that have the topics.
        job: ``enrich`` or ``average``.
        events: Topic that `fill` has written.
        profiles: The other one.
        count: How many events it has.
        cache: Folder for the environment of the tools; beside Headrace's jars unless told.
        checked: Whether each answer is compared with a plain computation, which takes about as long as the job.
    """
    python = environment(cache or cache_folder().parent / "others")
    found: dict[str, float] = {}
    for tool, program in TOOLS.items():
        out = f"others-{uuid.uuid4().hex[:8]}"
        create(brokers, out, "LogAppendTime")
        command = [str(python), "-m", f"bench.others.{program}", job, brokers, events, profiles, out, str(count)]
        done = subprocess.run(command, cwd=HERE.parent.parent, stdout=subprocess.PIPE, check=True, text=True)
        if checked:
            check(brokers, job, out, count)
        delete(brokers, out)
        found[tool] = float(done.stdout.splitlines()[-1])
    return found


def environment(cache: Path) -> Path:
    """Return a Python that has the requirements; the first time it is made, which needs a network."""
    folder = cache / hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        uv = [sys.executable, "-m", "uv"]
        subprocess.run([*uv, "venv", "--quiet", "--clear", "--python", PYTHON, folder], check=True)
        subprocess.run([*uv, "pip", "install", "--quiet", "--python", python, "-r", REQUIREMENTS], check=True)
        ready.touch()
    return python


def main(count: int = EVENTS) -> None:
    """Print the rates of both jobs; their answers are checked."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HEADRACE_HOME"] = folder
        os.environ.pop("HEADRACE_BROKERS", None)
        cluster = Cluster(Settings.load())
        try:
            brokers = cluster.up()
            fill(brokers, "others-events", "others-profiles", count)
            for job in get_args(Job):
                for tool, rate in rates(brokers, job, count=count, checked=True).items():
                    print(f"{job}\t{tool}\t{rate:,.0f} events/s", flush=True)
        finally:
            cluster.erase()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
