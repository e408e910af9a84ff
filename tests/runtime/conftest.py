"""Programs on the shared broker, in the Spark session of the test run."""

import time
import uuid
from collections.abc import Callable, Iterator

import pytest

import headrace as hr
from headrace.log import Consumer, Producer, Topics


@pytest.fixture
def name(cluster) -> str:
    """A name that no other test has, for a program and its topics."""
    return f"run-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def app(name) -> Iterator[hr.App]:
    """A program that is stopped after the test."""
    app = hr.App(name)
    yield app
    app.stop()


@pytest.fixture
def source(name) -> str:
    """A topic of two partitions for a program to read."""
    with Topics() as topics:
        topics.create(f"{name}-in", partitions=2)
    return f"{name}-in"


def send(topic, events, key=None):
    with Producer() as producer:
        for event in events:
            producer.send(topic, event, key=str(event[key]) if key else None)


def read(topic):
    with Consumer(topic, follow=False) as consumer:
        return list(consumer)


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something that another thread or process brings about."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
