"""Alerts as programs write them."""

from typing import Any

from headrace.log import Producer


def alert(rule: str = "low", key: str = "S01", state: str = "firing", since: int = 0, **more: Any) -> dict[str, Any]:
    """An alert, with an id of its own for each rule, key and beginning."""
    return {
        "id": f"{rule}-{key}-{since}".encode().hex()[:32],
        "alert": f"retail/{rule}/{key}",
        "rule": rule,
        "program": "retail",
        "key": {"shop": key},
        "state": state,
        "severity": "warning",
        "message": f"{key}: only {since} left",
        "row": {"shop": key, "units": since},
        "since": f"2024-05-01T10:{since:02}:00.000000Z",
        "at": f"2024-05-01T10:{since:02}:30.000000Z",
        **more,
    }


def write(topic: str, *alerts: dict[str, Any]) -> None:
    """Write alerts as a program would."""
    with Producer() as producer:
        for one in alerts:
            producer.send(topic, one, key=one["alert"])
