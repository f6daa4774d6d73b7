"""Gather's last stage: records change places between clusters while the total grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled
from setveil.kernels.gather import shared_weight

if TYPE_CHECKING:
    from setveil.kernels.types import Int32Array, Int64Array, Weights

NEVER = np.int64(2**62)

SEED = np.uint64(88172645463325252)
"""Where the fixed pseudo-random order starts."""


@compiled
def shuffle(order: Int64Array, state: np.uint64) -> np.uint64:
    """Shuffle in place (xorshift, Fisher-Yates); return the generator's new state.

    >>> order = np.arange(5)
    >>> state = shuffle(order, SEED)
    >>> order.tolist()
    [0, 4, 1, 3, 2]
    """
    for i in range(len(order) - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        j = np.int64(state % np.uint64(i + 1))
        order[i], order[j] = order[j], order[i]
    return state


@compiled
def _summarise(
    starts: Int64Array,
    nodes: Int32Array,
    weights: Weights,
    members: Int64Array,
    work: Int64Array,
    listed: Int64Array,
    entries: Int64Array,
    drop: Int64Array,
) -> tuple[int, int]:
    """Write a cluster's entries: nodes held by all members, or by all but one.

    An entry is (node, least weight, second least, place of the member with the least). `drop`
    gets what the common weight gains when the member at a place leaves. Returns the number of
    entries and the common weight. `work` has five rows by node, zero before and after.
    """
    holders, least, second, who, places = work[0], work[1], work[2], work[3], work[4]
    size = len(members)
    n_listed = 0
    for place in range(size):
        t = members[place]
        drop[place] = 0
        for at in range(starts[t], starts[t + 1]):
            node = nodes[at]
            weight = np.int64(weights[at])
            if holders[node] == 0:
                if place > 1:  # missing from two members already
                    continue
                listed[n_listed] = node
                n_listed += 1
                least[node], second[node], who[node] = weight, NEVER, place
            elif weight < least[node]:
                second[node] = least[node]
                least[node], who[node] = weight, place
            elif weight < second[node]:
                second[node] = weight
            holders[node] += 1
            places[node] += place
    n_entries = 0
    common = np.int64(0)
    for i in range(n_listed):
        node = listed[i]
        if holders[node] >= size - 1:
            low, next_low, place = least[node], second[node], who[node]
            if holders[node] < size:
                low, next_low = np.int64(0), low
                place = size * (size - 1) // 2 - places[node]
            entries[0, n_entries] = node
            entries[1, n_entries] = low
            entries[2, n_entries] = next_low
            entries[3, n_entries] = place
            n_entries += 1
            common += low
            drop[place] += next_low - low
        holders[node] = 0
        places[node] = 0
    return n_entries, common


@compiled
def _least_heavy(heavy: Int32Array, members: Int64Array, without: int, out: Int32Array) -> None:
    """Write the minimum of the members' heavy weights, one member left out."""
    first = 1 if without == 0 else 0
    out[:] = heavy[members[first]]
    for place in range(first + 1, len(members)):
        if place != without:
            row = heavy[members[place]]
            for h in range(len(out)):
                out[h] = min(out[h], row[h])


@compiled
def _rank(
    rest: Int32Array,
    worst: Int32Array,
    theirs: Int32Array,
    ours: Int32Array,
    size: Int64Array,
    kept: Int64Array,
    low: int,
    high: int,
    here: int,
    own_size: int,
    found: Int64Array,
    score: Int64Array,
) -> int:
    """Write the clusters of a window that promise most from an exchange; return how many.

    `theirs` is the record's heavy vector, `ours` that of its cluster without it; `rest` and
    `worst` are the clusters without their worst member, and that member. Both sides count.
    """
    n_found = 0
    for c in range(low, high):
        if c == here:
            continue
        gained = np.int32(0)
        given = np.int32(0)
        row, other = rest[c], worst[c]
        for h in range(len(theirs)):
            gained += min(row[h], theirs[h])
            given += min(other[h], ours[h])
        value = size[c] * np.int64(gained) + own_size * np.int64(given) - kept[c]
        if n_found == len(found) and value <= score[n_found - 1]:
            continue
        at = n_found if n_found < len(found) else n_found - 1
        n_found = min(n_found + 1, len(found))
        while at > 0 and score[at - 1] < value:
            score[at], found[at] = score[at - 1], found[at - 1]
            at -= 1
        score[at], found[at] = value, c
    return n_found


@compiled
def _grown(
    pool: Int64Array, first: Int64Array, count: Int64Array, room: Int64Array, need: int
) -> tuple[Int64Array, int]:
    """Move all entries into a pool with space for `need` more; returns (pool, end)."""
    live = np.int64(0)
    for c in range(len(first)):
        live += count[c] + count[c] // 4 + 8
    fresh = np.empty((4, 2 * live + 2 * need), dtype=np.int64)
    end = np.int64(0)
    for c in range(len(first)):
        fresh[:, end : end + count[c]] = pool[:, first[c] : first[c] + count[c]]
        first[c] = end
        room[c] = count[c] + count[c] // 4 + 8
        end += room[c]
    return fresh, end


