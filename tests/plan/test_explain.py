"""What explain prints, kept word by word; SNAPSHOTS=write writes the files anew."""

import os
import re
from pathlib import Path

import pytest

from headrace.plan.explain import explain
from tests.plan import programs

SNAPSHOTS = Path(__file__).with_name("snapshots")


@pytest.mark.parametrize("name", ["retail", "counts"])
def test_the_text_is_as_it_was(name):
    app = getattr(programs, name)()
    text = explain(app.name, app.version, app.stages, {"spark.b": "2", "spark.a": "1"}) + "\n"
    text = re.sub(r"programs\.py, line \d+", "programs.py, line …", text)
    file = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("SNAPSHOTS") == "write":
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8")


def test_sparks_settings_are_told_with_those_of_the_program():
    app = programs.counts()
    assert "  spark.sql.session.timeZone = UTC" in app.explain().splitlines()
