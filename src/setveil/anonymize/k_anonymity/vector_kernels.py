"""Records as weighted vectors over taxonomy nodes, and what groups of them have in common.

A record `t` has ``n_t(v)`` items at or below node `v`. With ``gamma(v) = leaves(parent of v) -
leaves(v)`` its vector holds ``gamma(v) * n_t(v)`` for every node but the root. The pointwise
minimum over a group, summed, is what the group keeps when it is published as its least common
generalization; distortion is what is missing from the whole. :func:`clump` assigns records to
clusters greedily by it.
"""

# int and np.int64 are one type in compiled code.
# mypy: disable-error-code="assignment, return-value"

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import Int32Array, Int64Array, Weights


@compiled
def count_ancestors(
    first: int,
    last: int,
    leaves: Int32Array,
    parents: Int32Array,
    count: Int64Array,
    touched: Int64Array,
) -> int:
    """Count the leaves of a record at or below each node; list these nodes and return how many.

    `count` is zero before; whoever lists what was touched can clear it at no more cost.

    >>> count, touched = np.zeros(4, np.int64), np.empty(4, np.int64)
    >>> count_ancestors(0, 2, np.array([2, 3], np.int32), np.array([-1, 0, 1, 1], np.int32),
    ...                 count, touched)
    4
    >>> count.tolist(), touched.tolist()
    ([2, 2, 1, 1], [2, 1, 0, 3])
    """
    size = 0
    for at in range(first, last):
        node = np.int64(leaves[at])
        while node >= 0:
            if count[node] == 0:
                touched[size] = node
                size += 1
            count[node] += 1
            node = np.int64(parents[node])
    return size


@compiled
def ancestor_vectors(
    offsets: Int64Array,
    leaves: Int32Array,
    parents: Int32Array,
    gamma: Int64Array,
    rank: Int32Array,
    weights: Weights,
) -> tuple[Int64Array, Int32Array, Weights]:
    """Return the records' vectors as (offsets, node ranks, weights); weightless nodes left out.

    `rank` renumbers the nodes; a negative rank leaves the node out. `weights` is an empty array
    of the type that the weights shall have.
    """
    n = len(offsets) - 1
    count = np.zeros(len(parents), dtype=np.int64)
    touched = np.empty(len(parents), dtype=np.int64)
    starts = np.zeros(n + 1, dtype=np.int64)
    # Two passes: how many nodes each record has, then the nodes. The root (0) is left out, since
    # every record has it.
    for row in range(n):
        size = 0
        for place in range(offsets[row], offsets[row + 1]):
            node = np.int64(leaves[place])
            # A node that was seen has its ancestors seen.
            while node > 0 and count[node] == 0:
                count[node] = 1
                touched[size] = node
                size += 1
                node = np.int64(parents[node])
        kept = 0
        for i in range(size):
            count[touched[i]] = 0
            if rank[touched[i]] >= 0:
                kept += 1
        starts[row + 1] = starts[row] + kept
    nodes = np.empty(starts[n], dtype=np.int32)
    weights = np.empty(starts[n], dtype=weights.dtype)
    for row in range(n):
        size = count_ancestors(offsets[row], offsets[row + 1], leaves, parents, count, touched)
        at = starts[row]
        for i in range(size):
            node = touched[i]
            if rank[node] >= 0:
                nodes[at] = rank[node]
                # gamma of the node, once for each item at or below it.
                weights[at] = gamma[node] * count[node]
                at += 1
            count[node] = 0
    return starts, nodes, weights


@compiled
def least_common_generalizations(
    offsets: Int64Array,
    leaves: Int32Array,
    parents: Int32Array,
    group_offsets: Int64Array,
    members: Int64Array,
) -> tuple[Int64Array, Int32Array]:
    """Return each group's least common generalization as sorted bags of nodes (offsets, nodes).

    With ``M(v)`` the least number of items at or below `v` over the group's records, node `v`
    is published ``M(v) - sum of M(children)`` times.
    """
    n_nodes = len(parents)
    n_groups = len(group_offsets) - 1
    least = np.zeros(n_nodes, dtype=np.int64)
    count = np.zeros(n_nodes, dtype=np.int64)
    shared = np.empty(n_nodes, dtype=np.int64)
    touched = np.empty(n_nodes, dtype=np.int64)
    # A group publishes as many nodes as its shortest record has items.
    starts = np.zeros(n_groups + 1, dtype=np.int64)
    for group in range(n_groups):
        shortest = np.int64(-1)
        for place in range(group_offsets[group], group_offsets[group + 1]):
            row = members[place]
            length = offsets[row + 1] - offsets[row]
            if shortest < 0 or length < shortest:
                shortest = length
        starts[group + 1] = starts[group] + max(shortest, np.int64(0))
    published = np.empty(starts[n_groups], dtype=np.int32)
    for group in range(n_groups):
        n_shared = 0
        first = group_offsets[group]
        for place in range(first, group_offsets[group + 1]):
            row = members[place]
            size = count_ancestors(offsets[row], offsets[row + 1], leaves, parents, count, touched)
            # Invariant: `shared` lists the nodes that all records so far have something below, and
            # `least` has M(v) of these records; both are what the first record has, then shrink.
            if place == first:
                n_shared = size
                for i in range(size):
                    shared[i] = touched[i]
                    least[touched[i]] = count[touched[i]]
            else:
                # Nodes that this record lacks have count 0 and are dropped: what is shared only
                # shrinks.
                kept = 0
                for i in range(n_shared):
                    node = shared[i]
                    least[node] = min(least[node], count[node])
                    if least[node] > 0:
                        shared[kept] = node
                        kept += 1
                n_shared = kept
            for i in range(size):
                count[touched[i]] = 0
        # `count` is zero again and takes the sums of M over children.
        for i in range(n_shared):
            node = shared[i]
            if node > 0:
                count[parents[node]] += least[node]
        at = starts[group]
        for i in range(n_shared):
            node = shared[i]
            for _ in range(least[node] - count[node]):
                published[at] = node
                at += 1
        for i in range(n_shared):
            count[shared[i]] = 0
            least[shared[i]] = 0
        published[starts[group] : at].sort()
    return starts, published


