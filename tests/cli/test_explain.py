import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from headrace.cli.programs import load
from headrace.core.errors import ConfigError, PlanError
from tests.cli.outcome import refused, row, rows, told

PROGRAM = """
import headrace as hr

app = hr.App("shop")
orders = app.stream("orders", schema="store int, amount double")
orders.group_by("store").agg(revenue="sum(amount)", name="stores").to("revenue")

if __name__ == "__main__":
    app.run()
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="shop.py"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def test_a_program_is_explained_without_running_it(headrace, write):
    write(PROGRAM)
    done = headrace("explain", "shop.py", "--format", "text")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("program shop, version 1: 1 stage\n")
    assert "group by store | sum(amount) as revenue" in done.stdout
    assert done.stderr == ""


def test_programs_read_it_as_json(headrace, write):
    write(PROGRAM)
    found = row(headrace("explain", "shop.py"))
    assert (found["program"], found["stages"][0]["writes"]) == ("shop", "revenue")


def test_the_drawing_is_written_and_told(headrace, write, tmp_path):
    write(PROGRAM)
    done = headrace("explain", "shop.py", "--svg", "shop.svg")
    assert told(done) == "Drew shop.svg."
    assert row(done)["program"] == "shop"
    assert ElementTree.parse(tmp_path / "shop.svg").getroot().tag.endswith("svg")
    refused(headrace("explain", "shop.py", "--svg", "no/such/folder.svg"), 2, "cannot be written", "No such file")


def test_several_programs_of_one_file_come_in_their_order_and_once(headrace, write, tmp_path):
    write(PROGRAM + PROGRAM.replace("app", "other").replace('"shop"', '"second"') + "again = app\n")
    done = headrace("explain", "shop.py", "--svg", "both.svg")
    assert [found["program"] for found in rows(done)] == ["shop", "second"]
    assert sorted(path.name for path in tmp_path.glob("*.svg")) == ["both-second.svg", "both-shop.svg"]


def test_a_program_finds_what_lies_beside_it_and_not_our_arguments(headrace, write, tmp_path):
    (tmp_path / "below").mkdir()
    write("NAME = 'beside'\n", "below/names.py")
    write(
        "import sys\nfrom names import NAME\nassert len(sys.argv) == 1\n" + PROGRAM.replace('"shop"', "NAME"),
        "below/a.py",
    )
    assert row(headrace("explain", "below/a.py"))["program"] == "beside"


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (PROGRAM.replace('if __name__ == "__main__"', "if True"), 2, ["'shop'", "only being read", "__main__"]),
        (
            PROGRAM.replace("    app.run()", "").replace("if __name", "app.start()\nif __name") + "    pass",
            2,
            ["__main__"],
        ),
        ("x = 1\n", 2, ["shop.py", "declare app = hr.App(…) at the top level"]),
        ("", 2, ["declare app = hr.App(…)"]),
        ("import headrace as hr\napp = hr.App('x'\n", 2, ["shop.py, line 2", "is not Python"]),
        ("a\0b", 2, ["shop.py", "null bytes"]),
        ("\n1 / 0\n", 2, ["shop.py, line 2 raises ZeroDivisionError: division by zero"]),
        ("import json\njson.loads('{')\n", 2, ["shop.py, line 2 raises JSONDecodeError"]),
        ("import no_such_module\n", 2, ["shop.py, line 1 raises ModuleNotFoundError", "no_such_module"]),
        ("import sys\nsys.exit(3)\n", 2, ["shop.py, line 2 ends the process"]),
        (PROGRAM.replace("sum(amount)", "sum(amout)"), 1, ["did you mean 'amount'?", "declared at shop.py, line 6"]),
        (PROGRAM.replace('"shop"', '"my shop"'), 2, ["is not a topic name", "declared at shop.py, line 4"]),
        ("import headrace as hr\napp = hr.App('x')\n", 1, ["has no output", ".to(topic)"]),
    ],
    ids=range(13),
)
def test_what_is_wrong_with_a_program_is_told(cli, write, text, code, words):
    write(text)
    refused(cli("explain", "shop.py"), code, *words)


def test_the_note_stands_below_the_message(cli, write):
    write(PROGRAM.replace("sum(amount)", "sum(amout)"))
    first, second = cli("explain", "shop.py").stderr.splitlines()
    assert first.startswith("Error: the aggregate revenue=")
    assert second == "declared at shop.py, line 6"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nothing.py", ["there is no file 'nothing.py'"]),
        (".", ["there is no file '.'"]),
        ("notes.txt", ["'notes.txt' is not a Python file; its name must end in .py"]),
    ],
)
def test_what_is_no_program_is_told(cli, write, path, words):
    write("some notes", "notes.txt")
    refused(cli("explain", path), 2, *words)


def test_a_file_is_told_where_to_look_in_a_module_of_its_own(cli, write):
    write("\n\nraise KeyError('x')\n", "helper.py")
    write("import helper\n")
    refused(cli("explain", "shop.py"), 2, "helper.py, line 3 raises KeyError")


def test_what_was_set_up_to_read_a_program_is_put_back(write):
    before = list(sys.argv)
    with pytest.raises(ConfigError):
        load(write("import headrace as hr\nhr.App('x').run()\n"))
    with pytest.raises(PlanError):
        load(write(PROGRAM.replace("sum(amount)", "sum(amout)")))
    (app,) = load(write(PROGRAM))
    assert sys.argv == before
    assert app.name == "shop"


def test_other_commands_start_without_the_engine(tmp_path):
    asked = "import sys; sys.argv = ['headrace', 'topic', 'list']; from headrace.cli.main import main; main()"
    env = {**os.environ, "HEADRACE_HOME": str(tmp_path / "empty")}
    command = [sys.executable, "-X", "importtime", "-c", asked]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, check=False)
    assert "no broker runs" in done.stderr
    loaded = {Path(line.split("|")[-1].strip()).name.split(".")[0] for line in done.stderr.splitlines() if "|" in line}
    assert "headrace" in loaded
    assert not loaded & {"pyspark", "sqlglot", "pandas", "pyarrow"}
