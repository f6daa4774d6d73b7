"""Schemes of generalization judged by brute force, from plain paths of labels.

A tree is a mapping from each value to its path from the root down to the value itself. A table is
a list of tuples of values, and what is published a list of tuples of labels, row by row.
"""

from collections import Counter
from itertools import chain, combinations, product


def keeps(shown, k):
    return min(Counter(shown).values()) >= k


def transposed(columns):
    return list(zip(*columns, strict=True))


def column(rows, c):
    return [row[c] for row in rows]


# --- full domain ------------------------------------------------------------------------------


def at_level(values, tree, level):
    deepest = max(len(tree[value]) for value in values)
    return [tree[value][: max(1, deepest - level)][-1] for value in values]


def heights(rows, trees):
    return [max(len(t[v]) for v in column(rows, c)) - 1 for c, t in enumerate(trees)]


def at_levels(rows, trees, levels):
    return transposed([at_level(column(rows, c), trees[c], lev) for c, lev in enumerate(levels)])


def minimal_full_domain(rows, trees, shown, k):
    """Tell whether `shown` is a node of the lattice that keeps k and no node below it does."""
    nodes = list(product(*(range(height + 1) for height in heights(rows, trees))))
    good = [levels for levels in nodes if keeps(at_levels(rows, trees, levels), k)]
    own = [levels for levels in good if at_levels(rows, trees, levels) == shown]
    return any(
        not any(o != g and all(a <= b for a, b in zip(o, g, strict=True)) for o in good)
        for g in own
    )


# --- one mapping of values per column ---------------------------------------------------------


def nodes_of(values, tree):
    return sorted({node for value in values for node in tree[value]})


def told(values, tree, nodes):
    """Publish each value as the lowest of some nodes above it."""
    return [next(node for node in reversed(tree[value]) if node in nodes) for value in values]


def root(values, tree):
    return tree[values[0]][0]


def node_sets(values, tree):
    """Yield every set of nodes with the root."""
    others = [node for node in nodes_of(values, tree) if node != root(values, tree)]
    for chosen in chain.from_iterable(combinations(others, n) for n in range(len(others) + 1)):
        yield {root(values, tree), *chosen}


def is_cut(values, tree, labels):
    """Tell whether no published label stands above another one."""
    used = set(labels)
    return all(len(used & set(tree[value])) == 1 for value in values)


def tells_more(values, tree, fine, coarse):
    """Tell whether each value is shown at or below what it was, and one of them below."""
    cells = zip(values, fine, coarse, strict=True)
    places = [(tree[v].index(f), tree[v].index(c)) for v, f, c in cells]
    return all(f >= c for f, c in places) and any(f > c for f, c in places)


def minimal_global(rows, trees, shown, k, *, cuts):
    """Tell whether nothing that tells strictly more keeps k: by cuts, or by sets of nodes."""
    options = []
    for c, tree in enumerate(trees):
        values = column(rows, c)
        found = {tuple(told(values, tree, nodes)) for nodes in node_sets(values, tree)}
        if cuts:
            found = {labels for labels in found if is_cut(values, tree, labels)}
        now = tuple(column(shown, c))
        if now not in found:
            return False
        options.append(
            [labels for labels in found if labels == now or tells_more(values, tree, labels, now)]
        )
    better = (transposed(chosen) for chosen in product(*options))
    return keeps(shown, k) and not any(keeps(other, k) for other in better if other != shown)


# --- cells ------------------------------------------------------------------------------------


def minimal_cells(rows, trees, shown, k):
    """Tell whether no rows of a class can show, in one column, what is one step further down."""
    for row, labels in zip(rows, shown, strict=True):
        if any(label not in trees[c][row[c]] for c, label in enumerate(labels)):
            return False
    for label in set(shown):
        members = [i for i, other in enumerate(shown) if other == label]
        for c in range(len(trees)):
            if label[c] == trees[c][rows[members[0]][c]][-1]:
                continue
            for going in chain.from_iterable(
                combinations(members, n) for n in range(1, len(members) + 1)
            ):
                after = list(shown)
                for i in going:
                    path = trees[c][rows[i][c]]
                    after[i] = (*label[:c], path[path.index(label[c]) + 1], *label[c + 1 :])
                if keeps(after, k):
                    return False
    return keeps(shown, k)


# --- classes that are cut -------------------------------------------------------------------


def lowest(values, tree):
    shared = 0
    paths = [tree[value] for value in values]
    while all(len(p) > shared for p in paths) and len({p[shared] for p in paths}) == 1:
        shared += 1
    return paths[0][shared - 1]


def minimal_mondrian(rows, trees, classes, k):
    """Tell whether no class can be cut in parts of k; None instead of a tree: cut by order."""
    for members in (
        [row for row, other in zip(rows, classes, strict=True) if other == number]
        for number in set(classes)
    ):
        if len(members) < k:
            return False
        for c, tree in enumerate(trees):
            values = column(members, c)
            if tree is None:
                for cut in set(values):
                    below = sum(value <= cut for value in values)
                    if k <= below <= len(values) - k:
                        return False
                continue
            depth = tree[values[0]].index(lowest(values, tree))
            if len({tree[value][-1] for value in values}) > 1:
                parts = Counter(tree[value][depth + 1] for value in values)
                if min(parts.values()) >= k:
                    return False
    together = {}
    placed = zip(rows, classes, strict=True)
    return all(together.setdefault(row, number) == number for row, number in placed)
