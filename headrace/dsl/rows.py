"""What streams and tables have in common: verbs that look at one row at a time, and outputs."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from headrace.core.errors import PlanError
from headrace.core.quantities import parse_pause
from headrace.core.schema import RESERVED, quote
from headrace.log.names import check_topic_name
from headrace.plan.expressions import Expression, Given, expression
from headrace.plan.node import Node, known_columns
from headrace.plan.rows import Filter, Project
from headrace.plan.source import Source
from headrace.plan.stages import FileOutput, Latency, TopicOutput
from headrace.plan.where import caller, declared

if TYPE_CHECKING:
    from headrace.dsl.program import Program

_FORMATS = ("json", "text", "raw")
_FILES = ("parquet", "json")


class Rows:
    """Rows of a program; `Stream` and `Table` say which verbs they have beyond these."""

    def __init__(self, program: "Program", node: Node) -> None:
        self._program = program
        self.node = node

    def _next(self, node: Node) -> Self:
        return type(self)(self._program, node)

    def _settled(self, alone: bool = False) -> Node:
        """Return what a stateful step may follow."""
        return self._program.settled(self.node, caller(), alone)

    def _same_program(self, *others: "Rows") -> None:
        if other := next((other for other in others if other._program is not self._program), None):
            raise PlanError(
                f"these are streams of two programs, {self._program.name!r} and {other._program.name!r}; "
                "declare both with one, or go from one to the other through a topic"
            )

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.node.schema)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.node.schema.ddl})"

    @declared
    def filter(self, condition: Given) -> Self:
        """Keep the rows for which ``condition``, Spark SQL or a Column, is true.

        Example:
            >>> paid = orders.filter("amount > 0")  # doctest: +SKIP
        """
        checked = expression(condition, self.node.schema, "filter")
        return self._next(Filter(self.node, checked, where=caller()))

    @declared
    def select(self, *names: str, **expressions: Given) -> Self:
        """Keep the columns ``names``, in this order, and add one for each of ``expressions``.

        The rows' event time stays with them even where its column does not.

        Example:
            >>> totals = orders.select("store", total="amount * 1.2")  # doctest: +SKIP
        """
        kept = [(name, _same(self.node, name)) for name in known_columns(self.node.schema, names, "select")]
        added = [(name, expression(given, self.node.schema, f"{name}=")) for name, given in expressions.items()]
        if not kept and not added:
            raise PlanError("select() would leave no columns; name those to keep")
        return self._project([*kept, *added], "select")

    @declared
    def with_columns(self, **expressions: Given) -> Self:
        """Add a column for each expression, or replace the column of that name.

        Example:
            >>> priced = orders.with_columns(total="amount * 1.2")  # doctest: +SKIP
        """
        if not expressions:
            raise PlanError("with_columns() adds nothing; write for example with_columns(total='amount * 1.2')")
        new = {name: expression(given, self.node.schema, f"{name}=") for name, given in expressions.items()}
        lowered = {name.lower(): name for name in new}
        kept = [
            (name, new.pop(lowered[name.lower()]) if name.lower() in lowered else _same(self.node, name))
            for name in self.node.schema
        ]
        return self._project([*kept, *new.items()], "with_columns")

    @declared
    def drop(self, *names: str) -> Self:
        """Leave columns away.

        Example:
            >>> anonymous = orders.drop("customer")  # doctest: +SKIP
        """
        gone = known_columns(self.node.schema, names, "drop")
        kept = [(name, _same(self.node, name)) for name in self.node.schema if name not in gone]
        if not kept:
            raise PlanError("drop() would leave no columns")
        return self._project(kept, "drop")

    def _project(self, columns: list[tuple[str, Expression]], verb: str) -> Self:
        for name, _ in columns:
            if name.startswith(RESERVED):
                raise PlanError(f"the column {name!r} begins with {RESERVED!r}, which is reserved; rename it")
        same = {name for name, given in columns if given.sql == quote(name)}
        key = tuple(self.node.key) if set(self.node.key) <= same else ()
        if self.node.updates and not key:
            keys = ", ".join(self.node.key)
            raise PlanError(f"a table keeps its key: name the columns {keys} in select(…), and do not change them")
        return self._next(Project(self.node, tuple(columns), key, verb, where=caller()))

    @declared
    def to(
        self,
        topic: str,
        *,
        partitions: int | None = None,
        format: str = "json",
        latency: Latency = "batch",
        every: str | timedelta | None = None,
        name: str | None = None,
    ) -> None:
        """Write the rows to a topic, each exactly once, under the key of the stream.

        The topic is created where it is missing; a table's topic is compacted by key.

        Args:
            topic: Its name.
            partitions: Of the topic if it must be created; as many as the input has unless told.
            format: ``json``, or ``text`` and ``raw`` for rows of one column ``value``.
            latency: ``realtime`` passes rows on within milliseconds, but only for Spark SQL without memory, and a row
                may come twice after a crash.
            every: How often batches begin at most, where this output can wait; as the program says unless told.
            name: Of the stage, where the topic's name is taken.
        """
        if format not in _FORMATS:
            raise PlanError(f"format must be one of {', '.join(_FORMATS)}, not {format!r}")
        if format != "json" and self.columns != ["value"]:
            raise PlanError(
                f"format={format!r} writes the one column 'value'; these rows have {', '.join(self.columns)}"
            )
        if latency not in ("batch", "realtime"):
            raise PlanError(f"latency must be 'batch' or 'realtime', not {latency!r}")
        if every is not None and latency == "realtime":
            raise PlanError("latency='realtime' has no batches; leave every= away")
        output = TopicOutput(check_topic_name(topic), partitions, format, latency, _pause(every))
        self._program.add(self.node, output, check_topic_name(name or output.name), caller())

    @declared
    def sink(
        self,
        format: str,
        path: str | os.PathLike[str],
        *,
        partition_by: str | Sequence[str] = (),
        every: str | timedelta | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        """Write the rows to files, exactly once: a folder ``batch=N`` for each batch, replaced if it is repeated.

        Args:
            format: ``parquet`` or ``json``.
            path: Folder that Spark can write.
            partition_by: Columns whose values are folders, such as ``day=2024-05-01``, instead of columns in the files.
            every: How often batches begin at most: fewer, larger files; as the program says unless told.
            name: Of the stage.
            options: Of Spark's writer for the format, such as ``compression="zstd"``.
        """
        if format not in _FILES:
            raise PlanError(f"sink knows {' and '.join(_FILES)} files, not {format!r}")
        if self.node.updates:
            raise PlanError("files only grow: rows that change cannot go there. Use emit='final', or to(topic)")
        if not isinstance(path, str | os.PathLike) or not str(path):
            raise PlanError(f"sink needs the path of a folder, not {path!r}")
        given = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
        folders = known_columns(self.node.schema, given, "partition_by")
        if folders and len(folders) == len(self.node.schema):
            raise PlanError("partition_by= would leave no column for the files")
        output = FileOutput(format, os.fspath(path), options, folders, _pause(every))
        self._program.add(self.node, output, check_topic_name(name or output.name), caller())


def step_name(given: str | None, kind: str, parts: Iterable[object]) -> str:
    """Return the name of a stateful step: as given, or one that stays while the declaration does."""
    if given is not None:
        return check_topic_name(given)
    return f"{kind}-{hashlib.sha256(repr(tuple(map(str, parts))).encode()).hexdigest()[:8]}"


def called(node: Node, otherwise: str) -> str:
    """Return the name of the stream from which rows come, if there is just one, as it can stand in SQL."""
    topics = {source.topic for source in node.walk() if isinstance(source, Source)}
    name = topics.pop() if len(topics) == 1 else otherwise
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def _same(node: Node, name: str) -> Expression:
    return Expression(quote(name), node.schema[name])


def _pause(every: str | timedelta | None) -> timedelta | None:
    return None if every is None else parse_pause(every)
