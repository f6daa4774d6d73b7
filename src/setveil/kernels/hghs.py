"""The records that a split of one node of the cut changes, and supports of a few nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.kernels.types import BoolArray, Int32Array, Int64Array


@compiled
def rows_of_split(
    offsets: Int64Array,
    leaves: Int32Array,
    holders: Int64Array,
    first: int,
    end: int,
    child_of: Int64Array,
    n_children: int,
    rank_of: Int64Array,
    seen: BoolArray,
) -> tuple[Int64Array, Int32Array]:
    """Return the records with a leaf in [first, end), over the children and the rest of the cut.

    A record holds first the numbers of the children above its leaves in [first, end), then
    `n_children` plus the ranks of the cut's nodes above its other leaves, each ascending and
    once. Rows of leaves are sorted; `holders` are the records of these leaves, with repetitions;
    `child_of` numbers the children from `first` on; a negative rank leaves a leaf out; `seen` is
    false before and after.

    The records {2, 3} and {4}: 2 and 3 lie below nodes that become children, 4 has rank 0.

    >>> rows_of_split(np.array([0, 2, 4]), np.array([2, 3, 2, 4], np.int32), np.array([0, 1, 0]),
    ...               2, 4, np.array([0, 1]), 2, np.array([-1, -1, -1, -1, 0]), np.zeros(2, bool))
    (array([0, 2, 4]), array([0, 1, 0, 2], dtype=int32))
    """
    n_rows, size = 0, 0
    rows = np.empty(len(holders), dtype=np.int64)
    for row in holders:
        if not seen[row]:
            seen[row] = True
            rows[n_rows] = row
            n_rows += 1
            size += offsets[row + 1] - offsets[row]
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    items = np.empty(size, dtype=np.int32)
    at = 0
    for i in range(n_rows):
        seen[rows[i]] = False
        row = leaves[offsets[rows[i]] : offsets[rows[i] + 1]]
        before = np.int64(-1)
        for leaf in row:
            if first <= leaf < end and child_of[leaf - first] != before:
                before = child_of[leaf - first]
                items[at] = before
                at += 1
        before = np.int64(-1)
        for leaf in row:
            outside = leaf < first or leaf >= end
            if outside and rank_of[leaf] >= 0 and rank_of[leaf] != before:
                before = rank_of[leaf]
                items[at] = n_children + before
                at += 1
        starts[i + 1] = at
    return starts, items[:at]


@compiled
def rest_is_frequent(
    offsets: Int64Array,
    leaves: Int32Array,
    holder_offsets: Int64Array,
    holders: Int64Array,
    ends: Int32Array,
    first: int,
    end: int,
    set_offsets: Int64Array,
    sets: Int64Array,
    k: int,
    seen: BoolArray,
) -> BoolArray:
    """Tell for each set of nodes whether `k` records hold what it has outside [first, end).

    Asked only of sets with one node inside; of others, and of pairs, the answer is yes. The
    records of node `v` are ``holders[holder_offsets[v] : holder_offsets[ends[v]]]``, with
    repetitions. `seen` is false before and after.

    The records {1, 2, 3} and {2}: only one holds both 2 and 3.

    >>> rest_is_frequent(np.array([0, 3, 4]), np.array([1, 2, 3, 2], np.int32),
    ...     np.array([0, 0, 1, 3, 4]), np.array([0, 0, 1, 0]), np.array([4, 2, 3, 4], np.int32),
    ...     1, 2, np.array([0, 3, 5]), np.array([1, 2, 3, 1, 2]), 2, np.zeros(2, bool))
    array([False,  True])
    """
    answer = np.ones(len(set_offsets) - 1, dtype=np.bool_)
    for s in range(len(answer)):
        nodes = sets[set_offsets[s] : set_offsets[s + 1]]
        inside = 0
        rarest = np.int64(-1)
        for node in nodes:
            if first <= node < end:
                inside += 1
            elif rarest < 0 or (
                holder_offsets[ends[node]] - holder_offsets[node]
                < holder_offsets[ends[rarest]] - holder_offsets[rarest]
            ):
                rarest = node
        if inside != 1 or len(nodes) < 3:
            continue
        rows = holders[holder_offsets[rarest] : holder_offsets[ends[rarest]]]
        found = 0
        for row in rows:
            if seen[row] or found >= k:
                continue
            seen[row] = True
            held = leaves[offsets[row] : offsets[row + 1]]
            missing = 0
            for node in nodes:
                place = np.searchsorted(held, node)
                below = place < len(held) and held[place] < ends[node]
                missing += not (below or first <= node < end)
            found += missing == 0
        for row in rows:
            seen[row] = False
        answer[s] = found >= k
    return answer
