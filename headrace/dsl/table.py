"""Tables: the latest row per key, and what changed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.core.errors import PlanError
from headrace.dsl.grouped import Grouped
from headrace.dsl.rows import Rows, called, step_name
from headrace.plan.join import How, equalities
from headrace.plan.node import known_columns
from headrace.plan.table import Changes
from headrace.plan.table_join import TableJoin
from headrace.plan.where import caller, declared

if TYPE_CHECKING:
    from headrace.dsl.stream import Stream


class Table(Rows):
    """The latest row per key.

    A row comes again whenever it changes, and is deleted where it is no more; the results of windows that are ``final``
    come once each.
    """

    @declared
    def group_by(self, *columns: str) -> Grouped:
        """Group rows; what a row no longer contributes is taken back.

        Example:
            >>> per_city = customers.group_by("city").agg(n="count(*)")  # doctest: +SKIP
        """
        return Grouped(self._program, self.node, known_columns(self.node.schema, columns, "group_by"))

    @declared
    def changes(self, *, before: bool = False, name: str | None = None) -> "Stream":
        """Return the changes as a stream: key, op, before, after, ts and source.

        ``op`` is ``c`` for a row that is new, ``u`` for one that changed, ``d`` for one that is gone.

        Args:
            before: Whether to tell what a row was before, which is remembered for it. Otherwise ``before`` is null and
                ``op`` either ``u`` or ``d``.
            name: Under which rows are remembered.

        Example:
            >>> moved = customers.changes(before=True).filter("before.city <> after.city")  # doctest: +SKIP
        """
        from headrace.dsl.stream import Stream  # noqa: PLC0415 - a stream becomes a table, and a table a stream

        self._check_changing("changes()")
        node = self._settled(alone=before)
        step = step_name(name, "changes", (before, *(one.label for one in node.walk())))
        return Stream(self._program, Changes(node, before, step, where=caller()))

    @declared
    def join(self, other: "Table", *, on: str | Sequence[str], how: How = "inner", name: str | None = None) -> "Table":
        """Join with another table: a table that is right after every change of either.

        Args:
            other: The right side.
            on: A column of both, or an equality such as ``"orders.customer = customers.id"``; of the keys of both, or
                of any other columns.
            how: ``inner``, ``left``, ``right`` or ``full``.
            name: Under which the state is kept.

        Example:
            >>> placed = orders.join(customers, on="customer = id", how="left")  # doctest: +SKIP
        """
        if not isinstance(other, Table):
            raise PlanError(
                f"join() of a table needs another table, not {other!r}; streams join tables, not the reverse"
            )
        self._same_program(other)
        for side in (self, other):
            side._check_changing("join()")
        left, right = self._settled(alone=True), other._settled(alone=True)
        names = (called(left, "left"), called(right, "right"))
        pairs = equalities(on, left, right, names)
        step = step_name(name, "join", (*pairs, how, *names))
        joined = TableJoin(left, right, pairs, how, names, step, where=caller())
        if joined.paged:
            left, right = (self._program.weighed(side, caller()) for side in (left, right))
            joined = TableJoin(left, right, pairs, how, names, step, where=caller())
        return self._next(joined)

    @declared
    def get(self, key: Any) -> dict[str, Any] | None:
        """Return the current row of a key, or None: from a view that follows the table's topic.

        Args:
            key: The value of the key column; a dict or a tuple where there are several.

        Example:
            >>> customers.get("ann")  # doctest: +SKIP
        """
        return self._program.view(self.node).get(key)

    @declared
    def range(self, low: Any = None, high: Any = None, *, limit: int = 1000) -> list[dict[str, Any]]:
        """Return current rows in the order of their key, which must be of one column; both ends are among them."""
        return self._program.view(self.node).range(low, high, limit=limit)

    @declared
    def query(self, sql: str, *params: Any, limit: int = 1000, timeout: float = 10.0) -> list[dict[str, Any]]:
        """Return what SQL selects from the current rows; the table is called like its topic.

        Args:
            sql: A SELECT of SQLite.
            params: For each ``?`` in it.
            limit: At most so many rows.
            timeout: Seconds after which it is stopped.

        Example:
            >>> customers.query("select city, count(*) as n from customers group by city")  # doctest: +SKIP
        """
        return self._program.view(self.node).query(sql, *params, limit=limit, timeout=timeout)

    def _check_changing(self, verb: str) -> None:
        if not self.node.updates:
            raise PlanError(f"{verb}: these results are final, they do not change; use emit='updates'")
