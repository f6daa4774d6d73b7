"""A tree of nouns with the outline of WordNet's: deep, narrow at the top, very uneven below."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.taxonomy import Taxonomy

if TYPE_CHECKING:
    from setveil.core.table import Int64Array

# Nodes at each distance from the root, and how many of them have children: the outline of the
# tree that WordNet's is-a-kind-of links form over some 19,000 common nouns. Together 25,645
# nodes and height 18, as the thesis reports for the nouns of its query log.
NODES = (
    1,
    2,
    11,
    140,
    882,
    2290,
    3752,
    4860,
    4158,
    4112,
    2758,
    1342,
    670,
    297,
    140,
    124,
    74,
    24,
    8,
)
PARENTS = (1, 2, 11, 115, 538, 1085, 1530, 1560, 1385, 1105, 655, 302, 170, 80, 46, 44, 17, 4, 0)

# A parent's chance of each further child is Pareto distributed: half of the parents end with one
# child, the largest family has some hundred. The tail is heavier near the top, where in WordNet
# a few branches (artifacts, persons, ...) hold most of the nouns.
TOP_LEVELS = 4
TOP_TAIL = 0.8
TAIL = 1.5
# Of some forty trees that these figures give, the one whose largest branches at the first five
# levels come closest to WordNet's: 56% and 44% of the leaves, then 43%, 37%, 24%.
TREE = 2


@cache
def noun_tree() -> Taxonomy:
    """Return the tree; nodes are named ``noun-00000`` (the root) onwards, in preorder.

    >>> tree = noun_tree()
    >>> len(tree), tree.height
    (25645, 18)
    """
    rng = np.random.default_rng(TREE)
    above = _grow(rng)
    order = _preorder(above)
    place = np.empty(len(above), dtype=np.int64)
    place[order] = np.arange(len(above))
    parents = [-1, *place[above[order[1:]]].tolist()]
    names = [f"noun-{i:05d}" for i in range(len(above))]
    return Taxonomy.from_nodes(names, names, parents)


def _grow(rng: np.random.Generator) -> Int64Array:
    """Return each node's parent, level by level: one child for each parent, the rest by chance."""
    above = [np.array([-1])]
    first = 0
    for level, below in enumerate(NODES[1:]):
        here, with_children = NODES[level], PARENTS[level]
        able = first + rng.choice(here, with_children, replace=False)
        luck = rng.pareto(TOP_TAIL if level < TOP_LEVELS else TAIL, with_children)
        more = rng.choice(able, below - with_children, p=luck / luck.sum())
        above.append(np.concatenate([able, more]))
        first += here
    return np.concatenate(above)


def _preorder(above: Int64Array) -> Int64Array:
    """Return the nodes in preorder, siblings in the order they have."""
    sizes = np.ones(len(above), dtype=np.int64)
    for node in range(len(above) - 1, 0, -1):
        sizes[above[node]] += sizes[node]
    place = np.zeros(len(above), dtype=np.int64)
    free = np.ones(len(above), dtype=np.int64)  # next place below each node, from its own
    for node in range(1, len(above)):
        parent = above[node]
        place[node] = place[parent] + free[parent]
        free[parent] += sizes[node]
    return np.argsort(place)
