"""The programs in examples/ run, end by themselves, and come to the right result."""

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


def run(name: str, folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", FOLDER / name], cwd=folder, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return done.stdout.decode().splitlines()


def test_every_example_is_tested():
    assert sorted(path.name for path in FOLDER.glob("*.py")) == sorted(PRINTED)


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints_its_result(name, cluster, tmp_path):
    printed = run(name, tmp_path)
    assert [re.sub(r"\(ann.*?\)|\(bob.*?\)", "(*)", line) for line in printed] == PRINTED[name]


def test_an_example_can_be_run_again(cluster, tmp_path):
    first, second = (run("audit_log.py", tmp_path) for _ in range(2))
    assert first == second == PRINTED["audit_log.py"]
