"""Apriori anonymization: find rare sets of nodes, size by size, and raise them to ancestors.

Nodes carry a *rank*: more general first, then by falling support. A record is the sorted row of
the ranks of all nodes above its items that are still *open*, that is, not strictly below a node
of the cut. The support of a set of nodes does not depend on the cut, so nothing is ever counted
again: raising a node only closes what lies below it.

A rare set of which all proper subsets are frequent occurs less often than each of them. So the
search extends a set only by nodes that some of its records lack, and neither long records nor
equal ones make it walk through all their subsets.

Costs are whole numbers: occurrences times leaves, so that ties are exact. ``extra[v]`` is what
publishing node `v` would cost more than what now stands below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import BoolArray, Int32Array, Int64Array


@compiled
def holds(leaves: Int32Array, start: int, stop: int, node: int, end: int) -> bool:
    """Tell whether the sorted run of leaves has one from `node` to before `end`.

    >>> holds(np.array([2, 5, 9], np.int32), 0, 3, 3, 6), holds(np.array([2], np.int32), 0, 1, 3, 6)
    (True, False)
    """
    # Leaves below a node are one run of numbers: the first leaf from `node` on decides.
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
    # The root: every record holds it.
    if nodes[0] == 0:
        return True
    # Only records of the rarest node can hold all of them; the others are looked up there.
    rarest = 0
    for j in range(1, n_nodes):
        r, best = rank[nodes[j]], rank[nodes[rarest]]
        if heads[r + 1] - heads[r] < heads[best + 1] - heads[best]:
            rarest = j
    r = rank[nodes[rarest]]
    common = 0
    for i in range(heads[r], heads[r + 1]):
        # Too few records are left to reach k.
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
    # Smaller sets are frequent already when larger ones are repaired.
    if n_nodes != rare.shape[1]:
        return False
    low, high = 0, len(rare)
    while low < high:
        middle = (low + high) // 2
        # Rows are compared as words: the first differing rank decides.
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
def raise_nodes(
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
    >>> raise_nodes(np.array([2, 3]), np.array([1, 0], np.int32), np.array([-1, 0, 1, 1], np.int32),
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
            # At or below another node; of two equal ones the first remains.
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
            # Insertion sort by rank: there are at most m nodes.
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
def double_room(
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
    # Best first: costs never fall when a node is raised further, so the first frequent candidate is
    # cheapest; the loop goes on while others cost the same.
    while n_waiting > 0 and (n_best == 0 or costs[heap[0]] == least):
        now = pop(heap, n_waiting, costs)
        n_waiting -= 1
        raise_nodes(itemset, steps[now], parents, ends, extra, nodes, kept)
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
            steps, costs, heap = double_room(steps, costs, heap)
        # Each vector of steps is made from exactly one other: the one with a step less at its last
        # raised node. So only nodes from the last raised one on may step further.
        for j in range(size - 1, -1, -1):
            if kept[j] and nodes[j] > 0:
                for i in range(size):
                    steps[n_made, i] = steps[now, i] + (i == j)
                costs[n_made] = raise_nodes(
                    itemset, steps[n_made], parents, ends, extra, above, ignored
                )
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
    # extra[v]: what publishing v for all that lies below costs beyond what is paid already.
    cost = extra[node]
    for below in range(node + 1, ends[node]):
        closed[below] = True
    above = np.int64(node)
    while above >= 0:
        # What stands below these nodes costs more from now on, so they cost less beyond it.
        extra[above] -= cost
        above = np.int64(parents[above])
    return int(cost)


# What a step of `probe` costs, in steps of `scan`.
STEPS_PER_PROBE = 4


@compiled
def rows_of_ranks(
    offsets: Int64Array,
    leaves: Int32Array,
    parents: Int32Array,
    rank: Int32Array,
    closed: BoolArray,
) -> tuple[Int64Array, Int32Array, Int32Array, Int64Array, Int64Array]:
    """Return the records as sorted rows of the ranks of their open nodes, without the root.

    Returns starts and ranks of the rows, the row of each place in them, and where each rank
    stands: rank r at ``places[heads[r]:heads[r + 1]]``.

    A record of both leaves of node 1, and one of leaf 4, a child of the root:

    >>> rows = rows_of_ranks(np.array([0, 2, 3]), np.array([2, 3, 4], np.int32),
    ...                      np.array([-1, 0, 1, 1, 0], np.int32),
    ...                      np.array([-1, 0, 2, 3, 1], np.int32), np.zeros(5, np.bool_))
    >>> [array.tolist() for array in rows]
    [[0, 3, 4], [0, 2, 3, 1], [0, 0, 0, 1], [0, 1, 2, 3, 4], [0, 3, 1, 2]]
    """
    n, n_ranks = len(offsets) - 1, len(rank) - 1
    starts, heads = np.zeros(n + 1, dtype=np.int64), np.zeros(n_ranks + 1, dtype=np.int64)
    holders = np.empty(0, dtype=np.int32)
    seen = np.empty(len(parents), dtype=np.int64)
    # First how many there are, then the rows that hold each rank; ranks come in order after that,
    # so that rows filled from them are sorted.
    for filling in range(2):
        seen[:] = -1
        for row in range(n):
            for place in range(offsets[row], offsets[row + 1]):
                node = np.int64(leaves[place])
                # Once per record: seen[node] is the last record that counted it.
                while node > 0 and seen[node] != row:
                    seen[node] = row
                    if filling and not closed[node]:
                        holders[heads[rank[node]]] = row
                        heads[rank[node]] += 1
                    elif not closed[node]:
                        heads[rank[node]] += 1
                        starts[row + 1] += 1
                    node = np.int64(parents[node])
        if not filling:
            total = np.int64(0)
            for r in range(n_ranks + 1):
                total += heads[r]
                # From counts to where each rank begins.
                heads[r] = total - heads[r]
            holders = np.empty(total, dtype=np.int32)
    for row in range(n):
        starts[row + 1] += starts[row]
    ranks, row_of = np.empty(len(holders), dtype=np.int32), np.empty(len(holders), dtype=np.int32)
    places = np.empty(len(holders), dtype=np.int64)
    filled = starts.copy()
    at = 0
    for r in range(n_ranks):
        # Filling has moved heads[r] to the end of its run; it goes back to the begin.
        end, heads[r] = heads[r], at
        while at < end:
            place = filled[holders[at]]
            filled[holders[at]] += 1
            ranks[place], row_of[place], places[at] = r, holders[at], place
            at += 1
    return starts, ranks, row_of, heads, places


@compiled
def sort_found(found: Int32Array, n_found: int, counts: Int64Array) -> None:
    """Sort the ranks whose counts are not zero: by insertion, or by going through all counts.

    >>> found = np.array([2, 0, 9], np.int32)
    >>> sort_found(found, 2, np.array([5, 0, 5]))
    >>> found.tolist()
    [0, 2, 9]
    """
    # Insertion is quadratic in what was found, a walk over all counts linear in the ranks.
    if n_found * n_found > 4 * len(counts):
        at = 0
        for r in range(len(counts)):
            if counts[r] > 0:
                found[at] = r
                at += 1
        return
    for i in range(1, n_found):
        moved, at = found[i], i
        while at > 0 and found[at - 1] > moved:
            found[at] = found[at - 1]
            at -= 1
        found[at] = moved


@compiled
def scan(
    positions: Int64Array,
    prefix: Int64Array,
    starts: Int64Array,
    ranks: Int32Array,
    row_of: Int32Array,
    order: Int32Array,
    ends: Int32Array,
    closed: BoolArray,
    counts: Int64Array,
) -> Int32Array:
    """Count what follows a set in its records; return the open ranks unrelated to it, sorted.

    `positions` is where the set's last node stands in each record that holds the set. `counts` is
    zero before, and zero afterwards but at the ranks returned.
    """
    n_found = 0
    found = np.empty(len(counts), dtype=np.int32)
    for place in positions:
        for at in range(place + 1, starts[row_of[place] + 1]):
            if counts[ranks[at]] == 0:
                found[n_found] = ranks[at]
                n_found += 1
            counts[ranks[at]] += 1
    n_kept = 0
    for i in range(n_found):
        node = order[found[i]]
        keep = not closed[node]
        for above in prefix:
            # A node below one of the set says nothing new: the set is held without it. Nodes above
            # cannot come later, since more general ones have lower ranks.
            keep = keep and not above <= node < ends[above]
        if keep:
            found[n_kept] = found[i]
            n_kept += 1
        else:
            counts[found[i]] = 0
    sort_found(found, n_kept, counts)
    return found[:n_kept]


@compiled
def spread(
    positions: Int64Array,
    starts: Int64Array,
    ranks: Int32Array,
    row_of: Int32Array,
    stops: Int64Array,
    pool: Int64Array,
) -> None:
    """Write where each wanted rank follows a set into its own run of `pool`.

    `stops` holds where the run of a rank starts, -1 for ranks not wanted; it comes out as the end.

    >>> pool, stops = np.zeros(2, np.int64), np.array([-1, 0])
    >>> spread(np.array([0, 2]), np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32),
    ...        np.array([0, 0, 1, 1], np.int32), stops, pool)
    >>> pool.tolist(), stops.tolist()
    ([1, 3], [-1, 2])
    """
    for place in positions:
        for at in range(place + 1, starts[row_of[place] + 1]):
            if stops[ranks[at]] >= 0:
                pool[stops[ranks[at]]] = at
                stops[ranks[at]] += 1


@compiled
def probing_is_cheaper(
    positions: Int64Array,
    n_before: int,
    k: int,
    later: Int32Array,
    begins: Int64Array,
    stops: Int64Array,
    starts: Int64Array,
    row_of: Int32Array,
) -> bool:
    """Guess whether asking for each later rank costs less than scanning all records of a set.

    If the set's last node is in one of g records of the set before it, k common records with
    another node are found after about g * k steps.
    """
    # The length of a scan, estimated from an even sample of at most 16 records.
    tail = np.int64(0)
    stride = len(positions) // 16 + 1
    for i in range(0, len(positions), stride):
        tail += starts[row_of[positions[i]] + 1] - positions[i]
    budget = tail * stride // STEPS_PER_PROBE
    steps = k * n_before // len(positions) + 1
    for f in later:
        budget -= min(steps, stops[f] - begins[f])
        if budget < 0:
            return False
    return True


@compiled
def probe(
    node: int,
    k: int,
    later: Int32Array,
    pool: Int64Array,
    begins: Int64Array,
    stops: Int64Array,
    offsets: Int64Array,
    leaves: Int32Array,
    row_of: Int32Array,
    order: Int32Array,
    ends: Int32Array,
    closed: BoolArray,
    counts: Int64Array,
) -> Int32Array:
    """Do what `scan` does, for extensions in fewer than `k` records only; counting stops at k."""
    n_found = 0
    found = np.empty(len(later), dtype=np.int32)
    for f in later:
        # Below the cut, or below the node itself.
        if closed[order[f]] or node <= order[f] < ends[node]:
            continue
        common = 0
        for at in range(begins[f], stops[f]):
            row = row_of[pool[at]]
            if holds(leaves, offsets[row], offsets[row + 1], node, ends[node]):
                common += 1
                if common == k:
                    break
        if 0 < common < k:
            counts[f] = common
            found[n_found] = f
            n_found += 1
    return found[:n_found]


@compiled
def repair(
    itemset: Int64Array,
    support: int,
    k: int,
    offsets: Int64Array,
    leaves: Int32Array,
    parents: Int32Array,
    ends: Int32Array,
    rank: Int32Array,
    heads: Int64Array,
    places: Int64Array,
    row_of: Int32Array,
    extra: Int64Array,
    closed: BoolArray,
    rare: Int64Array,
    log: Int64Array,
    n_log: int,
) -> int:
    """Raise the nodes of one rare set where it costs least; return the new length of the log.

    A line of the log: the node raised to, its cost, the support of the rare set, the set.
    """
    nodes = cheapest_ancestors(
        itemset, k, offsets, leaves, parents, ends, extra, rank, heads, places, row_of, rare
    )
    # The ancestors do not lie below each other, so each is raised on its own.
    for node in nodes:
        log[n_log, 0] = node
        log[n_log, 1] = raise_cut(node, parents, ends, extra, closed)
        log[n_log, 2] = support
        for j in range(len(itemset)):
            log[n_log, 3 + j] = itemset[j]
        n_log += 1
    return n_log


@compiled
def repair_listed(
    rare: Int64Array,
    supports: Int64Array,
    k: int,
    parents: Int32Array,
    ends: Int32Array,
    order: Int32Array,
    rank: Int32Array,
    extra: Int64Array,
    closed: BoolArray,
    log: Int64Array,
    n_log: int,
) -> int:
    """Repair rare sets that were counted elsewhere; return the length of the log.

    `rare` holds their ranks, ascending in each row, the rows sorted. With every set all rare sets
    of as many open ancestors of its nodes must be in the list, or be repaired already.
    """
    n, size = rare.shape
    none = np.empty(0, dtype=np.int64)
    no_leaves = np.empty(0, dtype=np.int32)
    itemset = np.empty(size, dtype=np.int64)
    for i in range(n):
        for j in range(size):
            itemset[j] = order[rare[i, j]]
        # A repair before may have closed one of its nodes; the set is then no longer published.
        if not any_closed(itemset, closed):
            n_log = repair(
                itemset, supports[i], k, none, no_leaves, parents, ends, rank, none, none,
                no_leaves, extra, closed, rare, log, n_log,
            )  # fmt: skip
    return n_log


@compiled
def any_closed(nodes: Int64Array, closed: BoolArray) -> bool:
    """Tell whether one of the nodes lies below the cut.

    >>> any_closed(np.array([0, 2]), np.array([False, True, False]))
    False
    """
    found = False
    for node in nodes:
        found = found or closed[node]
    return found


@compiled
def repair_sets(
    size: int,
    first: int,
    last: int,
    k: int,
    offsets: Int64Array,
    leaves: Int32Array,
    parents: Int32Array,
    ends: Int32Array,
    order: Int32Array,
    rank: Int32Array,
    starts: Int64Array,
    ranks: Int32Array,
    heads: Int64Array,
    places: Int64Array,
    row_of: Int32Array,
    pool: Int64Array,
    extra: Int64Array,
    closed: BoolArray,
    log: Int64Array,
    n_log: int,
) -> int:
    """Repair the rare sets of `size` ≥ 2 nodes whose first rank lies in first … last - 1.

    All smaller sets of open nodes are frequent already. Sets come in the order of their ranks.
    `pool` is room for `size` - 2 lists of all places. Returns the length of the log.
    """
    # waiting[d] are the ranks that may follow the d nodes of the prefix; where rank f does so is
    # in the list of this depth, from begins[d, f] to stops[d, f], as places in the rows.
    shape = (size - 1, len(order))
    waiting, begins = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.int64)
    stops = np.full(shape, -1, dtype=np.int64)
    for r in range(len(order)):
        waiting[0, r], begins[0, r], stops[0, r] = r, heads[r], heads[r + 1]
    n_waiting, done = np.zeros(size - 1, dtype=np.int64), np.zeros(size - 1, dtype=np.int64)
    n_waiting[0], done[0] = last, first
    n_records = np.zeros(size, dtype=np.int64)
    n_records[0] = len(offsets) - 1
    counts = np.zeros(len(order), dtype=np.int64)
    prefix = np.empty(size, dtype=np.int64)
    unlisted = np.empty((0, size), dtype=np.int64)
    depth = 0
    while depth >= 0:
        # All extensions are done, or a repair has closed a node of the prefix itself.
        if done[depth] == n_waiting[depth] or any_closed(prefix[:depth], closed):
            if depth > 0:
                for i in range(n_waiting[depth]):
                    stops[depth, waiting[depth, i]] = -1
            depth -= 1
            continue
        f = waiting[depth, done[depth]]
        done[depth] += 1
        prefix[depth] = order[f]
        listed = pool[depth - 1] if depth else places
        positions = listed[begins[depth, f] : stops[depth, f]]
        # A node in all records of the prefix makes no set rarer: the set without it is smaller, and
        # so frequent already.
        if closed[prefix[depth]] or len(positions) == 0 or len(positions) == n_records[depth]:
            continue
        # The last node of a set is only counted, never descended to.
        if depth == size - 2:
            later = waiting[depth][done[depth] : n_waiting[depth] if depth else len(order)]
            if probing_is_cheaper(
                positions, n_records[depth], k, later, begins[depth], stops[depth], starts, row_of
            ):
                found = probe(
                    prefix[depth], k, later, listed, begins[depth], stops[depth], offsets, leaves,
                    row_of, order, ends, closed, counts,
                )  # fmt: skip
            else:
                found = scan(
                    positions, prefix[: depth + 1], starts, ranks, row_of, order, ends, closed,
                    counts,
                )  # fmt: skip
            for g in found:
                prefix[size - 1] = order[g]
                # Repairs close nodes while the loop runs: a set with a closed node is gone.
                if counts[g] < k and not any_closed(prefix, closed):
                    n_log = repair(
                        prefix, counts[g], k, offsets, leaves, parents, ends, rank, heads, places,
                        row_of, extra, closed, unlisted, log, n_log,
                    )  # fmt: skip
                counts[g] = 0
            continue
        found = scan(
            positions, prefix[: depth + 1], starts, ranks, row_of, order, ends, closed, counts
        )
        depth += 1
        n_records[depth] = len(positions)
        done[depth] = n_waiting[depth] = 0
        total = 0
        for g in found:
            # As above: a node in all records of the set is passed over.
            if counts[g] < len(positions):
                waiting[depth, n_waiting[depth]] = g
                n_waiting[depth] += 1
                # Runs of the pool, one behind the other; `spread` fills them and moves the stops.
                begins[depth, g] = stops[depth, g] = total
                total += counts[g]
            counts[g] = 0
        spread(positions, starts, ranks, row_of, stops[depth], pool[depth - 1])
    return n_log
