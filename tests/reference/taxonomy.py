"""What a tree means, written with plain dictionaries and recursion."""

import itertools
import math


def as_dict(tree):
    """Return a taxonomy as id → id of its parent (None for the root)."""
    return {
        tree.ids[v]: None if above < 0 else tree.ids[above]
        for v, above in enumerate(tree.parents.tolist())
    }


def children(parents):
    """Return each node's children."""
    below = {node: [] for node in parents}
    for node, above in parents.items():
        if above is not None:
            below[above].append(node)
    return below


def root(parents):
    (top,) = [node for node, above in parents.items() if above is None]
    return top


def ancestors(parents, node):
    """Return the way from a node, itself included, to the root."""
    way = [node]
    while parents[way[-1]] is not None:
        way.append(parents[way[-1]])
    return way


def leaves(parents, node):
    """Return the leaves below a node; a leaf has itself."""
    below = children(parents)[node]
    if not below:
        return {node}
    return set().union(*(leaves(parents, child) for child in below))


def lca(parents, one, other):
    """Return the first common node of two ways to the root."""
    there = set(ancestors(parents, other))
    return next(node for node in ancestors(parents, one) if node in there)


def preorder(parents, name):
    """Return the nodes as a visitor meets them who takes siblings by name, then by id."""
    below = children(parents)

    def visit(node):
        yield node
        for child in sorted(below[node], key=lambda c: (name[c], c)):
            yield from visit(child)

    return list(visit(root(parents)))


def cuts(parents):
    """Return every set of nodes that has exactly one node on each leaf's way to the root."""
    ways = [set(ancestors(parents, leaf)) for leaf in leaves(parents, root(parents))]
    nodes = list(parents)
    subsets = itertools.chain.from_iterable(
        itertools.combinations(nodes, size) for size in range(len(nodes) + 1)
    )
    return [set(s) for s in subsets if all(len(way & set(s)) == 1 for way in ways)]


def number_of_cuts(parents):
    """Return the number of cuts by the recursion of the definition."""
    below = children(parents)

    def count(node):
        return math.prod(map(count, below[node])) + 1 if below[node] else 1

    return count(root(parents))


def image(parents, cut, node):
    """Return the node of a cut on the way from a node to the root, if there is one."""
    return next((above for above in ancestors(parents, node) if above in cut), None)


def of_paths(paths):
    """Return item → its root-to-item way, where a name that returns closes a detour."""
    found = {}
    for path in paths:
        way = []
        for name in reversed(path):
            way = way[: way.index(name)] if name in way else way
            way = [*way, name]
        found[path[0]] = tuple(way)
    return found


def ways(tree):
    """Return for each leaf the names from the root to it; a private leaf stands for its item."""
    found = {}
    for v, own in enumerate(tree.pseudo.tolist()):
        if tree.ends[v] == v + 1:
            way = [tree.names[u] for u in reversed(tree.ancestors(v))]
            found[way[-1]] = tuple(way[:-1] if own else way)
    return found


def assert_same(one, other):
    """Assert that two trees agree in everything."""
    assert one.ids == other.ids
    assert one.names == other.names
    assert one.parents.tolist() == other.parents.tolist()
    assert one.leaves.tolist() == other.leaves.tolist()
    assert one.pseudo.tolist() == other.pseudo.tolist()
