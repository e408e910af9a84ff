"""What the page about tables says of declarations; its blocks show the rest."""

import pytest

import headrace as hr
from headrace.core.errors import HeadraceError, PlanError
from headrace.dsl.table import Table


@pytest.fixture
def app() -> hr.App:
    return hr.App("tables")


@pytest.fixture
def customers(app: hr.App) -> Table:
    return app.table("customers", schema="id string, name string, city string", key="id")


def test_a_table_needs_its_key_and_keeps_it(app: hr.App, customers: Table) -> None:
    with pytest.raises(PlanError, match="a table needs key="):
        app.table("keyless", schema="id string", key=())
    for wrong in (lambda: customers.select("name"), lambda: customers.drop("id")):
        with pytest.raises(PlanError, match="a table keeps its key"):
            wrong()
    with pytest.raises(PlanError, match="a table keeps its key"):
        customers.with_columns(id="upper(id)")
    assert customers.with_columns(city="upper(city)").drop("name").columns == ["id", "city"]


def test_the_key_of_a_stream_is_that_of_its_table_unless_told(app: hr.App) -> None:
    readings = app.stream("readings", schema="sensor string, place string", key="sensor")
    assert readings.to_table().node.key == ("sensor",)
    assert readings.to_table("place").node.key == ("place",)


def test_a_table_always_begins_at_the_beginning(customers: Table) -> None:
    assert getattr(customers.node, "start", None) == "earliest"


def test_the_key_of_joined_tables(app: hr.App, customers: Table) -> None:
    ages = app.table("ages", schema="id string, age int", key="id")
    cities = app.table("cities", schema="city string, land string", key="city")
    lands = app.table("lands", schema="land string, capital string", key="land")
    assert customers.join(ages, on="id").node.key == ("id",)
    assert customers.join(ages, on="id", how="full").node.key == ("id",)
    assert customers.join(cities, on="city", how="left").node.key == ("id",)
    assert customers.join(cities, on="city", how="full").node.key == ("id", "city")
    assert customers.join(lands, on="city = capital").node.key == ("id", "land")


def test_tables_are_not_windowed_processed_or_written_to_files(customers: Table) -> None:
    with pytest.raises(PlanError, match=r"window\(\) cuts the time of a stream"):
        customers.group_by("city").window(hr.tumbling("1 minute"))
    with pytest.raises(PlanError, match="process"):
        customers.group_by("city").process(hr.Processor(), "city string")
    with pytest.raises(PlanError, match="files only grow"):
        customers.sink("parquet", "folder")
    with pytest.raises(HeadraceError, match="follows the time of events"):
        customers.group_by("city").agg(newest="last(name)")


def test_streams_look_tables_up_and_not_the_reverse(app: hr.App, customers: Table) -> None:
    orders = app.stream("orders", schema="customer string")
    with pytest.raises(PlanError, match="streams join tables, not the reverse"):
        customers.join(orders, on="id = customer")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="needs as_of"):
        orders.join(customers, on="customer = id")
    with pytest.raises(PlanError, match="as_of='event_time' needs to know when events"):
        orders.join(customers, on="customer = id", as_of="event_time")
    with pytest.raises(PlanError, match="as_of='latest' has none"):
        orders.join(customers, on="customer = id", as_of="latest", grace="1 minute")