@compiled
def clump(
    starts: Int64Array,
    nodes: Int32Array,
    weights: Weights,
    lengths: Int64Array,
    whole: int,
    n_nodes: int,
    k: int,
    r: int,
    by_increment: bool,
) -> Int64Array:
    """Return the cluster of each record; records come sorted, ``r`` < 0 means all open clusters.

    Distortion times ``whole`` (all leaves less one) of a cluster `S` with common weight `P` is
    ``whole * items(S) - |S| * P``; all of it in 64-bit integers.
    """
    n = len(lengths)
    n_clusters = n // k
    label = np.full(n, -1, dtype=np.int64)
    # A cluster's vector only shrinks, so it lives in the room of its first record's.
    seed_starts = np.zeros(n_clusters + 1, dtype=np.int64)
    for c in range(n_clusters):
        seed_starts[c + 1] = seed_starts[c] + starts[c * k + 1] - starts[c * k]
    c_nodes = np.empty(seed_starts[n_clusters], dtype=np.int32)
    c_weights = np.empty(seed_starts[n_clusters], dtype=weights.dtype)
    c_size = np.zeros(n_clusters, dtype=np.int64)
    members = np.ones(n_clusters, dtype=np.int64)
    items = np.zeros(n_clusters, dtype=np.int64)
    common = np.zeros(n_clusters, dtype=np.int64)
    own = np.zeros(n, dtype=np.int64)
    for t in range(n):
        for at in range(starts[t], starts[t + 1]):
            own[t] += weights[at]
    for c in range(n_clusters):
        t = c * k
        label[t] = c
        c_size[c] = starts[t + 1] - starts[t]
        c_nodes[seed_starts[c] : seed_starts[c + 1]] = nodes[starts[t] : starts[t + 1]]
        c_weights[seed_starts[c] : seed_starts[c + 1]] = weights[starts[t] : starts[t + 1]]
        items[c] = lengths[t]
        common[c] = own[t]
    # Open clusters as a linked list, in order; the last place is the head.
    after = np.arange(1, n_clusters + 2)
    after[n_clusters] = 0 if k > 1 else n_clusters
    dense = np.zeros(n_nodes, dtype=weights.dtype)
    # Invariant: a cluster's vector is the minimum over its records, common[c] the sum of it, and
    # `dense` is zero between two records.
    for t in range(n):
        if label[t] >= 0:
            continue
        for at in range(starts[t], starts[t + 1]):
            dense[nodes[at]] = weights[at]
        # All clusters have k members: what is left joins any cluster, full or not.
        leftover = after[n_clusters] == n_clusters
        best = np.int64(-1)
        best_before = np.int64(n_clusters)
        best_cost = np.int64(0)
        best_common = np.int64(0)
        before = n_clusters
        c = 0 if leftover else after[n_clusters]
        seen = 0
        while c < n_clusters and (leftover or r < 0 or seen < r):
            seen += 1
            # The parts of the cost that do not depend on what the two have in common.
            fixed = whole * lengths[t]
            if by_increment:
                fixed += members[c] * common[c]
            else:
                fixed += whole * items[c]
            # The common weight can be at most the smaller of the two: the cost at least this.
            if best < 0 or fixed - (members[c] + 1) * min(common[c], own[t]) < best_cost:
                shared = np.int64(0)
                for at in range(seed_starts[c], seed_starts[c] + c_size[c]):
                    shared += min(c_weights[at], dense[c_nodes[at]])
                cost = fixed - (members[c] + 1) * shared
                if best < 0 or cost < best_cost:
                    best, best_before, best_cost, best_common = c, before, cost, shared
            before = c
            c = c + 1 if leftover else after[c]
        # The common vector after t has joined, written over the old one.
        kept = seed_starts[best]
        for at in range(seed_starts[best], seed_starts[best] + c_size[best]):
            node = c_nodes[at]
            weight = min(c_weights[at], dense[node])
            if weight > 0:
                c_nodes[kept] = node
                c_weights[kept] = weight
                kept += 1
        c_size[best] = kept - seed_starts[best]
        label[t] = best
        members[best] += 1
        items[best] += lengths[t]
        common[best] = best_common
        # A full cluster is taken out of the list of open ones.
        if not leftover and members[best] == k:
            after[best_before] = after[best]
        for at in range(starts[t], starts[t + 1]):
            dense[nodes[at]] = 0
    return label
