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
sums.to(f"{told['name']}-sums")
again = app.stream(
    f"{told['name']}-sums",
    schema="window_start timestamp, total bigint",
    event_time="window_start",
    lateness="5 seconds",
)
minutes = again.group_by().window(hr.tumbling("1 minute"), emit="final").agg(total="sum(total)", c="count(*)")
minutes.to(f"{told['name']}-minutes")
app.run(drain=True)
