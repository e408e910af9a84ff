"""A topic of alerts for each test."""

import uuid

import pytest

from headrace.alerts import AlertLog
from headrace.alerts.topics import create
from headrace.log import Topics


@pytest.fixture
def alerts(cluster) -> str:
    """A topic as programs create it."""
    name = f"alerts-{uuid.uuid4().hex[:8]}"
    with Topics() as topics:
        create(topics, name)
    return name


@pytest.fixture
def log(alerts):
    with AlertLog(topic=alerts) as log:
        yield log
