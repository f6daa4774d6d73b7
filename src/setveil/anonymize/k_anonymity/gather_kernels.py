"""Gather's three stages: split by counts, grow clusters in a block, exchange records between them.

Everything works on vectors (see `vector_kernels`): row `t` holds the weights of record `t` by node.
What a cluster `S` keeps is ``|S| * P(S)``, with `P` the sum of the pointwise minima of its vectors;
Gather makes the total of it large. `heavy` is a dense copy of the weights of the first nodes, which
carry nearly all of the weight: it ranks candidates, and the exact sparse sums then decide.
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
    # The sample must leave as large a share on both sides as k is of the members.
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
    # Most promising node first: once its bound is no better than the best gain, no other can win.
    while True:
        node = np.argmax(total)
        if total[node] <= best_gain:
            return best_node, best_at
        total[node] = 0
        for i in range(n):
            column[i] = heavy[taken[i], node]
        column.sort()
        # Cuts between equal weights would separate records that look alike.
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
    # Pairs of borders. A part is replaced by its halves, so there are never more than n + 2 pairs.
    stack = np.empty(2 * n + 4, dtype=np.int64)
    stack[0], stack[1] = 0, n
    top = 2
    # Invariant: every record stands in exactly one cell, and the cells on the stack come after all
    # those that have their borders.
    room = np.empty(n, dtype=order.dtype)
    while top > 0:
        top -= 2
        low, high = stack[top], stack[top + 1]
        size = high - low
        upper = np.int64(0)
        if size > limit:
            node, at = _best_split(heavy, order[low:high], k, sample)
            if node >= 0:
                # A stable partition in place: records keep their order on both sides, so ties stay
                # by content.
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
        # The sample may have promised k on both sides where there are fewer: then it is not split.
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
    # `dense` is zero outside the nodes of the current seed: a minimum with the seed is zero there.
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
        # In units of `heavy`, four times the shared weight less the own weight: as in the exact
        # gain.
        score[i] = 4 * np.int64(total) - (own[left[i]] >> shift)
    n_near = min(width, n_left - 1)
    bar = np.partition(score[1:n_left], n_left - 1 - n_near)[n_left - 1 - n_near]
    # Of the records at the bar only as many as there is room for, the first ones: ties by content.
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
    # `left` stays sorted, so its first record is the longest that is left.
    left = np.sort(block)
    n_left = n
    member = np.empty((n_clusters, 2 * k), dtype=np.int64)
    size = np.full(n_clusters, k, dtype=np.int64)
    score = np.empty(n, dtype=np.int64)
    place = np.empty(width, dtype=np.int64)
    # Invariant: `dense` is zero between clusters; within one it is the minimum over its members.
    for c in range(n_clusters):
        seed = left[0]
        member[c, 0] = seed
        for at in range(starts[seed], starts[seed + 1]):
            dense[nodes[at]] = weights[at]
        found = _nearest(heavy, own, shift, left, n_left, width, score, place)
        for joined in range(1, k):
            # Four times |S| * P(S) with t in it, less the own weight of t: the quarter that counts
            # against it.
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
        # Close the gaps that the members of this cluster leave, in order.
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
    # Blocks bound the quadratic cost of growing; both ways see the same records and are compared by
    # the exact value.
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
    # Only nodes that all members hold, or all but one, matter: others stay at zero whoever leaves.
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
            # One member lacks the node: the sum of all places less those of the holders is its
            # place.
            if holders[node] < size:
                low, next_low = np.int64(0), low
                place = size * (size - 1) // 2 - places[node]
            entries[0, n_entries] = node
            entries[1, n_entries] = low
            entries[2, n_entries] = next_low
            entries[3, n_entries] = place
            n_entries += 1
            common += low
            # Without the member with the least weight the second least is the common one.
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
        # An estimate from heavy weights of what both clusters keep after the swap, less what c
        # keeps now. What the own cluster keeps now is the same for all and left out.
        value = size[c] * np.int64(gained) + own_size * np.int64(given) - kept[c]
        if n_found == len(found) and value <= score[n_found - 1]:
            continue
        at = n_found if n_found < len(found) else n_found - 1
        n_found = min(n_found + 1, len(found))
        # Insertion into a short list, sorted by falling score; equals stay in the order of
        # clusters.
        while at > 0 and score[at - 1] < value:
            score[at], found[at] = score[at - 1], found[at - 1]
            at -= 1
        score[at], found[at] = value, c
    return n_found


@compiled
def _grow_pool(
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
    # No move makes a cluster larger than this; one that is larger already keeps its size.
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
    # Cluster c has its entries in the pool from first[c] on, count[c] of them, with room for
    # room[c].
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
    # Clusters that changed and must be summed up anew before anybody looks at them.
    stale = np.empty(n_clusters, dtype=np.int64)
    for c in range(n_clusters):
        stale[c] = c
    n_stale = n_clusters
    # A record that found nothing to gain is not asked again before its own cluster changes.
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
            # Bring the entries, the worst member and the rest of changed clusters up to date.
            for i in range(n_stale):
                c = stale[i]
                n_entries, common[c] = _summarise(
                    starts, nodes, weights, member[c, : size[c]], work, listed, entries, drop
                )
                if n_entries > room[c]:
                    if end + n_entries + n_entries // 4 + 8 > pool.shape[1]:
                        count[c] = 0
                        pool, end = _grow_pool(
                            pool, first, count, room, n_entries + n_entries // 4 + 8
                        )
                    first[c] = end
                    room[c] = n_entries + n_entries // 4 + 8
                    end += room[c]
                count[c] = n_entries
                pool[:, first[c] : first[c] + n_entries] = entries[:, :n_entries]
                # The worst member is the one without which the cluster has most in common.
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
            # Gains are exact and must be above zero, so the total grows with every exchange and the
            # search ends.
            best_gain, best_cluster, best_slot = np.int64(0), -1, -1
            for i in range(n_found):
                c = found[i]
                # base: what c has in common with t as a further member. base + delta[j]: with t
                # instead of member j.
                base = np.int64(0)
                delta[: size[c]] = 0
                for at in range(first[c], first[c] + count[c]):
                    weight = mine[pool[0, at]]
                    low = min(pool[1, at], weight)
                    base += low
                    delta[pool[3, at]] += min(pool[2, at], weight) - low
                before = own_size * common[here] + size[c] * common[c]
                # A move: t joins c. It must leave k records behind.
                if own_size > k and size[c] < most:
                    gain = (own_size - 1) * alone + (size[c] + 1) * base - before
                    if gain > best_gain:
                        best_gain, best_cluster, best_slot = gain, c, -1
                for j in range(size[c]):
                    # A swap of t and member j. The own cluster keeps at most `alone` with j in the
                    # place of t: the exact sum is taken only where this bound wins.
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
