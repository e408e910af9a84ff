"""Serving: tables as materialised views, looked up by key and queried with SQL."""

from headrace.serve.view import View

__all__ = ["View"]