@compiled
def exchange(
    starts: Int64Array,
    nodes: Int32Array,
    weights: Weights,
    heavy: Int32Array,
    n_nodes: int,
    order: Int64Array,
    borders: Int64Array,
    k: int,
    window: int,
    tries: int,
    passes: int,
) -> Int64Array:
    """Improve clusters by swapping two records or moving one; return each record's cluster.

    Records are visited in a fixed pseudo-random order. Each looks at the clusters within
    `window` places of its own, ranks them by the heavy weights, and tries the best `tries`
    exactly; the best swap or move is made if the total grows.
    """
    n = len(starts) - 1
    n_clusters = len(borders) - 1
    most = 4 * k
    member = np.empty((n_clusters, max(most, np.max(np.diff(borders)))), dtype=np.int64)
    size = np.diff(borders)
    label = np.empty(n, dtype=np.int64)
    for c in range(n_clusters):
        for i in range(size[c]):
            member[c, i] = order[borders[c] + i]
            label[member[c, i]] = c
    work = np.zeros((5, n_nodes), dtype=np.int64)
    listed = np.empty(n_nodes, dtype=np.int64)
    entries = np.empty((4, n_nodes), dtype=np.int64)
    drop = np.empty(member.shape[1], dtype=np.int64)
    delta = np.empty(member.shape[1], dtype=np.int64)
    first = np.zeros(n_clusters, dtype=np.int64)
    count = np.zeros(n_clusters, dtype=np.int64)
    room = np.zeros(n_clusters, dtype=np.int64)
    pool = np.empty((4, 8 * (starts[n] // k + n)), dtype=np.int64)
    end = np.int64(0)
    common = np.zeros(n_clusters, dtype=np.int64)
    n_heads = heavy.shape[1]
    rest = np.empty((n_clusters, n_heads), dtype=np.int32)
    worst = np.empty((n_clusters, n_heads), dtype=np.int32)
    kept = np.zeros(n_clusters, dtype=np.int64)
    ours = np.empty(n_heads, dtype=np.int32)
    stale = np.empty(n_clusters, dtype=np.int64)
    for c in range(n_clusters):
        stale[c] = c
    n_stale = n_clusters
    version = np.zeros(n_clusters, dtype=np.int64)
    failed = np.full(n, -1, dtype=np.int64)
    visit = np.arange(n)
    state = SEED
    found = np.empty(tries, dtype=np.int64)
    score = np.empty(tries, dtype=np.int64)
    mine = np.zeros(n_nodes, dtype=np.int64)
    left = np.zeros(n_nodes, dtype=np.int64)
    for _ in range(passes):
        state = shuffle(visit, state)
        for v in range(n):
            for i in range(n_stale):
                c = stale[i]
                n_entries, common[c] = _summarise(
                    starts, nodes, weights, member[c, : size[c]], work, listed, entries, drop
                )
                if n_entries > room[c]:
                    if end + n_entries + n_entries // 4 + 8 > pool.shape[1]:
                        count[c] = 0
                        pool, end = _grown(pool, first, count, room, n_entries + n_entries // 4 + 8)
                    first[c] = end
                    room[c] = n_entries + n_entries // 4 + 8
                    end += room[c]
                count[c] = n_entries
                pool[:, first[c] : first[c] + n_entries] = entries[:, :n_entries]
                bad = 0
                for j in range(1, size[c]):
                    if drop[j] > drop[bad]:
                        bad = j
                worst[c] = heavy[member[c, bad]]
                _least_heavy(heavy, member[c, : size[c]], bad, rest[c])
                shared = np.int64(0)
                for h in range(n_heads):
                    shared += min(rest[c, h], worst[c, h])
                kept[c] = size[c] * shared
                version[c] += 1
            n_stale = 0
            t = visit[v]
            here = label[t]
            if failed[t] == version[here]:
                continue
            own_size = size[here]
            slot = 0
            while member[here, slot] != t:
                slot += 1
            _least_heavy(heavy, member[here, :own_size], slot, ours)
            n_found = _rank(
                rest, worst, heavy[t], ours, size, kept,
                max(here - window, 0), min(here + window + 1, n_clusters), here, own_size,
                found, score,
            )  # fmt: skip
            # What this cluster keeps in common without t.
            alone = np.int64(0)
            for at in range(first[here], first[here] + count[here]):
                weight = pool[2, at] if pool[3, at] == slot else pool[1, at]
                left[pool[0, at]] = weight
                alone += weight
            for at in range(starts[t], starts[t + 1]):
                mine[nodes[at]] = weights[at]
            best_gain, best_cluster, best_slot = np.int64(0), -1, -1
            for i in range(n_found):
                c = found[i]
                base = np.int64(0)
                delta[: size[c]] = 0
                for at in range(first[c], first[c] + count[c]):
                    weight = mine[pool[0, at]]
                    low = min(pool[1, at], weight)
                    base += low
                    delta[pool[3, at]] += min(pool[2, at], weight) - low
                before = own_size * common[here] + size[c] * common[c]
                if own_size > k and size[c] < most:
                    gain = (own_size - 1) * alone + (size[c] + 1) * base - before
                    if gain > best_gain:
                        best_gain, best_cluster, best_slot = gain, c, -1
                for j in range(size[c]):
                    gain = size[c] * (base + delta[j]) - before
                    if gain + own_size * alone > best_gain:
                        x = member[c, j]
                        gain += own_size * shared_weight(starts, nodes, weights, x, left)
                        if gain > best_gain:
                            best_gain, best_cluster, best_slot = gain, c, j
            for at in range(first[here], first[here] + count[here]):
                left[pool[0, at]] = 0
            for at in range(starts[t], starts[t + 1]):
                mine[nodes[at]] = 0
            if best_cluster < 0:
                failed[t] = version[here]
                continue
            c = best_cluster
            if best_slot < 0:
                member[here, slot] = member[here, own_size - 1]
                size[here] -= 1
                member[c, size[c]] = t
                size[c] += 1
            else:
                x = member[c, best_slot]
                member[c, best_slot] = t
                member[here, slot] = x
                label[x] = here
            label[t] = c
            stale[0], stale[1] = here, c
            n_stale = 2
    return label
