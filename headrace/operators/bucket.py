"""A bucket of keys: gives an operator the pages that a batch touches, and keeps what it returns."""

from typing import Protocol

import numpy as np
import pyarrow as pa

from headrace.operators.operator import HASH, Operator, Turn, numbers
from headrace.operators.pages import NEVER, Layout, joined, split


class Shelf(Protocol):
    """Where a bucket's layout and pages lie."""

    def layout(self) -> bytes | None:
        """Return the layout, if there is one."""
        ...

    def keep_layout(self, blob: bytes) -> None:
        """Replace the layout."""
        ...

    def pages(self, wanted: list[int], of: int) -> dict[int, bytes]:
        """Return some of the ``of`` pages that are there."""
        ...

    def keep(self, page: int, blob: bytes) -> None:
        """Replace a page."""
        ...

    def remove(self, page: int) -> None:
        """Take a page away."""
        ...

    def wake(self, at: int) -> None:
        """Have `Bucket.due` called when it is this time, in milliseconds."""
        ...


class Bucket:
    """The keys of one hash value.

    Args:
        operator: What is done with them.
        rows: The columns of the rows that come.
        step: How the user calls it, for what cannot be read.
        shelf: Where they are kept.
    """

    def __init__(self, operator: Operator, rows: pa.Schema, step: str, shelf: Shelf) -> None:
        self._operator, self._rows, self._step, self._shelf = operator, rows, step, shelf
        told = ", ".join(f"{field.name} {field.type}" for field in operator.kept)
        stored = shelf.layout()
        self._stored = stored
        self._layout = Layout(told) if stored is None else Layout.decode(stored, told, step)

    def take(self, rows: pa.Table, now: int) -> Turn:
        """Give the operator the rows of a batch, with what is kept of their keys."""
        return self._turn({int(page) for page in np.unique(self._layout.page_of(numbers(rows, HASH)))}, rows, now)

    def due(self, now: int) -> Turn:
        """Give the operator what has become due."""
        return self._turn(set(self._layout.due_at(now)), self._rows.empty_table(), now)

    def _turn(self, pages: set[int], rows: pa.Table, now: int) -> Turn:
        stored = self._read(pages)
        turn = self._operator.turn(joined(stored.values(), self._operator.kept, self._step), rows, now)
        self._write(pages, turn.kept, stored)
        self._wake(now)
        if (blob := self._layout.encode()) != self._stored:
            self._shelf.keep_layout(blob)
            self._stored = blob
        return turn

    def _read(self, pages: set[int]) -> dict[int, bytes]:
        there = np.flatnonzero(self._layout.sizes)
        return self._shelf.pages([int(page) for page in there if int(page) in pages], len(there))

    def _write(self, pages: set[int], kept: pa.Table, stored: dict[int, bytes]) -> None:
        layout = self._layout
        count = layout.grown(kept.nbytes, pages)
        if count > len(layout.sizes):
            more = layout.parents(count) - pages
            moved = self._read(more)
            stored = stored | moved
            kept = pa.concat_tables([kept, joined(moved.values(), self._operator.kept, self._step)])
            pages = pages | more | set(range(len(layout.sizes), count))
            layout.resize(count)
        for page, blob in split(layout, kept, pages).items():
            if blob and blob != stored.get(page):
                self._shelf.keep(page, blob)
            elif not blob and page in stored:
                self._shelf.remove(page)

    def _wake(self, now: int) -> None:
        """See to it that there is a timer for what is due first; one that is too early does no harm."""
        layout = self._layout
        if layout.timer <= now:
            layout.timer = NEVER  # it has run
        first = max(int(layout.due.min()), now + 1)
        if first < layout.timer:
            self._shelf.wake(first)
            layout.timer = first
