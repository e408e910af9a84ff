"""Where keys are kept: in pages, of which there are more the more is kept.

A page is found from the hash of a key and the number of pages alone. When the pages have grown too large on average,
the next one in turn is split in two, so their number grows by one at a time, and each key moves rarely.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from headrace.core.errors import StateFormatError
from headrace.operators.operator import DUE, HASH, Numbers, numbers

FORMAT = 1  # of the bytes of pages and layouts
LARGE = 32 * 1024  # bytes of a page on average, above which there will be one more
NEVER = np.iinfo(np.int64).max
_HEAD = struct.Struct("<BqI")  # format, earliest timer, length of the schema
_UNUSED = 16  # low bits of the hash, by which keys were spread before
_Blobs = dict[int, bytes]


@dataclass
class Layout:
    """The pages of a bucket: how many bytes each has, and when something in it is due.

    Attributes:
        schema: The columns of what is kept, as text: state of other columns must not be read as these.
        sizes: Bytes of each page; 0 for one that is empty and not there.
        due: In milliseconds, `NEVER` for none.
        timer: When the host will be called.
    """

    schema: str
    sizes: Numbers = field(default_factory=lambda: np.zeros(1, np.int64))
    due: Numbers = field(default_factory=lambda: np.full(1, NEVER))
    timer: int = NEVER

    def encode(self) -> bytes:
        """Return the layout as bytes."""
        text = self.schema.encode()
        return _HEAD.pack(FORMAT, self.timer, len(text)) + text + self.sizes.tobytes() + self.due.tobytes()

    @staticmethod
    def decode(stored: bytes, schema: str, step: str) -> "Layout":
        """Return what `encode` wrote, or say why it cannot be read."""
        if not stored or stored[0] != FORMAT:
            known = stored[0] if stored else "none"
            raise StateFormatError(
                f"the state of '{step}' has the format {known}, this Headrace reads {FORMAT}; run it with the Headrace "
                "that wrote it, or start another version= of the program"
            )
        _, timer, length = _HEAD.unpack_from(stored)
        text = stored[_HEAD.size : _HEAD.size + length].decode()
        if text != schema:
            raise StateFormatError(
                f"the state of '{step}' was kept as {text}, and would be read as {schema}; put the step back as it "
                "was, or start another version= of the program"
            )
        arrays = np.frombuffer(stored, np.int64, offset=_HEAD.size + length)
        half = len(arrays) // 2
        return Layout(schema, arrays[:half].copy(), arrays[half:].copy(), timer)

    def page_of(self, hashes: Numbers) -> Numbers:
        """Return the page of each key."""
        return _address(hashes, len(self.sizes))

    def due_at(self, now: int) -> list[int]:
        """Return the pages in which something is due."""
        return [int(page) for page in np.flatnonzero(self.due <= now)]

    def grown(self, kept: int, loaded: Iterable[int]) -> int:
        """Return how many pages there shall be when those that are loaded have ``kept`` bytes together."""
        total = int(self.sizes.sum()) - int(self.sizes[list(loaded)].sum()) + kept
        enough = total * 4 <= len(self.sizes) * LARGE * 5  # more than a little: not at every batch
        return len(self.sizes) if enough else -(-total // LARGE)

    def parents(self, count: int) -> set[int]:
        """Return the pages whose keys move when there shall be ``count`` pages."""
        found = set()
        for page in range(len(self.sizes), count):
            parent = page
            while parent >= len(self.sizes):
                parent -= 1 << (parent.bit_length() - 1)
            found.add(parent)
        return found

    def resize(self, count: int) -> None:
        """Have more pages, empty ones."""
        more = count - len(self.sizes)
        self.sizes = np.append(self.sizes, np.zeros(more, np.int64))
        self.due = np.append(self.due, np.full(more, NEVER))


def split(layout: Layout, kept: pa.Table, pages: Iterable[int]) -> _Blobs:
    """Return the bytes of some pages, with all that ``kept`` has for them, and note sizes and times in the layout."""
    wanted = sorted(pages)
    layout.sizes[wanted], layout.due[wanted] = 0, NEVER
    if not kept.num_rows:
        return dict.fromkeys(wanted, b"")
    place = layout.page_of(numbers(kept, HASH))
    order = np.argsort(place, kind="stable")
    place = place[order]
    batch = kept.take(pa.array(order)).combine_chunks().to_batches()[0]
    due = batch.column(DUE).fill_null(NEVER).to_numpy()
    begins = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
    blobs = dict.fromkeys(wanted, b"")
    for begin, end in zip(begins, np.append(begins[1:], len(place)), strict=True):
        page = int(place[begin])
        blob = bytes([FORMAT]) + batch.slice(begin, end - begin).serialize().to_pybytes()
        blobs[page] = blob
        layout.sizes[page], layout.due[page] = len(blob), due[begin:end].min()
    return blobs


def joined(blobs: Iterable[bytes], schema: pa.Schema, step: str) -> pa.Table:
    """Return what some pages hold."""
    batches = []
    for blob in blobs:
        if blob[0] != FORMAT:
            raise StateFormatError(f"a page of '{step}' has the format {blob[0]}, this Headrace reads {FORMAT}")
        batches.append(pa.ipc.read_record_batch(pa.py_buffer(blob).slice(1), schema))
    return pa.Table.from_batches(batches, schema)


def _address(hashes: Numbers, count: int) -> Numbers:
    level = count.bit_length() - 1
    shifted = hashes.view(np.uint64) >> np.uint64(_UNUSED)
    large = shifted & np.uint64((2 << level) - 1)
    small = shifted & np.uint64((1 << level) - 1)
    return np.where(large < count, large, small).astype(np.int64)
