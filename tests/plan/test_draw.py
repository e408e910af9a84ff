from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.plan.draw import draw
from tests.plan.programs import counts, orders, retail

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ['<script>alert("x")</script>', "a & b", "]]>", "\x00\x1b[31m", "\ud800", "漢字" * 40, "x" * 10_000, "", "  "]


def shapes(svg):
    """Return each box as (kind, title, left, top, right, bottom)."""
    found = []
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        area = group.find(f"{SVG}rect").attrib
        x, y, width, height = (float(area[name]) for name in ("x", "y", "width", "height"))
        found.append((group.get("class"), group.findtext(f"{SVG}title"), x, y, x + width, y + height))
    return found


def overlap(a, b):
    return a[2] < b[4] and b[2] < a[4] and a[3] < b[5] and b[3] < a[5]


def within(a, b):
    return b[2] <= a[2] and a[4] <= b[4] and b[3] <= a[3] and a[5] <= b[5]


def step(number, after=(), label="filter x", state=None):
    return {"id": number, "label": label, "after": list(after), "state": state}


def stage(name, reads, writes, steps, kind="topic"):
    facts = {"guarantee": "exactly once", "emits": "rows"}
    return {"name": name, "reads": reads, "writes": writes, "kind": kind, "steps": steps, **facts}


def program(*stages):
    return {"program": "p", "version": "1", "stages": list(stages)}


@pytest.mark.parametrize("app", [retail, counts])
def test_boxes_do_not_overlap_and_steps_lie_in_their_stage(app):
    boxes = shapes(draw(app().describe()))
    frames = [box for box in boxes if box[0] == "stage"]
    steps = [box for box in boxes if box[0] in ("step", "state")]
    outside = [box for box in boxes if box[0] in ("topic", "files")]
    assert not [pair for pair in combinations(frames + outside, 2) if overlap(*pair)]
    assert not [pair for pair in combinations(steps, 2) if overlap(*pair)]
    assert all(any(within(one, frame) for frame in frames) for one in steps)


def test_everything_is_there_by_its_name_and_topics_only_once():
    described = retail().describe()
    boxes = shapes(draw(described))
    topics = {topic for one in described["stages"] for topic in one["reads"]}
    topics |= {one["writes"] for one in described["stages"] if one["kind"] == "topic"}
    assert sorted(box[1] for box in boxes if box[0] == "topic") == sorted(topics)
    assert [box[1] for box in boxes if box[0] == "files"] == ["lake/large"]
    labels = sorted(step["label"] for one in described["stages"] for step in one["steps"])
    assert sorted(box[1] for box in boxes if box[0] in ("step", "state")) == labels


def test_labels_are_shown_whole_where_they_fit():
    text = "".join(ElementTree.fromstring(draw(retail().describe())).itertext()).replace(" ", "")
    for one in retail().describe()["stages"]:
        for each in one["steps"]:
            assert text.count(each["label"].replace(" ", "")) >= 2, "once in the box, once as its tooltip"


def test_steps_with_memory_are_marked():
    svg = draw(counts().describe())
    assert [box[1] for box in shapes(svg) if box[0] == "state"] == ["group by store | count(*) as n (emit updates)"]
    assert "state: stores" in svg


def test_rows_flow_from_left_to_right():
    boxes = {box[1]: box for box in shapes(draw(counts().describe())) if box[0] == "topic"}
    assert boxes["orders"][4] < boxes["counts"][2]


def test_each_way_is_an_arrow():
    svg = ElementTree.fromstring(draw(retail().describe()))
    stages = retail().describe()["stages"]
    ways = sum(len(one["reads"]) + 1 + sum(len(each["after"]) for each in one["steps"]) for one in stages)
    assert len([path for path in svg.iter(f"{SVG}path") if path.get("marker-end")]) == ways


def test_the_picture_stands_alone():
    svg = draw(retail().describe())
    assert svg.startswith("<svg xmlns=")
    assert not any(word in svg for word in ("<script", "href", "<style", "url(http"))
    assert svg.count("http") == 1  # the name of the language
    root = ElementTree.fromstring(svg)
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_only_text(name):
    described = program(stage(name, [name], f"{name}-out", [step(0, (), name), step(1, (0,), name, name or "s")]))
    described["program"] = name
    svg = draw(described)
    tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(svg).iter()}
    assert tags <= {"svg", "title", "defs", "marker", "path", "rect", "text", "tspan", "g"}
    boxes = shapes(svg)
    assert not [pair for pair in combinations([box for box in boxes if box[0] != "stage"], 2) if overlap(*pair)]
    assert max(box[4] - box[2] for box in boxes) < 1500


def test_a_program_without_stages_is_a_title():
    assert shapes(draw(program())) == []


@given(st.data())
def test_whatever_follows_whatever_nothing_overlaps(data):
    topics = st.sampled_from("abcdef")
    stages = []
    for number in range(data.draw(st.integers(1, 4))):
        reads = data.draw(st.lists(topics, min_size=1, max_size=3))
        steps = [step(n) for n in range(len(reads))]
        for n in range(len(reads), len(reads) + data.draw(st.integers(1, 4))):
            steps.append(step(n, sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=3)))))
        stages.append(stage(f"s{number}", reads, data.draw(topics), steps))
    boxes = shapes(draw(program(*stages)))
    for kinds in (("stage", "topic"), ("step", "topic")):
        assert not [pair for pair in combinations([box for box in boxes if box[0] in kinds], 2) if overlap(*pair)]


def test_many_steps_are_drawn():
    app = hr.App("long")
    rows = orders(app)
    for number in range(150):
        rows = rows.filter(f"amount > {number}")
    rows.to("out")
    assert len(shapes(draw(app.describe()))) == 154
