"""Raising the nodes of a rare set to ancestors, where it costs least.

Costs are whole numbers: occurrences times leaves, so that ties are exact. ``extra[v]`` is what
publishing node `v` would cost more than what now stands below it. Records are sorted runs of
leaves; the places where a rank stands in their rows tell which records hold a node (see
:mod:`setveil.kernels.apriori_km`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.kernels.types import BoolArray, Int32Array, Int64Array


@compiled
def holds(leaves: Int32Array, start: int, stop: int, node: int, end: int) -> bool:
    """Tell whether the sorted run of leaves has one from `node` to before `end`.

    >>> holds(np.array([2, 5, 9], np.int32), 0, 3, 3, 6), holds(np.array([2], np.int32), 0, 1, 3, 6)
    (True, False)
    """
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if leaves[middle] < node:
            low = middle + 1
        else:
            high = middle
    return bool(low < stop and leaves[low] < end)


@compiled
def is_frequent(
    nodes: Int64Array,
    n_nodes: int,
    k: int,
    offsets: Int64Array,
    leaves: Int32Array,
    ends: Int32Array,
    rank: Int32Array,
    heads: Int64Array,
    places: Int64Array,
    row_of: Int32Array,
) -> bool:
    """Tell whether at least `k` records hold all of the nodes; counting stops at k."""
    if nodes[0] == 0:
        return True
    rarest = 0
    for j in range(1, n_nodes):
        r, best = rank[nodes[j]], rank[nodes[rarest]]
        if heads[r + 1] - heads[r] < heads[best + 1] - heads[best]:
            rarest = j
    r = rank[nodes[rarest]]
    common = 0
    for i in range(heads[r], heads[r + 1]):
        if common + heads[r + 1] - i < k:
            return False
        row = row_of[places[i]]
        together = True
        for j in range(n_nodes):
            if j != rarest and not holds(
                leaves, offsets[row], offsets[row + 1], nodes[j], ends[nodes[j]]
            ):
                together = False
                break
        if together:
            common += 1
            if common == k:
                return True
    return False


@compiled
def is_listed(nodes: Int64Array, n_nodes: int, rank: Int32Array, rare: Int64Array) -> bool:
    """Tell whether a set of nodes, sorted by rank, is among sorted rows of ranks.

    >>> rare = np.array([[0, 2], [1, 2], [1, 3]])
    >>> ranks = np.array([-1, 0, 1, 2, 3], np.int32)
    >>> is_listed(np.array([2, 3]), 2, ranks, rare), is_listed(np.array([1, 4]), 2, ranks, rare)
    (True, False)
    """
    if n_nodes != rare.shape[1]:
        return False
    low, high = 0, len(rare)
    while low < high:
        middle = (low + high) // 2
        side = 0
        for j in range(n_nodes):
            if side == 0 and rare[middle, j] != rank[nodes[j]]:
                side = -1 if rare[middle, j] < rank[nodes[j]] else 1
        if side == 0:
            return True
        if side < 0:
            low = middle + 1
        else:
            high = middle
    return False


@compiled
def raised(
    itemset: Int64Array,
    steps: Int32Array,
    parents: Int32Array,
    ends: Int32Array,
    extra: Int64Array,
    nodes: Int64Array,
    kept: BoolArray,
) -> int:
    """Raise each node of `itemset` by its steps; return what that costs.

    Writes the ancestors into `nodes`, and into `kept` which of them remain: a node at or below
    another one does not.

    >>> nodes, kept = np.zeros(2, np.int64), np.zeros(2, np.bool_)
    >>> raised(np.array([2, 3]), np.array([1, 0], np.int32), np.array([-1, 0, 1, 1], np.int32),
    ...        np.array([4, 4, 3, 4], np.int32), np.array([9, 7, 0, 0]), nodes, kept)
    7
    >>> nodes.tolist(), kept.tolist()
    ([1, 3], [True, False])
    """
    for j in range(len(itemset)):
        nodes[j] = itemset[j]
        for _ in range(steps[j]):
            nodes[j] = parents[nodes[j]]
    cost = 0
    for j in range(len(itemset)):
        kept[j] = True
        for other in range(len(itemset)):
            if nodes[other] <= nodes[j] < ends[nodes[other]] and (
                nodes[other] < nodes[j] or other < j
            ):
                kept[j] = False
        if kept[j] and steps[j] > 0:
            cost += extra[nodes[j]]
    return cost


@compiled
def pick(
    nodes: Int64Array,
    kept: BoolArray,
    steps: Int32Array,
    least: int,
    rank: Int32Array,
    picked: Int64Array,
) -> int:
    """Write the kept nodes with at least so many steps into `picked`, by rank; return how many.

    >>> picked = np.zeros(3, np.int64)
    >>> pick(np.array([1, 0, 2]), np.array([True, True, True]), np.array([1, 0, 2], np.int32), 1,
    ...      np.array([0, 2, 1], np.int32), picked), picked.tolist()
    (2, [2, 1, 0])
    """
    n = 0
    for j in range(len(nodes)):
        if kept[j] and steps[j] >= least:
            at = n
            while at > 0 and rank[picked[at - 1]] > rank[nodes[j]]:
                picked[at] = picked[at - 1]
                at -= 1
            picked[at] = nodes[j]
            n += 1
    return n


@compiled
def is_more_specific(a: Int64Array, n_a: int, b: Int64Array, n_b: int, rank: Int32Array) -> bool:
    """Compare nodes sorted by rank, from the last on: the greater rank wins, else the shorter.

    >>> is_more_specific(np.array([1, 3]), 2, np.array([1, 2]), 2, np.arange(4, dtype=np.int32))
    True
    """
    for j in range(1, min(n_a, n_b) + 1):
        if a[n_a - j] != b[n_b - j]:
            return bool(rank[a[n_a - j]] > rank[b[n_b - j]])
    return bool(n_a < n_b)


@compiled
def push(heap: Int64Array, size: int, costs: Int64Array, made: int) -> None:
    """Put a candidate onto a heap of `size`, the cheapest on top; there is room for it.

    >>> heap = np.array([0, -1])
    >>> push(heap, 1, np.array([7, 3]), 1)
    >>> heap.tolist()
    [1, 0]
    """
    at = size
    while at > 0 and costs[made] < costs[heap[(at - 1) // 2]]:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = made


@compiled
def pop(heap: Int64Array, size: int, costs: Int64Array) -> int:
    """Take the cheapest candidate off a heap of `size`.

    >>> heap = np.array([1, 0])
    >>> pop(heap, 2, np.array([7, 3])), int(heap[0])
    (1, 0)
    """
    top, moved = heap[0], heap[size - 1]
    at, below = 0, 1
    while below < size - 1:
        if below + 1 < size - 1 and costs[heap[below + 1]] < costs[heap[below]]:
            below += 1
        if costs[heap[below]] >= costs[moved]:
            break
        heap[at] = heap[below]
        at, below = below, 2 * below + 1
    heap[at] = moved
    return int(top)


@compiled
def doubled(
    steps: Int32Array, costs: Int64Array, heap: Int64Array
) -> tuple[Int32Array, Int64Array, Int64Array]:
    """Return copies of the candidates' arrays with twice the room."""
    n = len(costs)
    more_steps = np.empty((2 * n, steps.shape[1]), dtype=np.int32)
    more_costs, more_heap = np.empty(2 * n, dtype=np.int64), np.empty(2 * n, dtype=np.int64)
    for i in range(n):
        more_costs[i], more_heap[i] = costs[i], heap[i]
        for j in range(steps.shape[1]):
            more_steps[i, j] = steps[i, j]
    return more_steps, more_costs, more_heap


