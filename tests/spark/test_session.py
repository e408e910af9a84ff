"""The session that all programs of a process share."""

import subprocess
import sys
from pathlib import Path

import pytest

from headrace.spark.session import LATER, SOON, session


@pytest.mark.parametrize("pool", [SOON, LATER])
def test_jobs_of_a_pool_run_in_the_order_in_which_they_came(pool):
    found = session().sparkContext._jsc.sc().getPoolForName(pool).get()
    assert found.schedulingMode().toString() == "FIFO"


@pytest.mark.whole
def test_queries_of_a_busy_spark_take_turns():
    """In a Spark of its own, whose stages get a second and a third digit: as text, 99 comes after 100."""
    done = subprocess.run([sys.executable, Path(__file__).with_name("turns.py")], capture_output=True, check=True)
    assert [int(line) < 5 for line in done.stdout.split()] == [True, True], done.stdout
