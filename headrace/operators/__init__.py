"""Stateful logic in plain Python, without Spark."""
