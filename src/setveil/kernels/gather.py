"""Gather's first two stages: splitting records by counts, growing clusters within a block.

Everything works on vectors (see :mod:`setveil.kernels.vectors`): row `t` holds the weights of
record `t` by node. What a cluster `S` keeps is ``|S| * P(S)``, with `P` the sum of the pointwise
minima of its vectors; Gather makes the total of it large. `heavy` is a dense copy of the weights
of the first nodes, which carry nearly all of the weight: it ranks candidates, and the exact
sparse sums then decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.kernels.types import Int32Array, Int64Array, Weights


@compiled
def dense_heads(
    starts: Int64Array, nodes: Int32Array, weights: Weights, n_heads: int, shift: int
) -> Int32Array:
    """Return the weights of the nodes below `n_heads` as a dense matrix, shifted to 32 bits."""
    n = len(starts) - 1
    heavy = np.zeros((n, n_heads), dtype=np.int32)
    for t in range(n):
        for at in range(starts[t], starts[t + 1]):
            if nodes[at] < n_heads:
                heavy[t, nodes[at]] = weights[at] >> shift
    return heavy


@compiled
def row_sums(starts: Int64Array, weights: Weights) -> Int64Array:
    """Return the whole weight of each record."""
    n = len(starts) - 1
    own = np.zeros(n, dtype=np.int64)
    for t in range(n):
        for at in range(starts[t], starts[t + 1]):
            own[t] += weights[at]
    return own


@compiled
def _best_split(heavy: Int32Array, members: Int64Array, k: int, sample: int) -> tuple[int, int]:
    """Return (node, threshold) of the best split by a heavy node, or (-1, 0).

    The split {weight >= threshold} / rest gains (threshold - least weight) times the number of
    records at or above the threshold; both sides must hold at least `k` records. Large sets are
    judged on an even sample.
    """
    step = max(len(members) // sample, 1)
    taken = members[::step]
    n = len(taken)
    side = max((k * n + len(members) - 1) // len(members), 1)
    n_heads = heavy.shape[1]
    low = heavy[taken[0]].copy()
    total = np.zeros(n_heads, dtype=np.int64)
    for i in range(n):
        row = heavy[taken[i]]
        for node in range(n_heads):
            low[node] = min(low[node], row[node])
            total[node] += row[node]
    # No threshold of a node gains more than all that its records have above the least weight.
    for node in range(n_heads):
        total[node] -= n * np.int64(low[node])
    best_node, best_at, best_gain = -1, np.int32(0), np.int64(0)
    column = np.empty(n, dtype=np.int32)
    while True:
        node = np.argmax(total)
        if total[node] <= best_gain:
            return best_node, best_at
        total[node] = 0
        for i in range(n):
            column[i] = heavy[taken[i], node]
        column.sort()
        for i in range(side, n - side + 1):
            if column[i] > column[i - 1]:
                gain = np.int64(column[i] - low[node]) * (n - i)
                if gain > best_gain:
                    best_node, best_at, best_gain = node, column[i], gain


@compiled
def split_by_counts(
    heavy: Int32Array, order: Int64Array, k: int, limit: int, piece: int, sample: int
) -> Int64Array:
    """Permute `order` so that similar records are neighbours; return the borders of the cells.

    Cells of more than `limit` records are split while a split with `k` or more on both sides
    exists; what cannot be split is cut into pieces of `piece` records, the last one of `k` or
    more.
    """
    n = len(order)
    borders = np.empty(n + 1, dtype=np.int64)
    borders[0] = 0
    n_borders = 1
    stack = np.empty(2 * n + 4, dtype=np.int64)
    stack[0], stack[1] = 0, n
    top = 2
    room = np.empty(n, dtype=order.dtype)
    while top > 0:
        top -= 2
        low, high = stack[top], stack[top + 1]
        size = high - low
        upper = np.int64(0)
        if size > limit:
            node, at = _best_split(heavy, order[low:high], k, sample)
            if node >= 0:
                lower = 0
                for i in range(low, high):
                    t = order[i]
                    if heavy[t, node] >= at:
                        order[low + upper] = t
                        upper += 1
                    else:
                        room[lower] = t
                        lower += 1
                order[low + upper : high] = room[:lower]
        if upper >= k and size - upper >= k:
            stack[top], stack[top + 1] = low + upper, high
            stack[top + 2], stack[top + 3] = low, low + upper
            top += 4
            continue
        while high - low > limit:
            low += min(piece, high - low - k)
            borders[n_borders] = low
            n_borders += 1
        borders[n_borders] = high
        n_borders += 1
    return borders[:n_borders]


@compiled
def shared_weight(
    starts: Int64Array, nodes: Int32Array, weights: Weights, t: int, dense: Weights
) -> int:
    """Return the sum of minima of record `t` and a dense vector."""
    total = np.int64(0)
    for at in range(starts[t], starts[t + 1]):
        total += min(np.int64(weights[at]), dense[nodes[at]])
    return total


@compiled
def narrow(
    starts: Int64Array, nodes: Int32Array, weights: Weights, seed: int, t: int, dense: Weights
) -> int:
    """Lower `dense`, whose nodes all belong to `seed`, to its minimum with `t`; return the sum."""
    total = np.int64(0)
    # Minima are marked by their sign, so that nodes that t lacks can be told and fall to zero.
    for at in range(starts[t], starts[t + 1]):
        both = min(np.int64(weights[at]), dense[nodes[at]])
        if both > 0:
            total += both
            dense[nodes[at]] = -both
    for at in range(starts[seed], starts[seed + 1]):
        dense[nodes[at]] = max(-dense[nodes[at]], np.int64(0))
    return total


@compiled
def cells_value(
    starts: Int64Array,
    nodes: Int32Array,
    weights: Weights,
    own: Int64Array,
    order: Int64Array,
    borders: Int64Array,
    dense: Weights,
) -> int:
    """Return the sum of |S| * P(S) over the cells of `order`."""
    total = np.int64(0)
    for c in range(len(borders) - 1):
        low, high = borders[c], borders[c + 1]
        seed = order[low]
        for at in range(starts[seed], starts[seed + 1]):
            dense[nodes[at]] = weights[at]
        common = own[seed]
        for i in range(low + 1, high):
            common = narrow(starts, nodes, weights, seed, order[i], dense)
        total += (high - low) * common
        for at in range(starts[seed], starts[seed + 1]):
            dense[nodes[at]] = 0
    return total


@compiled
def _nearest(
    heavy: Int32Array,
    own: Int64Array,
    shift: int,
    left: Int64Array,
    n_left: int,
    width: int,
    score: Int64Array,
    place: Int64Array,
) -> int:
    """Write the places in `left` of the records nearest to the first one; return how many."""
    ours = heavy[left[0]]
    for i in range(1, n_left):
        theirs = heavy[left[i]]
        total = np.int32(0)
        for h in range(len(ours)):
            total += min(ours[h], theirs[h])
        score[i] = 4 * np.int64(total) - (own[left[i]] >> shift)
    n_near = min(width, n_left - 1)
    bar = np.partition(score[1:n_left], n_left - 1 - n_near)[n_left - 1 - n_near]
    ties = n_near
    for i in range(1, n_left):
        if score[i] > bar:
            ties -= 1
    found = 0
    for i in range(1, n_left):
        if score[i] == bar:
            ties -= 1
        if score[i] > bar or (score[i] == bar and ties >= 0):
            place[found] = i
            found += 1
    return found


@compiled
def grow_clusters(
    starts: Int64Array,
    nodes: Int32Array,
    weights: Weights,
    heavy: Int32Array,
    own: Int64Array,
    shift: int,
    block: Int64Array,
    k: int,
    width: int,
    dense: Weights,
) -> tuple[Int64Array, Int64Array]:
    """Cluster a block by growing; return the records in cluster order and the borders.

    While `k` records are left: start from the longest (the least number, since records come
    sorted), look at the `width` that share most heavy weight with it, and add the best of these
    until there are `k`. A quarter of a record's own weight counts against it, so that rich
    records are left for those that need them. What is left over joins the cluster that loses
    least.
    """
    n = len(block)
    n_clusters = n // k
    left = np.sort(block)
    n_left = n
    member = np.empty((n_clusters, 2 * k), dtype=np.int64)
    size = np.full(n_clusters, k, dtype=np.int64)
    score = np.empty(n, dtype=np.int64)
    place = np.empty(width, dtype=np.int64)
    for c in range(n_clusters):
        seed = left[0]
        member[c, 0] = seed
        for at in range(starts[seed], starts[seed + 1]):
            dense[nodes[at]] = weights[at]
        found = _nearest(heavy, own, shift, left, n_left, width, score, place)
        for joined in range(1, k):
            best, best_gain = -1, np.int64(0)
            for j in range(found):
                t = left[place[j]]
                if t >= 0:
                    gain = 4 * (joined + 1) * shared_weight(starts, nodes, weights, t, dense)
                    gain -= own[t]
                    if best < 0 or gain > best_gain:
                        best, best_gain = j, gain
            t = left[place[best]]
            member[c, joined] = t
            left[place[best]] = -1
            narrow(starts, nodes, weights, seed, t, dense)
        for at in range(starts[seed], starts[seed + 1]):
            dense[nodes[at]] = 0
        left[0] = -1
        kept = 0
        for i in range(n_left):
            if left[i] >= 0:
                left[kept] = left[i]
                kept += 1
        n_left = kept
    # Leftovers: one scan over the clusters finds the best one for each of them.
    best_of = np.zeros(n_left, dtype=np.int64)
    loss_of = np.full(n_left, np.int64(2**62))
    for c in range(n_clusters):
        if n_left == 0:
            break
        seed = member[c, 0]
        for at in range(starts[seed], starts[seed + 1]):
            dense[nodes[at]] = weights[at]
        common = own[seed]
        for i in range(1, k):
            common = narrow(starts, nodes, weights, seed, member[c, i], dense)
        for i in range(n_left):
            loss = k * common - (k + 1) * shared_weight(starts, nodes, weights, left[i], dense)
            if loss < loss_of[i]:
                best_of[i], loss_of[i] = c, loss
        for at in range(starts[seed], starts[seed + 1]):
            dense[nodes[at]] = 0
    for i in range(n_left):
        c = best_of[i]
        member[c, size[c]] = left[i]
        size[c] += 1
    ordered = np.empty(n, dtype=np.int64)
    borders = np.zeros(n_clusters + 1, dtype=np.int64)
    for c in range(n_clusters):
        borders[c + 1] = borders[c] + size[c]
        ordered[borders[c] : borders[c + 1]] = member[c, : size[c]]
    return ordered, borders


@compiled
def cluster_blocks(
    starts: Int64Array,
    nodes: Int32Array,
    weights: Weights,
    heavy: Int32Array,
    own: Int64Array,
    shift: int,
    n_nodes: int,
    k: int,
    limit: int,
    width: int,
) -> tuple[Int64Array, Int64Array]:
    """Cluster records block by block, the better of splitting and growing in each.

    Returns the records in the order of their clusters, similar clusters near each other, and
    the borders of the clusters.
    """
    n = len(starts) - 1
    order = np.arange(n)
    blocks = split_by_counts(heavy, order, k, limit, limit, 2048)
    borders = np.empty(n // k + 1, dtype=np.int64)
    borders[0] = 0
    n_borders = 1
    dense = np.zeros(n_nodes, dtype=np.int64)
    for b in range(len(blocks) - 1):
        low, high = blocks[b], blocks[b + 1]
        cells = order[low:high].copy()
        cell_borders = split_by_counts(heavy, cells, k, 2 * k - 1, k, 2048)
        grown, grown_borders = grow_clusters(
            starts, nodes, weights, heavy, own, shift, cells, k, width, dense
        )
        split_value = cells_value(starts, nodes, weights, own, cells, cell_borders, dense)
        grown_value = cells_value(starts, nodes, weights, own, grown, grown_borders, dense)
        if grown_value > split_value:
            cells, cell_borders = grown, grown_borders
        order[low:high] = cells
        for c in range(1, len(cell_borders)):
            borders[n_borders] = low + cell_borders[c]
            n_borders += 1
    return order, borders[:n_borders]
