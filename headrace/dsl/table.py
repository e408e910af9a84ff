"""Tables: the latest row per key, as aggregations make them."""

from headrace.dsl.grouped import Grouped
from headrace.dsl.rows import Rows
from headrace.plan.node import known_columns
from headrace.plan.where import declared


class Table(Rows):
    """The latest row per key.

    With ``emit="updates"`` a row comes again whenever it changes; with ``emit="final"`` each comes once, so that the
    rows can be aggregated again.
    """

    @declared
    def group_by(self, *columns: str) -> Grouped:
        """Group rows, for example final results of each window by ``window_start`` and ``window_end``.

        Example:
            >>> best = gains.group_by("window_start", "window_end").agg(
            ...     top="top_n(struct(symbol, gain), gain, 10)"
            ... )  # doctest: +SKIP
        """
        return Grouped(self._program, self.node, known_columns(self.node.schema, columns, "group_by"))
