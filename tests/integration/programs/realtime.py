"""Rows passed on in real time, until the process is told to end."""

import sys

import headrace as hr

name = sys.argv[1]
app = hr.App(name)
app.stream(f"{name}-in", schema="id bigint, sent double").filter("id % 2 = 0").to(f"{name}-out", latency="realtime")

if __name__ == "__main__":
    app.run()
