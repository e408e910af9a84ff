"""Metrics in the text format of Prometheus, from what the server knows anyway: to be scraped costs the log nothing."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from headrace import __version__
from headrace.log.letter import is_ledger
from headrace.web.site import Site

KIND = "text/plain; version=0.0.4; charset=utf-8"
_QUERIES = {  # by the field of the status
    "rows": ("headrace_query_rows_total", "counter", "Events that the query has read since its program started."),
    "rate": ("headrace_query_rows_per_second", "gauge", "Events that the query reads per second, of late."),
    "lag": ("headrace_query_lag", "gauge", "Events that are there but not read yet."),
    "batch": ("headrace_query_batch", "gauge", "The number of the last batch."),
    "batch_seconds": ("headrace_query_batch_seconds", "gauge", "How long the last batch took."),
    "under_way": ("headrace_query_under_way_seconds", "gauge", "For how long a batch is under way, if one is."),
    "state_rows": ("headrace_query_state_rows", "gauge", "Rows that the query remembers."),
    "restarts": ("headrace_query_restarts_total", "counter", "How often the query was started again after a failure."),
    "late": ("headrace_query_late_total", "counter", "Events that came too late."),
}
_STATES = ("running", "waiting", "stopped", "failed")
Labels = Mapping[str, str]
Value = tuple[Labels, float]


def metrics(site: Site) -> str:
    """Return all metrics."""
    scene = site.sampler.scene
    lines = [
        *_metric("headrace_info", "gauge", "Which Headrace this is.", [({"version": __version__}, 1)]),
        *_metric("headrace_broker_up", "gauge", "Whether a broker answers.", [({}, scene.log.brokers is not None)]),
        *_metric("headrace_alerts_firing", "gauge", "Alerts that fire.", _alerts(scene.alerts)),
        *_metric("headrace_ui_streams", "gauge", "Streams that pages have open.", [({}, site.streams.open)]),
    ]
    for field, (name, kind, told) in _QUERIES.items():
        values = [(_labels(stage), stage[field]) for stage in scene.stages if stage.get(field) is not None]
        lines += _metric(name, kind, told, values)
    lines += _metric("headrace_query_state", "gauge", "1 for the state that the query is in.", _states(scene.stages))
    marks = [(_labels(s), datetime.fromisoformat(m).timestamp()) for s in scene.stages if (m := s.get("watermark"))]
    lines += _metric("headrace_query_watermark_seconds", "gauge", "Up to which time windows are closed.", marks)
    topics = scene.log.topics
    ends = [({"topic": topic.name}, sum(p.latest for p in topic.partitions)) for topic in topics]
    lines += _metric("headrace_topic_events_total", "counter", "Offsets that the topic has given so far.", ends)
    sizes = [({"topic": topic.name}, topic.size) for topic in topics if topic.size is not None]
    lines += _metric("headrace_topic_bytes", "gauge", "Bytes of the topic on disk.", sizes)
    letters = [({"topic": topic.name}, topic.events) for topic in topics if is_ledger(topic.name)]
    lines += _metric("headrace_dead_letters", "gauge", "Offsets of letters that are kept.", letters)
    return "\n".join(lines) + "\n"


def _metric(name: str, kind: str, told: str, values: Iterable[Value]) -> list[str]:
    lines = [f"{name}{_braces(labels)} {_number(value)}" for labels, value in values]
    return [f"# HELP {name} {told}", f"# TYPE {name} {kind}", *lines] if lines else []


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _braces(labels: Labels) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _labels(stage: Mapping[str, Any]) -> Labels:
    return {"program": stage["program"], "stage": stage["stage"]}


def _states(stages: Iterable[Mapping[str, Any]]) -> list[Value]:
    return [({**_labels(s), "state": state}, float(s["state"] == state)) for s in stages for state in _STATES]


def _alerts(firing: Iterable[Mapping[str, Any]]) -> list[Value]:
    counts = {"critical": 0, "warning": 0, "info": 0}
    for alert in firing:
        severity = str(alert.get("severity"))
        counts[severity] = counts.get(severity, 0) + 1
    return [({"severity": severity}, count) for severity, count in counts.items()]
