"""Clump's greedy assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.kernels.types import Int32Array, Int64Array, Weights


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
    for t in range(n):
        if label[t] >= 0:
            continue
        for at in range(starts[t], starts[t + 1]):
            dense[nodes[at]] = weights[at]
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
        if not leftover and members[best] == k:
            after[best_before] = after[best]
        for at in range(starts[t], starts[t + 1]):
            dense[nodes[at]] = 0
    return label
