"""Plain twins for trees, least common generalizations and their distortion: strings and dicts only.

A record is a list of node names of a `Tree`; a bag over any nodes is allowed, so a published
generalization is itself a record here.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PRIVATE = " (itself)"

Bag = tuple[str, ...]


class Tree:
    """A rooted tree given as child → parent, with None above the root."""

    def __init__(self, parents: Mapping[str, str | None]) -> None:
        self.parents = dict(parents)
        self.children: dict[str, list[str]] = {v: [] for v in self.parents}
        for v, p in self.parents.items():
            if p is not None:
                self.children[p].append(v)
        (self.root,) = (v for v, p in self.parents.items() if p is None)
        self._ways: dict[str, list[str]] = {}

    @classmethod
    def of(cls, taxonomy) -> Tree:
        """Rebuild a setveil taxonomy from nothing but its ids and parent numbers."""
        ids = taxonomy.ids
        above = [ids[p] if p >= 0 else None for p in taxonomy.parents.tolist()]
        return cls(dict(zip(ids, above, strict=True)))

    def for_rows(self, rows: Iterable[Iterable[str]]) -> tuple[Tree, list[list[str]]]:
        """Give every interior item a private leaf; return the new tree and the rows over leaves."""
        rows = [list(row) for row in rows]
        inner = {i for row in rows for i in row if self.children[i]}
        parents = self.parents | {i + PRIVATE: i for i in inner}
        return Tree(parents), [[i + PRIVATE if i in inner else i for i in row] for row in rows]

    @cached_property
    def preorder(self) -> list[str]:
        """Parents before children, siblings by name."""
        found, stack = [], [self.root]
        while stack:
            found.append(v := stack.pop())
            stack.extend(sorted(self.children[v], reverse=True))
        return found

    @property
    def postorder(self) -> list[str]:
        """Children before parents."""
        return self.preorder[::-1]

    @cached_property
    def leaves(self) -> dict[str, int]:
        """Number of leaves below each node; 1 for a leaf."""
        counts: dict[str, int] = {}
        for v in self.postorder:
            counts[v] = sum(counts[c] for c in self.children[v]) or 1
        return counts

    @property
    def n_leaves(self) -> int:
        return self.leaves[self.root]

    def up(self, node: str) -> list[str]:
        """The node itself, its parent, … the root."""
        if node not in self._ways:
            way = [node]
            while (above := self.parents[way[-1]]) is not None:
                way.append(above)
            self._ways[node] = way
        return self._ways[node]

    def covers(self, above: str, below: str) -> bool:
        return above in self.up(below)


def counts(row: Iterable[str], tree: Tree) -> Counter[str]:
    """n_t(v): how many items of the record lie in the subtree of v, for the v where it is not 0."""
    below: Counter[str] = Counter()
    for item in row:
        below.update(tree.up(item))
    return below


def emit(least: Mapping[str, int], tree: Tree) -> Bag:
    """LCG*(v) = M(v) - Σ M(child), as a sorted bag."""
    surplus = Counter(least)
    for v, m in least.items():
        above = tree.parents[v]
        if above is not None:
            surplus[above] -= m
    return tuple(sorted(surplus.elements()))


def lcg(rows: Sequence[Iterable[str]], tree: Tree) -> Bag:
    """Return the least common generalization of bags over any nodes, in closed form."""
    all_counts = [counts(row, tree) for row in rows]
    least = {v: min(c[v] for c in all_counts) for v in all_counts[0]}
    return emit({v: m for v, m in least.items() if m}, tree)


def lcg_bottom_up_printed(
    rows: Sequence[Sequence[str]], tree: Tree, *, multiplicity: bool = True
) -> Bag:
    """Algorithm 5.6 of the thesis as printed; it drops the surplus of a node once it is used.

    `multiplicity=False` takes line 4 literally: a record holds an item once or not at all.
    """
    here = {
        v: [row.count(v) if multiplicity else int(v in row) for row in rows] for v in tree.postorder
    }
    found: list[str] = []
    for v in tree.postorder:
        for child in tree.children[v]:
            if least := min(here[child]):
                found += [child] * least
            else:
                here[v] = [a + b for a, b in zip(here[v], here[child], strict=True)]
    found += [tree.root] * (min(map(len, rows)) - len(found))
    return tuple(sorted(found))


def incremental(rows: Sequence[Sequence[str]], tree: Tree, generalize, **options) -> Bag:
    """Fold a generalization over the records one by one, as Lemma 4.1.1 of the thesis says."""
    so_far: Sequence[str] = rows[0]
    for row in rows[1:]:
        so_far = generalize([so_far, row], tree, **options)
    return tuple(sorted(so_far))


def is_generalization(general: Sequence[str], row: Sequence[str], tree: Tree) -> bool:
    """Tell by bipartite matching whether each published node stands for an item of its own."""
    partner: dict[int, int] = {}

    def place(node: int, tried: set[int]) -> bool:
        for item, name in enumerate(row):
            if item not in tried and tree.covers(general[node], name):
                tried.add(item)
                if item not in partner or place(partner[item], tried):
                    partner[item] = node
                    return True
        return False

    return all(place(node, set()) for node in range(len(general)))


def loss_metric(node: str, tree: Tree) -> Fraction:
    """LM = (leaves below - 1) / (all leaves - 1); 0 in a tree of one leaf."""
    return Fraction(tree.leaves[node] - 1, max(tree.n_leaves - 1, 1))


def ggd(rows: Sequence[Sequence[str]], general: Sequence[str], tree: Tree) -> Fraction:
    """Generalization and suppression cost of publishing `general` for each of `rows`."""
    suppressed = sum(map(len, rows)) - len(rows) * len(general)
    return len(rows) * sum(loss_metric(v, tree) for v in general) + Fraction(suppressed)
