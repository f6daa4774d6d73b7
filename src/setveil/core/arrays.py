"""Compressed rows (CSR): row i is ``values[offsets[i]:offsets[i + 1]]``; and names for arrays.

>>> offsets_of([2, 0, 1]).tolist()
[0, 2, 2, 3]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
SignArray = npt.NDArray[np.uint64]
"""Bits, 64 to a word."""
Weights = npt.NDArray[Any]
"""Integers of 32 or 64 bits, as large as the data needs."""


def offsets_of(lengths: npt.NDArray[Any] | Sequence[int]) -> Int64Array:
    """Return where rows of these lengths begin, one after the other, and where the last ends."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:], dtype=np.int64)
    return offsets


def kept_offsets(offsets: Int64Array, kept: npt.NDArray[Any]) -> Int64Array:
    """Return the offsets of rows of which only some values are kept.

    >>> kept_offsets(np.array([0, 2, 3]), np.array([True, False, True])).tolist()
    [0, 1, 2]
    """
    return offsets_of(kept)[offsets]
