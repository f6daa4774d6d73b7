"""Lines of numbers into compressed rows: plainly where they are few, by kernels where many."""

from __future__ import annotations

import os
import re
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from setveil.data.collectors import Collected
from setveil.data.table import Int32Array, Int64Array, TransactionTable, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MARKED = 1 << 20  # numbers below are marked while they are parsed
DENSE = 1 << 26  # numbers below are looked up in an array, larger ones by sorting
THREADS = min(os.cpu_count() or 1, 4)

_DIRTY = re.compile(rb"[^0-9 \t\r\n]|\b0[0-9]|[0-9]{19}|\r(?!\n)")


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """Records of numbers: all of them in a row, and how many there are up to each record's end."""

    values: npt.NDArray[np.integer]
    ends: Int64Array
    largest: int


def parse_plainly(block: bytes) -> Numbers | None:
    r"""Parse whole lines in plain Python; None if something else than numbers is in them.

    >>> parse_plainly(b"3 10\n7\n").values.tolist()
    [3, 10, 7]
    >>> parse_plainly(b"3 x\n") is None
    True
    """
    if _DIRTY.search(block):
        return None
    ends = np.cumsum([len(line.split()) for line in block.split(b"\n")[:-1]], dtype=np.int64)
    values = np.array(list(map(int, block.split())), dtype=np.int64)
    return Numbers(values=values, ends=ends, largest=int(values.max(initial=0)))


class NumberCollector:
    r"""Records of non-negative numbers, added in blocks; a number's name is its decimal text.

    >>> numbers = NumberCollector()
    >>> numbers.add_all([b"10 9\n", b"10\n"], lambda block, before: None, compiled=False)
    >>> numbers.finish().table.to_rows()
    [['10', '9'], ['10']]
    """

    def __init__(self) -> None:
        self._blocks: list[npt.NDArray[np.integer]] = []
        self._ends: list[Int64Array] = [np.zeros(1, dtype=np.int64)]
        self._total = 0
        self._largest = 0
        self._seen = np.zeros(MARKED, dtype=bool)
        self._marked = True

    def add_all(
        self,
        blocks: Iterable[bytes],
        otherwise: Callable[[bytes, int], Numbers],
        *,
        compiled: bool,
    ) -> None:
        """Parse and add blocks of whole lines.

        A block that holds anything but numbers goes to `otherwise`, with the number of lines
        before it.
        """
        lines = 0
        parsed = self._in_threads(blocks) if compiled else ((b, parse_plainly(b)) for b in blocks)
        for block, clean in parsed:
            numbers = otherwise(block, lines) if clean is None else clean
            lines += block.count(b"\n") if clean is None else len(clean.ends)
            self._ends.append(numbers.ends + self._total)
            self._total += len(numbers.values)
            self._largest = max(self._largest, numbers.largest)
            self._blocks.append(numbers.values)
            # The kernel marks what it parses, also in a line that is then left out.
            self._marked = self._marked and compiled and clean is not None

    def _in_threads(self, blocks: Iterable[bytes]) -> Iterator[tuple[bytes, Numbers | None]]:
        """Parse blocks by the kernel, a few ahead of what is asked for, and keep their order."""
        waiting: deque[tuple[bytes, Future[Numbers | None]]] = deque()
        with ThreadPoolExecutor(THREADS) as pool:
            for block in blocks:
                waiting.append((block, pool.submit(self._parse, block)))
                if len(waiting) > 2 * THREADS:
                    first, future = waiting.popleft()
                    yield first, future.result()
            for block, future in waiting:
                yield block, future.result()

    def _parse(self, block: bytes) -> Numbers | None:
        from setveil.kernels.fimi import CLEAN, parse_lines  # noqa: PLC0415  (numba where it pays)

        text = np.frombuffer(block, dtype=np.uint8)
        values = np.empty(len(block) // 2 + 1, dtype=np.int64)
        ends = np.empty(len(block), dtype=np.int64)
        found, lines, largest, wrong = parse_lines(text, values, ends, self._seen)
        if wrong != CLEAN:
            return None
        kind = np.int32 if largest < 1 << 31 else np.int64
        return Numbers(
            values=values[:found].astype(kind), ends=ends[:lines].copy(), largest=largest
        )

    def finish(self, *, compiled: bool = False) -> Collected:
        """Return the table; `compiled` orders its rows by a kernel, which pays for large data."""
        offsets = np.concatenate(self._ends)
        values = np.concatenate(self._blocks) if self._blocks else np.empty(0, dtype=np.int32)
        self._blocks.clear()
        names, rank, values = self._ranked(values)
        if compiled:
            offsets, items = ranked_rows(offsets, values.astype(np.int32, copy=False), rank)
            table = TransactionTable(
                offsets=offsets, items=items, vocabulary=Vocabulary(names=tuple(names))
            )
        else:
            table = TransactionTable.from_csr(offsets, rank[values], names)
        return Collected(table=table, duplicates=self._total - len(table.items))

    def _ranked(
        self, values: npt.NDArray[np.integer]
    ) -> tuple[list[str], Int32Array, npt.NDArray[np.integer]]:
        """Return the sorted names, and ranks and values such that a value's rank is its name's."""
        if self._largest < DENSE:
            seen = self._seen
            if not self._marked or self._largest >= MARKED:
                seen = np.zeros(self._largest + 1, dtype=bool)
                seen[values] = True
            numbers = places = np.flatnonzero(seen)
        else:
            numbers, values = np.unique(values, return_inverse=True)
            places = np.arange(len(numbers))
        names = [str(number) for number in numbers.tolist()]
        order = sorted(range(len(names)), key=names.__getitem__)
        rank = np.empty(places[-1] + 1 if len(places) else 0, dtype=np.int32)
        rank[places[order]] = np.arange(len(names), dtype=np.int32)
        return [names[i] for i in order], rank, values


def ranked_rows(
    offsets: Int64Array, items: Int32Array, rank: Int32Array
) -> tuple[Int64Array, Int32Array]:
    """Return rows of ranks, sorted and without repetitions; overwrites `items`.

    >>> offsets, items = ranked_rows(
    ...     np.array([0, 3, 4]), np.array([2, 0, 2, 1], np.int32), np.array([7, 5, 6], np.int32))
    >>> offsets.tolist(), items.tolist()
    ([0, 2, 3], [6, 7, 5])
    """
    from setveil.kernels.fimi import rank_rows  # noqa: PLC0415  (numba only where it pays)

    # Every thread takes rows that hold about as many items as those of the others.
    shares = np.searchsorted(offsets, np.linspace(0, len(items), THREADS + 1)[1:-1])
    cuts = [0, *shares.tolist(), len(offsets) - 1]
    parts = [
        (offsets[a : b + 1] - offsets[a], items[offsets[a] : offsets[b]]) for a, b in pairwise(cuts)
    ]
    with ThreadPoolExecutor(THREADS) as pool:
        kept = list(pool.map(lambda part: rank_rows(part[0], part[1], rank), parts))
    if sum(kept) == len(items):
        return offsets, items
    lengths = np.concatenate([np.diff(part) for part, _ in parts])
    merged = np.concatenate([[0], np.cumsum(lengths)])
    return merged, np.concatenate([part[:n] for (_, part), n in zip(parts, kept, strict=True)])
