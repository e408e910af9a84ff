"""Rows come out as the page says: its own examples, on its own program, and a test for each sentence."""

from collections.abc import Iterator

import pytest

import headrace as hr
from headrace.core.errors import PlanError
from headrace.testing import TestDriver
from tests.concepts.page import Example, examples, program

PAGE = "concepts/emission.md"


@pytest.fixture(scope="module")
def app() -> hr.App:
    return program(PAGE)


@pytest.fixture(scope="module")
def t(app: hr.App) -> Iterator[TestDriver]:
    with TestDriver(app) as t:
        yield t


@pytest.fixture(scope="module")
def shown() -> dict[str, Example]:
    return examples(PAGE)


def test_every_example_of_the_page_has_a_test(shown: dict[str, Example]) -> None:
    assert set(shown) == {"windows", "tables", "sessions"}


def test_updates_come_with_each_batch_and_final_results_once(t: TestDriver, shown: dict[str, Example]) -> None:
    shown["windows"].run(t)
    late = [letter["offset"] for letter in t.late() if letter["topic"] == "clicks"]
    assert late == [4, 4]  # for either window


def test_a_result_comes_again_when_its_group_is_touched(t: TestDriver, shown: dict[str, Example]) -> None:
    shown["tables"].run(t)


def test_sessions_are_told_under_new_bounds_and_deleted_under_the_old(t: TestDriver, shown: dict[str, Example]) -> None:
    shown["sessions"].run(t)


def test_topics_of_updates_are_compacted_and_those_of_final_results_only_grow(app: hr.App) -> None:
    changing = {stage.name for stage in app.stages if stage.node.updates}
    assert changing == {"clicks-live", "songs", "hits", "sessions-live"}


def test_updates_go_into_no_file_and_no_window_but_final_results_do() -> None:
    app = hr.App("emission")
    clicks = app.stream("clicks", schema="page string, at timestamp", event_time="at").group_by("page")
    live = clicks.window(hr.tumbling("1 minute"), emit="updates").agg(n="count(*)")
    done = clicks.window(hr.tumbling("1 minute"), emit="final").agg(n="count(*)")
    with pytest.raises(PlanError, match="files only grow"):
        live.sink("parquet", "folder")
    done.sink("parquet", "folder")
    with pytest.raises(PlanError, match="window"):
        live.group_by("page").window(hr.tumbling("1 hour"))
    done.group_by("page").window(hr.tumbling("1 hour"), emit="final").agg(most="max(n)").to("most")
    live.group_by("page").agg(most="max(n)").to("most-so-far")  # all that is known so far can be aggregated again
    with pytest.raises(PlanError, match="these results are final, they do not change"):
        done.changes()


def test_only_a_window_has_final_results() -> None:
    clicks = hr.App("emission").stream("clicks", schema="page string")
    with pytest.raises(PlanError, match="window\\(\\) needs to know when events happened"):
        clicks.group_by("page").window(hr.tumbling("1 minute"), emit="final")
