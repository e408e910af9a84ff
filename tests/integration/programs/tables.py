"""Sums over a table, a stream that looks rows of it up, and sliding windows; told by its only argument what to do."""

import json
import os
import sys
from pathlib import Path

import killing

import headrace as hr

told = json.loads(sys.argv[1])
name = told["name"]
app = hr.App(name, **told.get("options", {}))
people = app.table(told["table"], schema="id string, city string, n bigint", key="id")
people.group_by("city").agg(total="sum(n)", c="count(*)").to(f"{name}-sums")
people.group_by("city").agg(most="max(n)").to(f"{name}-most")
events = app.stream(
    told["input"], schema="k string, n bigint, at timestamp", key="k", event_time="at", lateness="5 seconds"
)
events.join(people, on="k = id", as_of="latest", how="left").select("k", "n", known="id is not null").to(f"{name}-out")
sliding = events.group_by("k").window(hr.sliding("1 second"), emit="final")
sliding.agg(total="sum(n)", c="count(*)").to(f"{name}-sliding")

if kill := told.get("kill"):
    checkpoints = Path(os.environ["HEADRACE_HOME"]) / "programs" / name / "1" / "checkpoints"
    stages = [stage.name for stage in app.stages]
    stage = next(one for one in stages if one.endswith(kill["stage"]))
    killing.arm(folder=checkpoints, **{**kill, "stage": stage})
app.run(drain=True)
