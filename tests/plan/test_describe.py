import json

from tests.plan.programs import counts, retail


def test_the_topology_is_plain_data():
    described = retail().describe()
    assert json.loads(json.dumps(described)) == described
    assert (described["program"], described["version"], len(described["stages"])) == ("retail", "1", 7)


def test_a_stage_tells_what_it_reads_writes_and_guarantees():
    (stage,) = counts().describe()["stages"]
    steps = stage.pop("steps")
    assert stage.pop("declared").startswith("programs.py, line ")
    assert stage == {
        "name": "counts",
        "reads": ["orders"],
        "writes": "counts",
        "kind": "topic",
        "emits": "updates",
        "guarantee": "exactly once",
    }
    assert [(step["id"], step["kind"], step["after"], step["state"]) for step in steps] == [
        (0, "Source", [], None),
        (1, "Aggregate", [0], "stores"),
    ]
    assert (steps[1]["schema"], steps[1]["key"]) == ({"store": "INT", "n": "BIGINT"}, ["store"])


def test_steps_tell_whom_they_follow():
    stages = {stage["name"]: stage for stage in retail().describe()["stages"]}
    assert [step["after"] for step in stages["orders-seen"]["steps"]] == [[], [], [0, 1]]
    assert stages["orders-seen"]["reads"] == ["orders", "clicks"]
    assert [step["after"] for step in stages["pages"]["steps"]] == [[], [0], [0, 1], [2]]
    assert stages["small"]["guarantee"] == "at least once"


def test_what_one_stage_writes_another_reads():
    stages = retail().describe()["stages"]
    (files,) = [stage for stage in stages if stage["kind"] == "files"]
    assert files["writes"] == "lake/large"
    assert files["reads"] == ["retail.by-store.repartition"]
    assert files["reads"][0] in [stage["writes"] for stage in stages]
