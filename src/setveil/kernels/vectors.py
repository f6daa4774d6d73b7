"""Records as weighted vectors over taxonomy nodes, and what groups of them have in common.

A record `t` has ``n_t(v)`` items at or below node `v`. With ``gamma(v) = leaves(parent of v) -
leaves(v)`` its vector holds ``gamma(v) * n_t(v)`` for every node but the root. The pointwise
minimum over a group, summed, is what the group keeps when it is published as its least common
generalization; distortion is what is missing from the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.kernels.types import Int32Array, Int64Array, Weights


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
    for row in range(n):
        size = 0
        for place in range(offsets[row], offsets[row + 1]):
            node = np.int64(leaves[place])
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
        size = 0
        for place in range(offsets[row], offsets[row + 1]):
            node = np.int64(leaves[place])
            while node > 0:
                if count[node] == 0:
                    touched[size] = node
                    size += 1
                count[node] += 1
                node = np.int64(parents[node])
        at = starts[row]
        for i in range(size):
            node = touched[i]
            if rank[node] >= 0:
                nodes[at] = rank[node]
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
            size = 0
            for at in range(offsets[row], offsets[row + 1]):
                node = np.int64(leaves[at])
                while node >= 0:
                    if count[node] == 0:
                        touched[size] = node
                        size += 1
                    count[node] += 1
                    node = np.int64(parents[node])
            if place == first:
                n_shared = size
                for i in range(size):
                    shared[i] = touched[i]
                    least[touched[i]] = count[touched[i]]
            else:
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
