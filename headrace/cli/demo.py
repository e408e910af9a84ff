"""headrace demo: the retail mesh, end to end, with the dashboard."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

import headrace
from headrace.cli.output import say
from headrace.core.errors import AlreadyRunningError, HeadraceError, SetupError
from headrace.core.lock import held
from headrace.core.settings import Settings
from headrace.log.broker.cluster import Cluster
from headrace.log.consumer import Consumer
from headrace.log.topics import Topics
from headrace.spark.session import ONE_TASK

PROGRAMS = ("gateway", "analytics", "loyalty", "inventory", "fraud", "finance", "shipment", "watch", "lake")
_HOME = "demo"  # in the home folder: nobody else's data are touched, and each demo begins anew
_UNWATCHED = 300.0  # seconds of results where there is no terminal
_EVERY = 2.0  # seconds between two lines there
_TICK = 0.2  # seconds between two looks
_FIRST = 15.0  # seconds for the first results of a program before the next starts: what is looked at comes first
_REPORTED = ("revenue", "rewards", "fraud")  # topics of the report
_HISTORY = "25 hours"  # what is compared with
# Of so many programs none needs two cores. Java would take what it may before it cleans up; a fixed room for what lives
# for one batch keeps the rest small.
_LAPTOP = {
    **ONE_TASK,
    "spark.driver.memory": "1400m",
    "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": "192",
    "spark.driver.extraJavaOptions": "-Xms1400m -Xmn800m -XX:-UseAdaptiveSizePolicy",
}
_ENDING = 10.0  # seconds for a child to end


def demo(
    seconds: Annotated[
        float | None,
        typer.Option(min=1, help="How long to show results; until Ctrl-C, or five minutes where there is no terminal."),
    ] = None,
    rate: Annotated[int, typer.Option(min=1, max=20_000, help="Invoices per second.")] = 200,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the dashboard; a free one unless given.")] = 0,
    open_it: Annotated[bool, typer.Option("--open/--no-open", help="Open the dashboard in the browser.")] = True,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the broker running at the end.")] = False,
) -> None:
    """Run the retail mesh: 99 shops and a web shop send invoices, nine programs live on them, a dashboard shows it all.

    It has a broker and a folder of its own, demo in the home folder, and begins anew each time.
    """
    if seconds is None and not sys.stdout.isatty():
        seconds = _UNWATCHED
    root = _root()
    with _broker(keep), _dashboard(root, port, open_it and sys.stdout.isatty()), _tills(root, rate):
        _run(root, seconds)


def _root() -> Path:
    """Return the folder that has ``examples/retail``: the clone, or what the package brings."""
    package = Path(headrace.__file__).parent
    for folder in (package / "_demo", package.parent):
        if (folder / "examples" / "retail" / "gateway.py").is_file():
            return folder
    raise SetupError("the files of the demo are missing; install Headrace again, or run the demo from a clone")


@contextmanager
def _broker(keep: bool) -> Iterator[None]:
    """Have a broker of our own, with nothing in it."""
    base = Settings.load().home.absolute()
    home = base / _HOME
    with held(base / "demo.lock") as ours:
        if not ours:
            raise AlreadyRunningError(f"a demo runs already in {base}; end that one first")
        Cluster(Settings.load(home=home)).erase()
        shutil.rmtree(home, ignore_errors=True)
        os.environ["HEADRACE_HOME"] = str(home)  # for all that we start
        cluster = Cluster(Settings.load())
        begun = time.monotonic()
        os.environ["HEADRACE_BROKERS"] = address = cluster.up(tell=say)
        say(f"Kafka is ready after {time.monotonic() - begun:.1f} s, its data in {os.path.relpath(home)}.")
        try:
            yield
        finally:
            if not keep:
                cluster.down()
            prefix = f"HEADRACE_HOME={os.path.relpath(home)} {command()}"
            state = f"runs on at {address}" if keep else "is stopped"
            say(f"The broker {state}; invoices and results stay until the next demo. See them again:")
            say(f"  {prefix} up && {prefix} topic tail rewards --no-follow")


@contextmanager
def _dashboard(root: Path, port: int, open_it: bool) -> Iterator[None]:
    report = root / "examples" / "retail" / "report"
    arguments = ["--format", "json", "--port", str(port), "--report", str(report), *(["--open"] if open_it else [])]
    with _child(["headrace", "ui", "--leash", *arguments], root, stdout=subprocess.PIPE) as ui:
        assert ui.stdout is not None
        told = ui.stdout.readline()
        if not told:
            raise HeadraceError("the dashboard did not start; what it said is above")
        found = orjson.loads(told)
        token = Path(found["token_file"]).read_text()
        say(f"Dashboard: {found['url']}#token={token}")
        yield


@contextmanager
def _tills(root: Path, rate: int) -> Iterator[None]:
    arguments = ["--rate", str(rate), "--history", _HISTORY, "--leash"]
    with _child(["examples.retail.simulator", *arguments], root):
        say(f"99 shops and a web shop send {rate:,} invoices a second, and the last {_HISTORY} before that.")
        yield


@contextmanager
def _child(module: list[str], root: Path, stdout: int = subprocess.DEVNULL) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a module as a process that does not outlive us, however we end: it ends with its standard input."""
    path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    with subprocess.Popen(
        [sys.executable, "-m", *module],
        stdin=subprocess.PIPE,
        stdout=stdout,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C is for us: we end it in our turn
    ) as child:
        try:
            yield child
        finally:
            child.terminate()
            try:
                child.communicate(timeout=_ENDING)
            except subprocess.TimeoutExpired:
                child.kill()


