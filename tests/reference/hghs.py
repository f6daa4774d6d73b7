"""HgHs in plain Python: every cut is generalized, mined and counted from the records themselves.

Costs are in units of 1 / (all leaves - 1), so that they are whole numbers.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING

from tests.reference.coherence import greedy_hits, minimal, support

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.reference.lcg import Tree

Cut = frozenset[str]


class Problem:
    """Records over leaves, a tree, k and m; answers questions about cuts."""

    def __init__(self, rows: Sequence[Sequence[str]], tree: Tree, k: int, m: int | None) -> None:
        self.tree, self.rows = tree.for_rows([sorted(set(row)) for row in rows])
        self.k = k
        self.m = m if m is not None else max(map(len, self.rows), default=0)
        self.unit = max(self.tree.n_leaves - 1, 1)
        self.place = {v: i for i, v in enumerate(self.tree.preorder)}
        self.occ = dict.fromkeys(self.tree.preorder, 0)
        for row in self.rows:
            for item in row:
                for v in self.tree.up(item):
                    self.occ[v] += 1
        self._known: dict[Cut, tuple[int, list[str]]] = {}

    def lowest(self, node: str) -> str:
        """Go down while only one child has items below it: that child says more, at no risk."""
        while len(below := [c for c in self.tree.children[node] if self.occ[c]]) == 1:
            (node,) = below
        return node

    def children(self, node: str) -> list[str]:
        return [self.lowest(c) for c in self.tree.children[node] if self.occ[c]]

    @property
    def start(self) -> Cut:
        return frozenset([self.lowest(self.tree.root)])

    def split(self, cut: Cut, node: str) -> Cut:
        return cut - {node} | frozenset(self.children(node))

    def generalized(self, cut: Cut) -> list[set[str]]:
        return [{v for item in row for v in self.tree.up(item) if v in cut} for row in self.rows]

    def threats(self, cut: Cut) -> list[tuple[str, ...]]:
        """Return the minimal itemsets over the cut that some record holds, but fewer than k."""
        rows = self.generalized(cut)
        nodes = sorted(cut, key=self.place.__getitem__)
        sizes = range(1, min(self.m, max(map(len, rows), default=0)) + 1)
        return minimal(
            [s for i in sizes for s in combinations(nodes, i) if 0 < support(s, rows) < self.k]
        )

    def residual(self, node: str) -> int:
        """What suppressing a node costs beyond generalizing to it: 1 per occurrence in all."""
        return self.occ[node] * (self.unit - (self.tree.leaves[node] - 1))

    def cost(self, cut: Cut, suppressed: Sequence[str]) -> int:
        general = sum(self.occ[v] * (self.tree.leaves[v] - 1) for v in cut)
        return general + sum(self.residual(v) for v in suppressed)

    def greedy(self, cut: Cut) -> tuple[int, list[str]]:
        """Return the cost of a cut and what the greedy hitting set suppresses in it."""
        if cut not in self._known:
            place, names = self.place, self.tree.preorder
            sets = [tuple(place[v] for v in s) for s in self.threats(cut)]
            chosen = greedy_hits(sets, {place[v]: self.residual(v) for v in cut})
            suppressed = [names[i] for i in chosen]
            self._known[cut] = self.cost(cut, suppressed), suppressed
        return self._known[cut]

    def best_suppression(self, cut: Cut) -> int:
        """Return the least cost of a cut over all sets of nodes that hit its threats."""
        threats = self.threats(cut)
        return min(
            self.cost(cut, chosen)
            for size in range(len(cut) + 1)
            for chosen in combinations(sorted(cut), size)
            if all(set(s) & set(chosen) for s in threats)
        )

    def all_cuts(self) -> Iterator[Cut]:
        def below(node: str) -> list[Cut]:
            kids = self.children(node)
            if not kids:
                return [frozenset([node])]
            parts = product(*(below(c) for c in kids))
            return [frozenset([node]), *(frozenset().union(*part) for part in parts)]

        (root,) = self.start
        yield from below(root)

    def optimum(self) -> int:
        return min(map(self.best_suppression, self.all_cuts()))


def steps_from(problem: Problem, cut: Cut) -> list[str]:
    """The nodes that can be split, in preorder."""
    return sorted(
        (v for v in cut if problem.children(v) and problem.occ[v]), key=problem.place.__getitem__
    )


def descend(problem: Problem, *, pairs: bool = True) -> tuple[Cut, list[str]]:
    """Split nodes as long as that is cheaper; return the cut and what is suppressed in it.

    What a split was worth is remembered; asked again is only about the one that seems best, and
    about all before the answer is that none is cheaper. Then two splits at once are tried: all
    pairs, or only a node and one of its children.
    """
    cut = problem.start
    worth: dict[str, int] = {}
    while True:
        now = problem.greedy(cut)[0]
        nodes = steps_from(problem, cut)
        unknown = [v for v in nodes if v not in worth]
        for v in unknown:
            worth[v] = problem.greedy(problem.split(cut, v))[0] - now
        fresh = set(unknown)
        while nodes:
            best = min(nodes, key=lambda v: (worth[v], problem.place[v]))
            if best in fresh and (worth[best] < 0 or fresh >= set(nodes)):
                break
            if best in fresh:
                best = next(v for v in nodes if v not in fresh)
            worth[best] = problem.greedy(problem.split(cut, best))[0] - now
            fresh.add(best)
        if nodes and worth[best] < 0:
            cut = problem.split(cut, best)
            continue
        twice = [
            problem.split(problem.split(cut, v), u)
            for v in nodes
            for u in steps_from(problem, problem.split(cut, v))
            if u not in cut or (pairs and problem.place[v] < problem.place[u])
        ]
        following = min(twice, key=lambda c: problem.greedy(c)[0], default=cut)
        if problem.greedy(following)[0] >= now:
            return cut, problem.greedy(cut)[1]
        cut = following