@compiled
def cheapest_ancestors(
    itemset: Int64Array,
    k: int,
    offsets: Int64Array,
    leaves: Int32Array,
    parents: Int32Array,
    ends: Int32Array,
    extra: Int64Array,
    rank: Int32Array,
    heads: Int64Array,
    places: Int64Array,
    row_of: Int32Array,
    rare: Int64Array,
) -> Int64Array:
    """Return the ancestors to which raising some nodes of a rare set costs least.

    They and the nodes that stay are held by at least `k` records; of equal costs the most
    specific ones are taken. Candidates come by rising cost; each is made once, from the one with
    a step less at its last raised node.

    Where the records are elsewhere, `rare` lists the rare sets of as many nodes, as sorted rows of
    ranks; it is empty otherwise.
    """
    size = len(itemset)
    steps = np.zeros((16, size), dtype=np.int32)
    costs, heap = np.zeros(16, dtype=np.int64), np.zeros(16, dtype=np.int64)
    n_made, n_waiting = 1, 1
    nodes, kept = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.bool_)
    above, ignored = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.bool_)
    best, n_best, least = np.empty(size, dtype=np.int64), 0, np.int64(0)
    while n_waiting > 0 and (n_best == 0 or costs[heap[0]] == least):
        now = pop(heap, n_waiting, costs)
        n_waiting -= 1
        raised(itemset, steps[now], parents, ends, extra, nodes, kept)
        n = pick(nodes, kept, steps[now], 0, rank, above)
        if len(rare) > 0:
            frequent = not is_listed(above, n, rank, rare)
        else:
            frequent = is_frequent(above, n, k, offsets, leaves, ends, rank, heads, places, row_of)
        if frequent:
            n = pick(nodes, kept, steps[now], 1, rank, above)
            if n_best == 0 or is_more_specific(above, n, best, n_best, rank):
                for j in range(n):
                    best[j] = above[j]
                n_best, least = n, costs[now]
        if n_made + size > len(costs):
            steps, costs, heap = doubled(steps, costs, heap)
        for j in range(size - 1, -1, -1):
            if kept[j] and nodes[j] > 0:
                for i in range(size):
                    steps[n_made, i] = steps[now, i] + (i == j)
                costs[n_made] = raised(itemset, steps[n_made], parents, ends, extra, above, ignored)
                push(heap, n_waiting, costs, n_made)
                n_made += 1
                n_waiting += 1
            if steps[now, j] > 0:
                break
    return best[:n_best]


@compiled
def raise_cut(
    node: int, parents: Int32Array, ends: Int32Array, extra: Int64Array, closed: BoolArray
) -> int:
    """Make a node part of the cut: close what lies below it; return what that costs.

    >>> extra, closed = np.array([9, 4, 0]), np.zeros(3, np.bool_)
    >>> raise_cut(1, np.array([-1, 0, 1], np.int32), np.array([3, 3, 3], np.int32), extra, closed)
    4
    >>> extra.tolist(), closed.tolist()
    ([5, 0, 0], [False, False, True])
    """
    cost = extra[node]
    for below in range(node + 1, ends[node]):
        closed[below] = True
    above = np.int64(node)
    while above >= 0:
        # What stands below these nodes costs more from now on, so they cost less beyond it.
        extra[above] -= cost
        above = np.int64(parents[above])
    return int(cost)
