"""How soon the managed broker is ready, what it takes, and how soon a command answers."""

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import psutil

from headrace.log.broker import process
from headrace.log.broker.cluster import Cluster


def first_start(cluster: Cluster) -> tuple[float, int]:
    """Return seconds until ready, formatting included, and the resident bytes then."""
    begun = time.perf_counter()
    cluster.up()
    taken = time.perf_counter() - begun
    return taken, _memory(cluster)


def later_start(cluster: Cluster) -> float:
    """Return the median seconds until ready of a broker that has been there before."""
    seconds = []
    for _ in range(3):
        cluster.down()
        begun = time.perf_counter()
        cluster.up()
        seconds.append(time.perf_counter() - begun)
    return median(seconds)


def topic_list() -> float:
    """Return the median seconds that ``headrace topic list`` takes, as a process of its own."""
    command = [str(Path(sys.executable).with_name("headrace")), "topic", "list"]
    seconds = []
    for _ in range(7):
        begun = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=os.environ)
        seconds.append(time.perf_counter() - begun)
    return median(seconds)


def _memory(cluster: Cluster) -> int:
    running = process.find(cluster.nodes()[0])
    assert running is not None
    return int(psutil.Process(running.pid).memory_info().rss)
