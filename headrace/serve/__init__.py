"""Serving: tables as materialised views, looked up by key and queried with SQL."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.serve.view import View as View

__all__ = ["View"]


def __getattr__(name: str) -> Any:
    if name == "View":  # imported when it is first used: the process in which SQL runs needs no Kafka
        from headrace.serve.view import View  # noqa: PLC0415

        return View
    raise AttributeError(f"module 'headrace.serve' has no attribute {name!r}; it has {', '.join(__all__)}")
