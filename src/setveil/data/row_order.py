"""Compressed rows of many items put into order, by kernels and in threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

COMPILED = 1 << 19  # items from which on these pay: numba must be imported first
THREADS = min(os.cpu_count() or 1, 4)

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]


def ranked_rows(
    offsets: Int64Array, items: Int32Array, rank: Int32Array, n_ranks: int
) -> tuple[Int64Array, Int32Array]:
    """Return rows of ranks, sorted and without repetitions; overwrites what it is given.

    Items with a negative rank are dropped; all ranks are below `n_ranks`.

    >>> offsets, items = ranked_rows(
    ...     np.array([0, 3, 4]), np.array([2, 0, 2, 1], np.int32), np.array([7, 5, 6], np.int32), 8)
    >>> offsets.tolist(), items.tolist()
    ([0, 2, 3], [6, 7, 5])
    """
    from setveil.kernels.fimi import rank_rows

    # Every thread takes rows that hold about as many items as those of the others. A part gets
    # its start as a number: the entry is overwritten by the part before.
    shares = np.searchsorted(offsets, np.linspace(0, len(items), THREADS + 1)[1:-1])
    cuts = [0, *shares.tolist(), len(offsets) - 1]
    starts = offsets[cuts].tolist()

    def ranked(part: int) -> int:
        ends = offsets[cuts[part] + 1 : cuts[part + 1] + 1]
        return rank_rows(ends, starts[part], items, rank, n_ranks)

    with ThreadPoolExecutor(THREADS) as pool:
        stops = list(pool.map(ranked, range(THREADS)))
    # Close the gaps between the parts.
    total = stops[0]
    for part in range(1, THREADS):
        gap = starts[part] - total
        if gap:
            offsets[cuts[part] + 1 : cuts[part + 1] + 1] -= gap
            items[total : stops[part] - gap] = items[starts[part] : stops[part]]
        total = stops[part] - gap
    # A few items too many are cheaper to keep than a second array is to make.
    return offsets, items[:total] if total > 0.8 * len(items) else items[:total].copy()


def grouped_pairs(
    n_records: int, records: npt.NDArray[np.integer], items: Int32Array
) -> tuple[Int64Array, Int32Array]:
    """Return rows from pairs of a record's and an item's number; items keep their order.

    >>> offsets, items = grouped_pairs(2, np.array([1, 0, 1]), np.array([7, 8, 9], np.int32))
    >>> offsets.tolist(), items.tolist()
    ([0, 1, 3], [8, 7, 9])
    """
    offsets = np.zeros(n_records + 1, dtype=np.int64)
    if len(items) < COMPILED:
        np.cumsum(np.bincount(records, minlength=n_records), out=offsets[1:])
        if np.any(records[1:] < records[:-1]):
            items = items[np.argsort(records, kind="stable")]
        return offsets, items
    from setveil.kernels.fimi import count_pairs, group_pairs

    numbers = records.astype(np.int32, copy=False)
    if count_pairs(numbers, offsets):
        return offsets, items
    grouped = np.empty(len(items), dtype=np.int32)
    group_pairs(numbers, items, offsets[:-1].copy(), grouped)
    return offsets, grouped


def number_in_place(codes: Int32Array, size: int) -> int:
    """Replace codes by numbers in the order of their first appearance; return how many there are.

    `size` is more than any code.

    >>> codes = np.array([9, 4, 9], np.int32)
    >>> number_in_place(codes, 10), codes.tolist()
    (2, [0, 1, 0])
    """
    if len(codes) < COMPILED:
        known: dict[int, int] = {}
        codes[:] = [known.setdefault(code, len(known)) for code in codes.tolist()]
        return len(known)
    from setveil.kernels.fimi import number_codes

    return number_codes(codes, np.full(size, -1, dtype=np.int32))
