"""Queries run in processes of their own, which are kept, end with us, and answer nobody else."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from headrace.core.errors import ViewError

ENDLESS = "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) as n from t"
ASK = f"""
import sys
from pathlib import Path
from headrace.serve.reading import Reading
store = Reading(Path(sys.argv[1]), "t")
store.query("select 1 as n", (), 1, 5.0)
print("begun", flush=True)
store.query("{ENDLESS}", (), 1, 300.0)
"""


@pytest.fixture
def store(stored):
    return stored([(str(n), {"id": n}) for n in range(100)], "id int")


def ask(store, sql="select count(*) as n from t", timeout=5.0):
    return store.query(sql, (), 10, timeout)


def runners(of=None):
    return {one.pid for one in psutil.Process(of).children() if "headrace.serve.runner" in one.cmdline()}


def test_a_process_is_kept_for_the_next_query(store):
    ask(store)
    before = runners()
    for _ in range(5):
        assert ask(store) == [{"n": 100}]
        with pytest.raises(ViewError):
            ask(store, "select nothing")
    assert runners() == before


def test_many_may_ask_at_once_and_few_processes_stay(store):
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: ask(store, f"select {n} as n"), range(40)))
    assert found == [[{"n": n}] for n in range(40)]
    assert len(runners()) <= 4


def test_a_process_that_is_gone_is_replaced(store):
    ask(store)
    for pid in runners():
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert ask(store) == [{"n": 100}]


def test_a_process_that_is_killed_at_work_is_told(store):
    ask(store)
    killed = threading.Timer(0.5, lambda: [os.kill(pid, signal.SIGKILL) for pid in runners()])
    killed.start()
    with pytest.raises(ViewError, match="its process ended with the status -9"):
        ask(store, ENDLESS, timeout=60)
    killed.join()
    assert ask(store) == [{"n": 100}]


@pytest.fixture
def interruptible():
    """Whoever starts the tests in the background may have had them ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_who_is_interrupted_does_not_leave_an_answer_to_the_next(store, interruptible):
    ask(store)
    interrupt = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        ask(store, ENDLESS, timeout=60)
    interrupt.join()
    assert ask(store) == [{"n": 100}]


def test_a_process_ends_with_who_asked(store):
    """Also with one that is killed, and in the middle of a query."""
    command = [sys.executable, "-c", ASK.replace("300.0", "2.0"), str(store.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asker:
        assert asker.stdout.readline() == "begun\n"
        left = [psutil.Process(pid) for pid in runners(asker.pid)]
        assert len(left) == 1
        asker.kill()
    _, alive = psutil.wait_procs(left, 30)
    assert not alive


def test_a_fork_has_processes_of_its_own(store):
    ask(store)
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writing, str(ask(store, "select count(*) + 1 as n from t")).encode())
        os._exit(0)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and os.waitpid(child, os.WNOHANG) == (0, 0):
        assert ask(store) == [{"n": 100}]
    assert os.read(reading, 100) == b"[{'n': 101}]"
    os.close(reading)
    os.close(writing)
