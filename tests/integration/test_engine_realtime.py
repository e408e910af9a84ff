"""Rows within milliseconds: complete, at least once, with their dead letters, and a clean end."""

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from headrace.log import Consumer, Producer, Topics

PROGRAM = Path(__file__).with_name("programs") / "realtime.py"


@pytest.mark.usefixtures("cluster")
def test_rows_are_passed_on_before_any_batch_ends():
    name = f"realtime-{uuid.uuid4().hex[:8]}"
    with Topics() as topics:
        topics.create(f"{name}-in", partitions=2)
        topics.create(f"{name}-out", partitions=2)
    program = subprocess.Popen([sys.executable, PROGRAM, name], stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        with Producer() as producer:
            producer.send(f"{name}-in", b"no JSON")
            for number in range(100):
                producer.send(f"{name}-in", {"id": number, "sent": 0.0}, key=str(number))
        seen = set()
        with Consumer(f"{name}-out") as consumer:
            while len(seen) < 50:  # a checkpoint comes after five minutes only: these come before
                event = consumer.poll(120)
                assert event is not None, "nothing came"
                seen.add(event.value["id"])
        assert seen == set(range(0, 100, 2))
        with Consumer(f"{name}-in.dlq") as consumer:
            letter = consumer.poll(60)
        assert letter.raw_value == b"no JSON"
        assert letter.headers["headrace-topic"] == f"{name}-in"
    finally:
        program.send_signal(signal.SIGTERM)
        told = program.communicate(timeout=60)[1]
    assert program.returncode == 0, told
