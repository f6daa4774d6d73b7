"""Itemsets on all levels of a tree, by writing every record out with all nodes above its items."""

from collections import Counter
from itertools import combinations


def above(tree, name):
    """Return the ids of an item's leaf and of the nodes above it, but the root."""
    node = int(tree.leaf_of([name])[0])
    way = []
    while node != 0:
        way.append(tree.ids[node])
        node = int(tree.parents[node])
    return way


def supports(rows, ways, largest):
    """Return the supports of sets of nodes, none above another; rows are ids of their nodes."""
    related = {frozenset((a, b)) for way in ways for a in way for b in way if a != b}
    counts = Counter()
    for row in rows:
        for size in range(1, largest + 1):
            for chosen in combinations(sorted(set(row)), size):
                if not any(frozenset(pair) in related for pair in combinations(chosen, 2)):
                    counts[chosen] += 1
    return counts
