"""Partition's top-down splitting.

All state is per occurrence of an item: ``cover`` is the node that stands for it now, ``below`` the
child of that node on the way down to the item, or -1 where the node may not be split (it is the
item itself, or its split failed here). Every record of a part has the same set of covers, so the
part needs no item list of its own; a part is a run of ``place``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import Int32Array, Int64Array

DEPTH, GROUPS, DONE, MOVED, ABSORBED = range(5)


@compiled
def child_towards(child_offsets: Int64Array, children: Int32Array, node: int, leaf: int) -> int:
    """Return the child of `node` above `leaf`, -1 if `node` is the leaf; children in preorder.

    >>> child_towards(np.array([0, 2, 2, 3, 3]), np.array([1, 2, 3], np.int32), 0, 3)
    2
    """
    low, high = child_offsets[node], child_offsets[node + 1]
    if low == high:
        return -1
    # Nodes are in preorder: the child above a leaf is the last whose number is not above the leaf.
    while high - low > 1:
        middle = (low + high) // 2
        if children[middle] <= leaf:
            low = middle
        else:
            high = middle
    return int(children[low])


@compiled
def best_node(
    rows: Int64Array,
    offsets: Int64Array,
    cover: Int32Array,
    below: Int32Array,
    ncp: Int64Array,
    gain: Int64Array,
) -> int:
    """Return the open node whose split gains most, the lowest of equals, or -1; `gain` is zero.

    One record with a leaf each below nodes 1 and 3, of 2 and 4 leaves:

    >>> best_node(np.array([0]), np.array([0, 2]), np.array([1, 3], np.int32),
    ...           np.array([2, 4], np.int32), np.array([6, 2, 0, 4, 0]), np.zeros(5, np.int64))
    3
    """
    # A leaf whose `below` is negative is closed: its node was not split and never will be.
    for row in rows:
        for at in range(offsets[row], offsets[row + 1]):
            if below[at] >= 0:
                gain[cover[at]] += ncp[cover[at]] - ncp[below[at]]
    best, best_gain = -1, np.int64(-1)
    # All records of a part have the same open nodes, so those of the first one are all there are.
    first, last = offsets[rows[0]], offsets[rows[0] + 1]
    for at in range(first, last):
        if below[at] >= 0 and gain[cover[at]] > best_gain:
            best, best_gain = int(cover[at]), gain[cover[at]]
    gain[cover[first:last]] = 0
    return best


@compiled
def distribute(
    rows: Int64Array,
    offsets: Int64Array,
    cover: Int32Array,
    below: Int32Array,
    ncp: Int64Array,
    node: int,
) -> tuple[Int64Array, Int64Array, int]:
    """Give a number to each set of children of `node` that a row hits, by first appearance.

    A set is a path in a trie of children, whose edges live in a hash table with open addressing:
    only sets that occur are ever built. Returns each row's number, its gain, and how many numbers
    there are.

    >>> below = np.array([1, 2, 2, 1, 2], np.int32)  # the records {1, 2}, {2}, {1, 2}
    >>> distribute(np.array([0, 1, 2]), np.array([0, 2, 3, 5]), np.zeros(5, np.int32), below,
    ...            np.array([2, 0, 0]), 0)
    (array([0, 1, 0]), array([4, 2, 4]), 2)
    """
    n = len(rows)
    number = np.empty(n, dtype=np.int64)
    gains = np.zeros(n, dtype=np.int64)
    held = 0
    for i in range(n):
        for at in range(offsets[rows[i]], offsets[rows[i] + 1]):
            held += cover[at] == node
    # At most half full, so that a search for a free slot ends soon.
    size = 16
    while size < 2 * held:
        size *= 2
    edges = np.full(size, -1, dtype=np.int64)
    targets = np.empty(size, dtype=np.int64)
    named = np.full(held + 1, -1, dtype=np.int64)
    n_vertices = 1
    n_numbers = 0
    for i in range(n):
        # Leaves ascend, so the children of a set come in order, and each set has one path.
        vertex = np.int64(0)
        before = np.int64(-1)
        for at in range(offsets[rows[i]], offsets[rows[i] + 1]):
            if cover[at] != node:
                continue
            child = np.int64(below[at])
            gains[i] += ncp[node] - ncp[child]
            if child == before:
                continue
            before = child
            # One number for the edge from this vertex by this child.
            edge = vertex * len(ncp) + child
            slot = (edge * 0x9E3779B97F4A7C1 >> 20) & (size - 1)  # wraps: multiplicative hash
            while edges[slot] >= 0 and edges[slot] != edge:
                slot = (slot + 1) & (size - 1)
            if edges[slot] < 0:
                edges[slot] = edge
                targets[slot] = n_vertices
                n_vertices += 1
            vertex = targets[slot]
        if named[vertex] < 0:
            named[vertex] = n_numbers
            n_numbers += 1
        number[i] = named[vertex]
    return number, gains, n_numbers


@compiled
def balance(
    number: Int64Array, gains: Int64Array, n_numbers: int, k: int, state: Int64Array
) -> Int64Array:
    """Send rows of small subparts, and others where these are too few, to the leftover subpart.

    The leftover gets the number `n_numbers`. Returns the sizes of all subparts, the leftover last.

    >>> number = np.array([0, 0, 0, 1])
    >>> balance(number, np.array([5, 4, 5, 9]), 2, 2, np.zeros(5, np.int64)).tolist()
    [2, 0, 2]
    >>> number.tolist()
    [0, 2, 0, 2]
    """
    sizes = np.zeros(n_numbers + 1, dtype=np.int64)
    totals = np.zeros(n_numbers, dtype=np.int64)
    for i in range(len(number)):
        sizes[number[i]] += 1
        totals[number[i]] += gains[i]
    for i in range(len(number)):
        if sizes[number[i]] < k:
            number[i] = n_numbers
    for s in range(n_numbers):
        if sizes[s] < k:
            sizes[n_numbers] += sizes[s]
            sizes[s] = 0
    # The leftover is empty, or large enough as it is.
    if not 0 < sizes[n_numbers] < k:
        return sizes
    # Least gain first, rows of equal gain in order: one pass per value of the gain, each moving at
    # least one row. (A sort would do, but takes longer to compile than all the rest.)
    while True:
        least = np.int64(-1)
        for i in range(len(number)):
            s = number[i]
            if s < n_numbers and sizes[s] > k and (least < 0 or gains[i] < least):
                least = gains[i]
        if least < 0:
            break
        for i in range(len(number)):
            s = number[i]
            if s < n_numbers and sizes[s] > k and gains[i] == least:
                number[i] = n_numbers
                sizes[s] -= 1
                totals[s] -= least
                sizes[n_numbers] += 1
                state[MOVED] += 1
                if sizes[n_numbers] == k:
                    return sizes
    # Nobody can spare another row: the subpart that gains least joins the leftover as a whole.
    poorest = np.int64(-1)
    for s in range(n_numbers):
        if sizes[s] > 0 and (poorest < 0 or totals[s] < totals[poorest]):
            poorest = np.int64(s)
    for i in range(len(number)):
        if number[i] == poorest:
            number[i] = n_numbers
    state[ABSORBED] += 1
    sizes[n_numbers] += sizes[poorest]
    sizes[poorest] = 0
    return sizes


@compiled
def split_parts(
    offsets: Int64Array,
    leaves: Int32Array,
    child_offsets: Int64Array,
    children: Int32Array,
    ncp: Int64Array,
    k: int,
    cover: Int32Array,
    below: Int32Array,
    place: Int64Array,
    stack: Int64Array,
    group: Int64Array,
    splits: Int64Array,
    state: Int64Array,
    stop: int,
) -> None:
    """Split the parts on `stack` until none is left or `stop` records have their final group.

    `stack` holds (start, end) runs of `place`; `group` receives each record's group; `splits`
    counts per node the records that went from it to its children; `state` holds the counters
    named above.

    Two records {1}, {1} and two {2} below the root 0, k = 2:

    >>> cover, below = np.zeros(4, np.int32), np.array([1, 1, 2, 2], np.int32)
    >>> group, state = np.zeros(4, np.int64), np.array([1, 0, 0, 0, 0])
    >>> split_parts(np.arange(5), below.copy(), np.array([0, 2, 2, 2]), np.array([1, 2], np.int32),
    ...             np.array([2, 0, 0]), 2, cover, below, np.arange(4),
    ...             np.array([[0, 4], [0, 0], [0, 0]]), group, np.zeros(3, np.int64), state, 4)
    >>> group.tolist(), cover.tolist()
    ([1, 1, 0, 0], [1, 1, 2, 2])
    """
    gain = np.zeros(len(ncp), dtype=np.int64)
    while state[DEPTH] > 0 and state[DONE] < stop:
        state[DEPTH] -= 1
        start, end = stack[state[DEPTH], 0], stack[state[DEPTH], 1]
        rows = place[start:end].copy()
        # Depth-first over runs of `place`: a part is either final or replaced by its subparts, in
        # the same run, so that no other array is needed.
        node = best_node(rows, offsets, cover, below, ncp, gain)
        if node < 0:
            group[rows] = state[GROUPS]
            state[GROUPS] += 1
            state[DONE] += len(rows)
            continue
        number, gains, n_numbers = distribute(rows, offsets, cover, below, ncp, node)
        sizes = balance(number, gains, n_numbers, k, state)
        splits[node] += len(rows) - sizes[n_numbers]
        ends = start + np.cumsum(sizes)
        for s in range(len(sizes)):
            if sizes[s] > 0:
                stack[state[DEPTH], 0] = ends[s] - sizes[s]
                stack[state[DEPTH], 1] = ends[s]
                state[DEPTH] += 1
        # From ends to begins: the rows of each subpart are placed from its begin on.
        ends -= sizes
        for i in range(len(rows)):
            row = rows[i]
            place[ends[number[i]]] = row
            ends[number[i]] += 1
            for at in range(offsets[row], offsets[row + 1]):
                if cover[at] != node:
                    continue
                if number[i] == n_numbers:
                    # The leftover keeps the node as it is, for good.
                    below[at] = -1
                else:
                    cover[at] = below[at]
                    below[at] = child_towards(child_offsets, children, cover[at], leaves[at])
