"""Lists of the documents that hold a term, and how two sets of such lists meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from setveil.relatedness.base import IntArray

    Postings = npt.NDArray[np.uint32] | npt.NDArray[np.int32]

BLOCK = 256
"""Terms counted at a time: bounds the memory of their bitsets, whatever is asked for."""


def meet(
    rows: Sequence[str],
    columns: Sequence[str],
    postings_of: Callable[[str], Postings],
    total: int,
) -> IntArray:
    """Return for each row term and column term how many documents hold both.

    Parameters
    ----------
    rows, columns
        Terms; repeated ones are counted once.
    postings_of
        Gives the numbers of the documents that hold a term, each once.
    total
        Number of documents.

    Examples
    --------
    >>> lists = {"flu": [0, 2], "cough": [2, 3], "gout": []}
    >>> meet(["flu", "gout"], ["cough", "flu"],
    ...      lambda term: np.array(lists[term], dtype=np.int32), 4).tolist()
    [[1, 2], [0, 0]]
    """
    from setveil.kernels.postings import pair_counts

    down, rows_at = _distinct(rows)
    across, columns_at = _distinct(columns)
    counts = np.zeros((len(down), len(across)), dtype=np.int64)
    for c in range(0, len(across), BLOCK):
        column_lists = _joined([postings_of(term) for term in across[c : c + BLOCK]])
        for r in range(0, len(down), BLOCK):
            row_lists = _joined([postings_of(term) for term in down[r : r + BLOCK]])
            counts[r : r + BLOCK, c : c + BLOCK] = pair_counts(*row_lists, *column_lists, total)
    return counts[np.ix_(rows_at, columns_at)]


def _distinct(terms: Sequence[str]) -> tuple[list[str], IntArray]:
    place: dict[str, int] = {}
    at = np.array([place.setdefault(term, len(place)) for term in terms], dtype=np.int64)
    return list(place), at


def _joined(lists: list[Postings]) -> tuple[IntArray, npt.NDArray[np.int32]]:
    starts = np.concatenate([[0], np.cumsum([len(each) for each in lists], dtype=np.int64)])
    joined = np.concatenate([np.empty(0, dtype=np.int32), *lists], casting="unsafe", dtype=np.int32)
    return starts.astype(np.int64), joined
