"""Headrace: stream processing in Python on Kafka and Spark."""

from importlib.metadata import version

from headrace.core.errors import HeadraceError

__version__ = version("headrace")
__all__ = ["HeadraceError", "__version__"]
