"""Sums of sums: a stage that closes windows feeds another that does; told by its only argument what to do."""

import json
import sys

import headrace as hr

told = json.loads(sys.argv[1])
app = hr.App(told["name"], **told["options"])
events = app.stream(
    told["input"], schema="k string, n bigint, at timestamp", key="k", event_time="at", lateness="5 seconds"
)
sums = events.group_by("k").window(hr.tumbling("10 seconds"), emit="final").agg(total="sum(n)")
minutes = sums.through(f"{told['name']}-sums").group_by().window(hr.tumbling("1 minute"), emit="final")
minutes.agg(total="sum(total)", c="count(*)").to(f"{told['name']}-minutes")
app.run(drain=True)
