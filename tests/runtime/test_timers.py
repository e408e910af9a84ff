"""Timers by the clock: they ring while nothing comes, and a program that has them can be drained."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import headrace as hr
from headrace.operators.processor import Key
from tests.runtime.conftest import read, send, until


class Reminder(hr.Processor):
    """Tells what came, and once more a while later."""

    def on_rows(self, key: Key, rows: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        key.wake(timedelta(seconds=2))
        return [{"k": key.value, "told": "came"}]

    def on_timer(self, key: Key) -> Iterable[dict[str, Any]]:
        return [{"k": key.value, "told": "rang"}]


def test_a_timer_by_the_clock_rings_while_nothing_comes(app, source, name):
    events = app.stream(source, schema="k string")
    reminded = events.group_by("k").process(Reminder(), "k string, told string", clock="processing")
    reminded.to(f"{name}-told")
    send(source, [{"k": "a"}], key="k")
    with app.start() as run:
        run.drain(timeout=120)
        assert read(f"{name}-told")[0].value == {"k": "a", "told": "came"}
        until(lambda: [event.value["told"] for event in read(f"{name}-told")] == ["came", "rang"])
        send(source, [{"k": "b"}], key="k")
        run.drain(timeout=120)
        assert {"k": "b", "told": "came"} in [event.value for event in read(f"{name}-told")]
