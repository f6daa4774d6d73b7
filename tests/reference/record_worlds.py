"""The originals that a published record allows, as bit masks: quick enough for 10^5 releases.

Written from the same definitions as ``worlds.py``, with which the tests compare it. A set of items
is a whole number; item i is its bit i.
"""

from functools import lru_cache


def leaf_masks(parents):
    """Return for each node the set of leaves below it, found by walking up from every leaf.

    Leaves are numbered from 0 in the order of the nodes; a leaf lies below itself.
    """
    inner = set(parents)
    leaves = [v for v in range(len(parents)) if v not in inner]
    masks = [0] * len(parents)
    for bit, leaf in enumerate(leaves):
        v = leaf
        while v >= 0:
            masks[v] |= 1 << bit
            v = parents[v]
    return tuple(masks)


def can_match(below, items):
    """Tell whether every set of `below` can be given an item of its own out of `items`."""
    if not below:
        return True
    first, *others = below
    free = first & items
    while free:
        bit = free & -free
        if can_match(others, items & ~bit):
            return True
        free &= ~bit
    return False


@lru_cache(maxsize=100_000)
def generalized(below, n_leaves, *, hides, elsewhere=None):
    """Return all sets of leaves that a record with these nodes allows.

    `below` are the leaves under each published node of the record. `elsewhere` are those under
    the nodes that other records of the release publish, where what is hidden is hidden
    everywhere; None where it need not be.
    """
    every = range(1 << n_leaves)
    if elsewhere is not None:
        return tuple(
            t for t in every
            if all(mask & t for mask in below) and not any(mask & t for mask in elsewhere)
        )  # fmt: skip
    if hides:
        return tuple(t for t in every if can_match(below, t))
    covered = 0
    for mask in below:
        covered |= mask
    return tuple(t for t in every if not t & ~covered and all(mask & t for mask in below))


@lru_cache(maxsize=100_000)
def in_sets(groups, published, n_items):
    """Return all sets of items that a record of generalized items allows.

    `groups` are all generalized items of the release, `published` those of the record. Items that
    are published as they are, or not at all, make this the worlds of a suppressed record too.
    """
    return tuple(
        t for t in range(1 << n_items)
        if all(bool(t & group) == (group in published) for group in groups)
    )  # fmt: skip


def support_range(records, itemset):
    """Return the least and the greatest support of a set; `records` has the worlds of each."""
    low = sum(all(t & itemset == itemset for t in worlds) for worlds in records)
    return low, len(holders(records, itemset))


def holders(records, itemset):
    """Return the places of the records that may hold all items of a set."""
    return [
        place for place, worlds in enumerate(records) if any(t & itemset == itemset for t in worlds)
    ]
