"""Tests of a program without a broker, with a clock that the test moves."""

from headrace.testing.driver import TestDriver

__all__ = ["TestDriver"]
