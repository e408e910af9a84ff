"""The programs in examples/ run, end by themselves, and come to the right result."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
PRINTED = {
    "audit_log.py": [
        "wrote 12 entries: 7800 cents",
        "first auditor: failed after 5 entries, of which 3 are committed",
        "second auditor: 9 entries, 2 of them for the second time",
        "booked 12 entries: 7800 cents",
    ],
    "request_reply.py": [
        "2 x espresso: 1780 cents",
        "3 x oat milk: 657 cents",
        "1 x rye bread: 340 cents",
        "total: 2777 cents",
        "refused: LookupError: nobody sells moon dust",
    ],
    "transfer.py": [
        "aborted: failed in the middle of transfer 5",
        "10 transfers, 1 transaction aborted, 20 postings",
        "bob received 550 cents; all postings together are 0",
    ],
    "work_queue.py": [
        "done 20 of 20 jobs (*); sum 400, expected 400",
        "put aside after 3 tries: {'numbers': 'no numbers'}: "
        "unsupported operand type(s) for +: 'int' and 'str' (try 3 of 3)",
    ],
}

ON_SPARK = {
    "word_count.py": ["sent 9 lines; 11 different words so far", "the       18", "river      6"],
    "stock_market.py": [
        "from   share   low     high    average moving  trades",
        "09:00  ALFA    100.00  107.50  103.75  105.70  12",
        "09:02  KILO    100.00  102.00  101.00  101.20  12",
        "09:00  best gainers: DELTA +10.25 %, ALFA +7.50 %, ECHO +4.75 %",
        "09:02  best gainers: DELTA +8.69 %, ALFA +6.70 %, ECHO +4.48 %",
    ],
    "log_analytics.py": [
        "from   service  requests  errors  median  p95",
        "08:55  search   5         0.0%    17.0    18.8",
        "09:10  shop     20        25.0%   119.5   200.5",
        "alert: shop fails 25.0% from 09:05",
        "alert: shop fails 25.0% from 09:10",
        "example-log-unreadable: 2024-05-01T09:05:00Z shop: cannot reach the database",
        "example-log-lines.dlq: Traceback (most recent call last):",
    ],
    "ad_clicks.py": [
        "from   campaign  impressions  clicked  rate",
        "09:00  boots     30           12       40.0%",
        "09:30  tents     30           7        23.3%",
        "nobody clicked on 133 ads within ten minutes; the first was boots-1",
    ],
    "click_stream.py": [
        "at        who  from    plan  viewed         searched",
        "09:00:25  ann  Sweden  free  /boots/red     boots 25 s before",
        "09:00:25  ann  Sweden  free  /boots/red     red boots 5 s before",
        "09:01:31  bob  Peru    free  /tents         nothing",
        "09:04:59  ann  Sweden  free  /account       nothing",
        "09:06:10  ann  Sweden  paid  /maps/lapland  map of Lapland 10 s before",
        "09:07:30  cyd  ?       ?     /stoves        stove 30 s before",
    ],
    "home_timeline.py": [
        "dee in the morning: cyd: Bread is redy. | ann: The wheel turns again. | bob: Rain at last! | "
        "ann: The mill stands still.",
        "bob at noon: cyd: Bread is ready. | ann: The wheel turns again.",
        "dee at noon: cyd: Bread is ready. | ann: The wheel turns again.",
    ],
    "top_gainers.py": [
        "10:00  Oslo: BRAVO +9.00 %, DELTA +6.50 %, ALFA +4.00 %",
        "11:00  Lima: LIMA -1.00 %, KILO -2.00 %",
        "11:00  Oslo: DELTA +6.50 %, ECHO +5.00 %, ALFA +4.00 %",
    ],
    "wrong_clocks.py": [
        "from   sensor  readings  average  clock ahead",
        "09:00  cellar  4         11.5     0 s",
        "09:00  garden  4         21.5     -600 s",
        "09:01  attic   4         20.5     2400 s",
        "not believed: 8 readings, the first of them from the shed",
        "late: the device's clock is wrong by 31536000.000 s, which is more than 1 h",
    ],
    "ride_prices.py": [
        "area     at        asked  free  factor",
        "harbour  09:00:30  2      1     2.00",
        "harbour  09:02:30  6      2     3.00",
        "harbour  09:08:00  1      0     1.00",
        "station  09:05:00  3      2     1.50",
        "station  09:07:00  2      2     1.00",
    ],
}


def run(name: str, folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", FOLDER / name], cwd=folder, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return done.stdout.decode().splitlines()


def test_every_example_is_tested():
    assert sorted(path.name for path in FOLDER.glob("*.py")) == sorted([*PRINTED, *ON_SPARK])


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints_its_result(name, cluster, tmp_path):
    printed = run(name, tmp_path)
    assert [re.sub(r"\(ann.*?\)|\(bob.*?\)", "(*)", line) for line in printed] == PRINTED[name]


def test_an_example_can_be_run_again(cluster, tmp_path):
    first, second = (run("audit_log.py", tmp_path) for _ in range(2))
    assert first == second == PRINTED["audit_log.py"]


def test_an_example_on_spark_runs_from_the_command_line(cluster, tmp_path):
    command = [sys.executable, "-W", "error", FOLDER / "stock_market.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert not re.search("Traceback|Warning|Exception", done.stderr.decode())
    assert shown(done.stdout.decode(), "stock_market.py") == ON_SPARK["stock_market.py"]


@pytest.mark.parametrize("name", [name for name in ON_SPARK if name != "stock_market.py"])
def test_an_example_on_spark_prints_its_result(name, cluster, capfd):
    """In this process, where Spark runs already: to start it takes longer than an example."""
    importlib.import_module(f"examples.{name.removesuffix('.py')}").main()
    assert shown(capfd.readouterr().out, name) == ON_SPARK[name]


def test_an_example_on_spark_can_be_run_again(cluster, capfd):
    """Its state goes on: the counts grow."""
    counts = []
    for _ in range(2):
        importlib.import_module("examples.word_count").main()
        counts += [int(line.split()[1]) for line in capfd.readouterr().out.splitlines() if line.startswith("the ")]
    assert counts[1] == counts[0] + 18


def shown(printed: str, name: str) -> list[str]:
    """Return those lines of the output that should be there."""
    return [line for line in printed.splitlines() if line in ON_SPARK[name]]
