from datetime import timedelta

import pytest

import headrace as hr
from headrace.core.errors import PlanError
from headrace.plan.stages import read_again
from tests.plan.programs import counts, orders, retail


def by_name(app):
    return {stage.name: stage for stage in app.stages}


def test_a_program_is_cut_where_rows_go_through_a_topic():
    between = "retail.by-store.repartition"
    names = [stage.name for stage in retail().stages]
    assert names.index(between) < next(n for n, name in enumerate(names) if name.startswith("parquet-"))
    assert names.index("retail.once.repartition") < names.index("revenue")  # Spark cannot aggregate what it deduped
    assert {"orders-seen", "small", "pages"} < set(names)
    assert read_again(between, retail().stages)
    assert not read_again("revenue", retail().stages)


def test_a_topic_between_stages_is_written_once_for_all_who_read_it():
    app = hr.App("shared")
    spread = orders(app).repartition("store", name="by-store")
    spread.to("all")
    spread.filter("amount > 1").to("some")
    assert [stage.name for stage in app.stages] == ["shared.by-store.repartition", "all", "some"]


def test_steps_after_one_dedupe_share_the_topic_between_and_others_have_their_own():
    app = hr.App("shared")
    once = orders(app).dedupe("order_id", within="1 minute", name="once")
    for name, rows in (("n", once), ("m", once), ("k", once.filter("amount > 1"))):
        rows.group_by("store").window(hr.tumbling("1 minute")).agg(name=name, n="count(*)").to(name)
    between = [stage.name for stage in app.stages if stage.name.endswith(".repartition")]
    assert between[0] == "shared.once.repartition"
    assert len(between) == 2


def test_every_version_has_topics_of_its_own_between_its_stages():
    def between(version):
        app = hr.App("versions", version=version)
        once = orders(app).dedupe("order_id", within="1 minute", name="once")
        once.repartition("store", name="by-store").to("all")
        once.group_by("store").window(hr.tumbling("1 minute")).agg(n="count(*)").to("n")
        return {stage.name for stage in app.stages} - {"all", "n"}

    assert between(1) == {"versions.once.repartition", "versions.by-store.repartition"}
    assert between(2) == {"versions.2.once.repartition", "versions.2.by-store.repartition"}


def test_stages_know_their_state_mode_and_time():
    stages = by_name(retail())
    assert [node.step for stage in stages.values() for node in stage.stateful] == ["once", "per-minute", "seen"]
    assert (stages["revenue"].mode, stages["revenue"].grace) == ("append", timedelta(seconds=30))
    assert stages["small"].stateful == ()
    (only,) = counts().stages
    assert (only.mode, only.idle) == ("update", timedelta(seconds=5))


def test_time_waits_for_the_input_that_may_be_idle_longest_and_forever_if_one_may_not():
    stages = by_name(retail())
    assert (stages["pages"].idle, stages["orders-seen"].idle) == (timedelta(minutes=1), None)


def test_the_state_of_a_step_is_recognised_while_its_declaration_stays():
    assert [stage.fingerprint for stage in retail().stages] == [stage.fingerprint for stage in retail().stages]
    assert by_name(retail())["small"].fingerprint == ()


@pytest.mark.parametrize(("one", "other"), [("500 ms", "700 ms"), ("1 day", "86401 seconds"), ("25 hours", "1501 min")])
def test_windows_of_other_sizes_have_other_state(one, other):
    def made(size):
        app = hr.App("sizes")
        orders(app).group_by("store").window(hr.tumbling(size)).agg(n="count(*)").to("n")
        (stage,) = app.stages
        return stage

    assert made(one).fingerprint != made(other).fingerprint
    assert made(one).stateful[0].step != made(other).stateful[0].step


def test_an_output_that_was_refused_leaves_the_program_as_it_was():
    app = hr.App("careful")
    sales = orders(app)
    sales.to("x")
    with pytest.raises(PlanError, match=r"two steps are called 'x'.*give one of them another name="):
        sales.filter("amount > 1").to("x")
    with pytest.raises(PlanError, match="two steps are called 'x'"):
        sales.to("x", partitions=7)
    assert [stage.name for stage in app.stages] == ["x"]
    sales.filter("amount > 1").to("x", name="second")
    assert [stage.name for stage in app.stages] == ["x", "second"]


def test_a_program_without_an_output_is_told_how_to_get_one():
    with pytest.raises(PlanError, match=r"has no output; end a stream with .to\(topic\)"):
        _ = hr.App("nothing").stages
