import pytest

import headrace as hr
from headrace.core.errors import ExpressionError, PlanError, SchemaError
from headrace.plan.join import Equality

app = hr.App("joins")
ads = app.stream("ads", schema="ad string, Site string, at timestamp", key="ad", event_time="at")
clicks = app.stream("ad-clicks", schema="ad string, site string, user int, at timestamp", event_time="at")


def join(on, **options):
    return ads.join(clicks, on=on, **{"within": "10 minutes", **options}).node


@pytest.mark.parametrize(
    ("on", "pairs"),
    [
        ("ad", [Equality("ad", "ad", "ad")]),
        (["ad", "user = Ads.Site"], [Equality("ad", "ad", "ad"), Equality("`Site`", "user")]),
        ("ads.ad = ad_clicks.ad", [Equality("`ad`", "`ad`")]),
        ("ad_clicks.site = ads.ad", [Equality("`ad`", "`site`")]),
        ("lower(ads.ad) = lower(ad_clicks.ad)", [Equality("LOWER(`ad`)", "LOWER(`ad`)")]),
        ("ad and user = ads.ad", [Equality("ad", "ad", "ad"), Equality("`ad`", "user")]),
    ],
)
def test_what_must_be_equal_is_put_in_terms_of_each_side(on, pairs):
    assert list(join(on).on) == pairs


def test_columns_of_both_sides_come_out_once_by_name():
    assert list(join("ad").schema) == ["ad", "Site", "at", "ad_clicks_site", "user", "ad_clicks_at"]
    assert list(join("ads.ad = ad_clicks.ad").schema)[3] == "ad_clicks_ad"
    assert list(join("ad", how="semi").schema) == ["ad", "Site", "at"]


def test_the_left_side_gives_the_key_and_the_time():
    assert (join("ad").key, join("ad").timed, join("ad", how="full").timed) == (("ad",), True, False)


@pytest.mark.parametrize(
    ("bounds", "told"),
    [
        ({"within": "1 minute"}, "from 1 min before to 1 min after"),
        ({"within": None, "after": "10 s"}, "from 0 s before to 10 s after"),
        ({"within": None, "before": "500 ms", "after": "1 h"}, "from 500 ms before to 1 h after"),
    ],
)
def test_how_far_apart_two_rows_may_be(bounds, told):
    assert join("ad", **bounds).label == f"inner join ads with ad_clicks on ad, {told}"


@pytest.mark.parametrize(
    ("on", "kind", "told"),
    [
        ("user", PlanError, "'ads' has no column 'user'; write on='a = b' where the names differ"),
        ("ad > 1", PlanError, r"neither a column of both sides nor an equality; put other conditions into filter"),
        ("ad = user", PlanError, "both sides have 'ad'; write ads.ad or ad_clicks.ad"),
        ("ads.ad = ads.Site", PlanError, "both sides of .* are columns of 'ads'"),
        ("user = 1", PlanError, "'1' must use columns of one side"),
        ("ads.nope = ad_clicks.user", ExpressionError, "names 'nope', which is no column"),
        ([], PlanError, "join needs on="),
        (None, PlanError, "join needs on=: a column of both sides, or an equality"),
        (5, PlanError, "join needs on="),
        ("", ExpressionError, "on= must be"),
    ],
)
def test_what_is_no_equality_is_told(on, kind, told):
    with pytest.raises(kind, match=told):
        join(on)


def test_names_that_would_come_out_twice_are_told():
    left = app.stream("l", schema="id int, r_x int, x int, at timestamp", event_time="at")
    right = app.stream("r", schema="id int, x int, at timestamp", event_time="at")
    with pytest.raises(SchemaError, match=r"'r_x' is there twice.*rename one"):
        left.join(right, on="id", within="1 s")


def test_a_stream_can_be_joined_with_itself_by_a_column():
    assert "ads_Site" in ads.join(ads, on="ad", within="1 s").columns
    with pytest.raises(PlanError, match="both sides are called 'ads'; rename the columns of one first"):
        ads.join(ads, on="ads.ad = ads.Site", within="1 s")
