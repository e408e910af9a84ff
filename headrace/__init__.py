"""Headrace: stream processing in Python on Kafka and Spark."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from headrace.core.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.core.change import Delete as Delete
    from headrace.dsl.alert import Alert as Alert
    from headrace.operators.processor import Processor as Processor
    from headrace.plan.aggregates import aggregate as aggregate
    from headrace.plan.windows import hopping as hopping
    from headrace.plan.windows import session as session
    from headrace.plan.windows import sliding as sliding
    from headrace.plan.windows import tumbling as tumbling
    from headrace.runtime.app import App as App

_LATER = {  # imported when they are first used: commands that need no engine start without one
    "Alert": "headrace.dsl.alert",
    "App": "headrace.runtime.app",
    "Delete": "headrace.core.change",
    "Processor": "headrace.operators.processor",
    "aggregate": "headrace.plan.aggregates",
    "hopping": "headrace.plan.windows",
    "session": "headrace.plan.windows",
    "sliding": "headrace.plan.windows",
    "tumbling": "headrace.plan.windows",
}

__version__ = version("headrace")
__all__ = [
    "Alert",
    "App",
    "Delete",
    "HeadraceError",
    "Processor",
    "__version__",
    "aggregate",
    "hopping",
    "session",
    "sliding",
    "tumbling",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'headrace' has no attribute {name!r}; it has {', '.join(__all__)}")
