"""All originals that a published record allows, by enumeration, straight from the definitions."""

from collections import Counter
from fractions import Fraction
from itertools import chain, combinations, permutations


def leaves_below(tree, node):
    """Return the leaves whose way to the root passes `node`, found by walking up from each."""
    has_child = set(tree.parents.tolist())
    found = []
    for leaf in range(len(tree)):
        if leaf in has_child:
            continue
        v = leaf
        while v not in {node, -1}:
            v = int(tree.parents[v])
        if v == node:
            found.append(leaf)
    return found


def all_leaves(tree):
    return leaves_below(tree, 0)


def can_match(tree, nodes, items):
    """Tell whether every published node can be given an item of its own below it."""
    below = [set(leaves_below(tree, v)) for v in nodes]
    owner = {}

    def place(i, tried):
        for item in items:
            if item in below[i] and item not in tried:
                tried.add(item)
                if item not in owner or place(owner[item], tried):
                    owner[item] = i
                    return True
        return False

    return all(place(i, set()) for i in range(len(nodes)))


def allows(tree, nodes, items, *, hides, anywhere=None):
    """Tell whether a published record may stand for the original set of leaves `items`.

    `anywhere` are the nodes that any record of the release publishes, where what is hidden is
    hidden everywhere; None where it need not be.
    """
    below = [set(leaves_below(tree, v)) for v in nodes]
    if anywhere is not None:
        elsewhere = [set(leaves_below(tree, v)) for v in anywhere if v not in nodes]
        shown = all(part & set(items) for part in below)
        return hides and shown and not any(part & set(items) for part in elsewhere)
    if hides:
        return can_match(tree, nodes, items)
    covered = all(any(item in part for part in below) for item in items)
    return covered and all(part & set(items) for part in below)


def worlds(tree, nodes, *, hides, anywhere=None):
    """Return all sets of leaves that a published record allows."""
    leaves = all_leaves(tree)
    subsets = chain.from_iterable(combinations(leaves, r) for r in range(len(leaves) + 1))
    return [frozenset(t) for t in subsets if allows(tree, nodes, t, hides=hides, anywhere=anywhere)]


def suppressed_allows(vocabulary, published, original):
    """Tell whether a record whose items were removed may stand for an original set of names."""
    return {item for item in original if item in vocabulary} == set(published)


def suppressed_worlds(vocabulary, published, items):
    """Return all sets of `items` that a record whose items were removed allows."""
    subsets = chain.from_iterable(combinations(items, r) for r in range(len(items) + 1))
    return [frozenset(t) for t in subsets if suppressed_allows(vocabulary, published, t)]


def sets_allow(groups, published, original):
    """Tell whether a record of generalized items may stand for an original set of names.

    `groups` are all generalized items of the release, `published` those of the record.
    """
    return all((set(group) & set(original) != set()) == (group in published) for group in groups)


def sets_worlds(groups, published, items):
    """Return all sets of `items` that a record of generalized items allows."""
    subsets = chain.from_iterable(combinations(items, r) for r in range(len(items) + 1))
    return [frozenset(t) for t in subsets if sets_allow(groups, published, t)]


def draws(tree, nodes):
    """Return the chance of every set of leaves when distinct leaves are chosen uniformly."""
    counts = Counter(
        frozenset(choice)
        for choice in permutations(all_leaves(tree), len(nodes))
        if all(leaf in leaves_below(tree, v) for leaf, v in zip(choice, nodes, strict=True))
    )
    total = sum(counts.values())
    return {world: Fraction(count, total) for world, count in counts.items()}
