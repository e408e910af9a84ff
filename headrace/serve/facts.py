"""What a store remembers beside its rows: of which topic they are, in which layout, and how far they go."""

import json
import re
import sqlite3
from dataclasses import dataclass

from headrace.core.schema import Schema
from headrace.serve.declared import Declared
from headrace.serve.fields import Fields
from headrace.serve.layout import Layout

FACTS = '"headrace facts"'
OFFSETS = '"headrace offsets"'
FORMAT = "1"  # of the file; another one is built anew


@dataclass(frozen=True, slots=True)
class Position:
    """How far a store is.

    Attributes:
        life: The id of the topic; one that was deleted and created again has another.
        offsets: Where each partition goes on.
        skipped: How many events were no rows.
        fresh: When it last held everything, in seconds since the epoch.
        largest: Bytes of the largest row that ever came.
    """

    life: str
    offsets: dict[int, int]
    skipped: int
    fresh: float
    largest: int


def position_of(connection: sqlite3.Connection) -> Position:
    """Return how far a store is, all of it at one moment."""
    asked = f"select 0, partition, next from {OFFSETS} union all select 1, name, value from {FACTS}"
    found = connection.execute(asked).fetchall()
    facts = {name: value for kind, name, value in found if kind}
    offsets = {partition: following for kind, partition, following in found if not kind}
    return Position(facts["life"], offsets, int(facts["skipped"]), float(facts["fresh"]), largest=int(facts["largest"]))


def layout_of(connection: sqlite3.Connection) -> Layout | None:
    """Return the layout of a store, or None if it is new or of another format."""
    if not connection.execute("select 1 from sqlite_master where name = 'headrace facts'").fetchone():
        return None
    facts: dict[str, str] = dict(connection.execute(f"select name, value from {FACTS}").fetchall())
    if facts["format"] != FORMAT:
        return None
    if not facts["schema"]:
        return Fields(json.loads(facts["fields"]))
    return Declared(Schema(json.loads(facts["schema"])), json.loads(facts["key"]))


def table_names(topic: str) -> list[str]:
    """Return what a topic is called in SQL: first as an identifier, then, for those who quote, as itself.

    Example:
        >>> table_names("orders-by-store")
        ['orders_by_store', 'orders-by-store']
    """
    name = re.sub(r"\W", "_", topic)
    if name[0].isdigit() or _reserved(name):
        name = f"_{name}"
    return [name] if name == topic or _reserved(topic) else [name, topic]


def _reserved(name: str) -> bool:
    return name.lower().startswith("sqlite_")
