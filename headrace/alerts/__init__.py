"""Alerts that fire: seen, acknowledged, silenced, and told to people."""

from headrace.alerts.log import AlertLog
from headrace.alerts.notifier import Notifier
from headrace.alerts.signature import verify

__all__ = ["AlertLog", "Notifier", "verify"]