def _run(root: Path, seconds: float | None) -> None:
    from headrace.cli.programs import load  # noqa: PLC0415 - the engine is loaded when it is needed
    from headrace.runtime.together import together  # noqa: PLC0415 - likewise

    os.environ["RETAIL_LAKE"] = os.path.relpath(Settings.load().home / "lake")
    say("Starting Spark and nine programs, which takes some twenty seconds…")
    folder = root / "examples" / "retail"
    apps = [app for name in PROGRAMS for app in load(str(folder / f"{name}.py"))]
    for app in apps:
        app.options = replace(app.options, spark={**_LAPTOP, **app.options.spark})
    with Topics() as topics:
        for name in _REPORTED:  # the report waits for them, and the last of their programs starts late
            topics.create(name, partitions=2, compact=name == "revenue", exist_ok=True)
    with Consumer("revenue", start="earliest") as revenue:
        together(apps, show=sys.stdout.isatty(), enough=_Watching(revenue, seconds), in_turn=_FIRST)


class _Watching:
    """Looks at the results, says how they grow where there is no terminal, and knows when it is enough."""

    def __init__(self, revenue: Consumer, seconds: float | None) -> None:
        self._revenue, self._seconds = revenue, seconds
        self._minutes: dict[str, dict[str, Any]] = {}
        self._began: float | None = None
        self._told = 0.0

    def __call__(self, programs: Sequence[dict[str, Any]]) -> bool:
        """Whether it is enough."""
        now = time.monotonic()
        until = now + _TICK
        while (event := self._revenue.poll(max(0.0, until - time.monotonic()))) is not None:
            row = event.value
            if row and row["dimension"] == "total":
                self._minutes[row["window_start"]] = row
                self._began = self._began or now
        if self._began and now - self._told >= _EVERY and not sys.stdout.isatty():
            self._told = now
            print(self._line(programs), flush=True)
        return self._began is not None and self._seconds is not None and now - self._began >= self._seconds

    def _line(self, programs: Sequence[dict[str, Any]]) -> str:
        newest = self._minutes[max(self._minutes)]
        stages = [stage for program in programs for stage in program["stages"]]
        lag = sum(stage["lag"] or 0 for stage in stages)
        read = next((stage["rows"] for stage in stages if stage["program"] == "gateway"), 0)
        money = f"{newest['cents'] / 100:,.2f} € of {newest['sales']:,} invoices"
        minute = f"{newest['window_start'][11:16]} UTC"
        return f"{minute} {money} | {read:,} invoices read, {len(stages)} queries, lag {lag:,}"


def command() -> str:
    """Return how to call this command from here: its folder need not be on the PATH."""
    return "headrace" if shutil.which("headrace") else os.path.relpath(sys.argv[0])
