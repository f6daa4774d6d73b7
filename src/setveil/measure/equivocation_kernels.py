"""The least entropy over runs of sorted values."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import FloatArray


@compiled
def least_entropy(values: FloatArray, chances: FloatArray, widths: FloatArray) -> FloatArray:
    """Return for each width the least entropy over partitions into runs no wider than that.

    `values` ascend, `chances` are above 0. The best partition of the first i values ends with a
    run that begins at some j; runs that may end at i are few where the width is small.
    """
    n = len(values)
    found = np.empty(len(widths))
    best = np.zeros(n + 1)
    for w in range(len(widths)):
        # best[i]: the least entropy of the first i values. best[0] = 0, and best[i] needs smaller
        # places only.
        for i in range(1, n + 1):
            least = np.inf
            share = 0.0  # summed run by run: differences of sums would lose small chances
            j = i
            while j >= 1 and values[i - 1] - values[j - 1] <= widths[w]:
                share += chances[j - 1]
                bits = best[j - 1] - share * log2(share)
                least = min(least, bits)
                j -= 1
            best[i] = least
        found[w] = max(best[n], 0.0)
    return found
