"""The pairs of items of each record, as one number each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.kernels.types import Int32Array, Int64Array


@compiled
def row_pairs(offsets: Int64Array, items: Int32Array, width: int) -> Int64Array:
    """Return ``a * width + b`` for all items a before b of a row, row after row.

    >>> row_pairs(np.array([0, 3, 4]), np.array([0, 1, 2, 1], dtype=np.int32), 10).tolist()
    [1, 2, 12]
    """
    total = np.int64(0)
    for row in range(len(offsets) - 1):
        length = offsets[row + 1] - offsets[row]
        total += length * (length - 1) // 2
    pairs = np.empty(total, dtype=np.int64)
    place = 0
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1]):
            begin = np.int64(items[i]) * width
            for j in range(i + 1, offsets[row + 1]):
                pairs[place] = begin + items[j]
                place += 1
    return pairs
