"""How everything is, in a word, and what is wrong, the worst first."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from headrace.core.quantities import show_span
from headrace.web.watch import LogState

Status = Mapping[str, Any]
_BEHIND = {"bad": 60.0, "warning": 5.0}  # seconds of work that a query is behind
_LASTING = {"bad": 300.0, "warning": 60.0}  # seconds for which a batch is under way
_RECENTLY = 300.0  # seconds for which letters that were put aside are told
_FORGOTTEN = timedelta(days=1)  # after which a program that fell is no news
_SEVERE = {"critical": "bad", "warning": "warning"}
_MOST = 50  # problems told
_LONG = 300  # characters of a message


class Problem(NamedTuple):
    """Something that is wrong, and the page that tells more of it."""

    level: str
    text: str
    page: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that can be seen at one moment."""

    programs: Sequence[Status] = ()
    fallen: Sequence[Status] = ()
    log: LogState = field(default_factory=LogState)
    seen: bool = False  # whether there ever was a broker
    managed: bool = True
    alerts: Sequence[Status] = ()
    throughput: float = 0.0

    @property
    def stages(self) -> list[Status]:
        """Return the queries of all programs."""
        return [stage for program in self.programs for stage in program["stages"]]


def overview(scene: Scene) -> dict[str, Any]:
    """Return what the first page shows."""
    problems = sorted(_problems(scene), key=lambda problem: problem.level)[:_MOST]  # bad comes before warning
    return {
        "health": _health(scene, problems),
        "problems": [problem._asdict() for problem in problems],
        "throughput": round(scene.throughput, 1),
        "lag": sum(stage.get("lag") or 0 for stage in scene.stages),
        "queries": len(scene.stages),
        "firing": len(scene.alerts),
        "brokers": scene.log.brokers,
        "now": datetime.now(UTC),
    }


def _health(scene: Scene, problems: Sequence[Problem]) -> str:
    if problems:
        return problems[0].level
    return "good" if scene.programs or scene.log.own else "empty"


def _problems(scene: Scene) -> Iterator[Problem]:
    if scene.log.error is not None and (scene.seen or scene.programs or not scene.managed):
        told = str(scene.log.error)
        yield Problem("bad", _sentence(told[:1].upper() + told[1:]), "topics")
    for program in scene.fallen:
        yield from _fallen(program)
    for stage in scene.stages:
        yield from _pressed(stage)
    yield from _alerting(scene.alerts)
    now = time.monotonic()
    for topic in sorted(name for name, at in scene.log.aside.items() if now - at < _RECENTLY):
        yield Problem("warning", f"Events were put aside in {topic}, with the reasons", "dead-letters", topic)


def _fallen(program: Status) -> Iterator[Problem]:
    if datetime.now(UTC) - datetime.fromisoformat(program["ended"]) > _FORGOTTEN:
        return
    if program["error"] is None:
        told = f"The program {program['program']} was killed; 'headrace run' goes on where it was"
        yield Problem("warning", told, "queries")
    else:
        yield Problem("bad", _sentence(f"The program {program['program']} failed: {program['error']}"), "queries")


def _pressed(stage: Status) -> Iterator[Problem]:
    name, state, why = stage["name"], stage["state"], stage.get("error") or ""
    if state == "failed":
        yield Problem("bad", _sentence(f"{name} failed: {why}"), "queries", name)
    elif state == "waiting":
        yield Problem("bad", _sentence(f"{name} failed and is tried again: {why}"), "queries", name)
    elif state == "stopped":
        yield Problem("warning", f"{name} is stopped; restart it to go on", "queries", name)
    elif (lasting := stage.get("under_way") or 0) >= _LASTING["warning"]:
        level = "bad" if lasting >= _LASTING["bad"] else "warning"
        told = f"{name} has one batch under way for {show_span(timedelta(seconds=round(lasting)))}"
        yield Problem(level, told, "queries", name)
    elif stage.get("catching_up"):
        yield Problem("warning", f"{name} catches up: {stage.get('lag') or 0:,} events to go", "queries", name)
    elif (behind := (stage.get("lag") or 0) / max(stage.get("rows_per_second") or 0, 1)) >= _BEHIND["warning"]:
        level = "bad" if behind >= _BEHIND["bad"] else "warning"
        told = f"{name} is {stage['lag']:,} events behind, {show_span(timedelta(seconds=behind))} of work"
        yield Problem(level, told, "queries", name)


def _alerting(alerts: Iterable[Status]) -> Iterator[Problem]:
    """Tell of alerts that nobody looks after; those of one rule that are equally severe are one problem."""
    alike: dict[tuple[str, str, str], list[Status]] = {}
    for alert in alerts:
        if not alert.get("acked_by") and not alert.get("silenced_until"):
            which = alert.get("program", ""), alert["rule"], alert.get("severity", "")
            alike.setdefault(which, []).append(alert)
    for (_, rule, severity), found in alike.items():
        if level := _SEVERE.get(severity):
            said = found[0].get("message") or rule
            told = said if len(found) == 1 else f"{rule}: {len(found)} alerts, such as: {said}"
            yield Problem(level, _sentence(told), "alerts", rule)


def _sentence(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONG else f"{line[:_LONG]}…"
