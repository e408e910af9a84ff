"""A program with a stateless and a stateful stage, told by its only argument, in JSON, what to do."""

import json
import os
import sys
from pathlib import Path

import killing

import headrace as hr
from headrace.runtime import query

told = json.loads(sys.argv[1])
name, version = told["name"], told.get("version", 1)
out, sums = f"{name}-out", f"{name}-sums"
app = hr.App(name, version=version, **told.get("options", {}))
events = app.stream(
    told["input"], schema="k string, n bigint, at timestamp", key="k", event_time="at", lateness="5 seconds"
)
events.filter(told.get("filter", "n >= 0")).to(out)
size, aggregates = told.get("window", "10 seconds"), told.get("aggregates", {"total": "sum(n)", "c": "count(*)"})
events.group_by("k").window(hr.tumbling(size), emit="final").agg(**aggregates).to(sums)

if tries := told.get("tries"):
    query._TRIES = tries
query._SMALL = told.get("small", query._SMALL)
if kill := told.get("kill"):
    checkpoints = Path(os.environ["HEADRACE_HOME"]) / "programs" / name / str(version) / "checkpoints"
    killing.arm(folder=checkpoints, **{**kill, "stage": {"out": out, "sums": sums}[kill["stage"]]})
app.run(drain=told.get("drain", False))
