"""k^m-anonymity in plain Python: recounting every itemset, every cut, and the count-tree methods.

Records are collections of node names of a `Tree`; an item that is an interior node gets a private
leaf first (`Tree.for_rows`). A recoding is global: each leaf has one image in all records.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.reference.lcg import Tree

Itemset = tuple[str, ...]


# --- the guarantee --------------------------------------------------------------------------------


def supports(rows: Iterable[Iterable[str]], m: int) -> Counter[Itemset]:
    """Count every set of one to m items in every record."""
    counts: Counter[Itemset] = Counter()
    for row in rows:
        items = sorted(set(row))
        for size in range(1, min(m, len(items)) + 1):
            counts.update(combinations(items, size))
    return counts


def violations(rows: Iterable[Iterable[str]], k: int, m: int) -> dict[Itemset, int]:
    """The sets of at most m items that occur, but in fewer than k records."""
    return {items: count for items, count in supports(rows, m).items() if count < k}


def is_km_anonymous(rows: Iterable[Iterable[str]], k: int, m: int) -> bool:
    return not violations(rows, k, m)


# --- recodings ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recoding:
    """The image of each leaf, the cut of all images, and the share of detail that was lost."""

    image: dict[str, str]
    cut: frozenset[str]
    ncp: Fraction


def recoding(rows: Sequence[Iterable[str]], tree: Tree, cut: Iterable[str]) -> Recoding:
    """Describe the recoding to a cut of `tree`; `rows` hold leaves."""
    cut = frozenset(cut)
    image = {v: next(a for a in tree.up(v) if a in cut) for v in tree.parents if _leaf(v, tree)}
    occurrences = Counter(chain.from_iterable(set(row) for row in rows))
    total = occurrences.total()
    lost = sum(count * scaled_ncp(image[item], tree) for item, count in occurrences.items())
    return Recoding(image, cut, Fraction(lost, total * tree.n_leaves) if total else Fraction(0))


def recoded(rows: Iterable[Iterable[str]], image: dict[str, str]) -> list[set[str]]:
    return [{image[item] for item in row} for row in rows]


def scaled_ncp(node: str, tree: Tree) -> int:
    """NCP times the number of leaves: 0 for a leaf, otherwise the leaves below."""
    return 0 if _leaf(node, tree) else tree.leaves[node]


def _leaf(node: str, tree: Tree) -> bool:
    return not tree.children[node]


def cuts(tree: Tree, node: str | None = None) -> Iterator[frozenset[str]]:
    """Every set of nodes with exactly one above (or at) each leaf."""
    node = tree.root if node is None else node
    yield frozenset({node})
    if tree.children[node]:
        for below in product(*(list(cuts(tree, child)) for child in tree.children[node])):
            yield frozenset().union(*below)


def optimal_reference(rows: Sequence[Iterable[str]], tree: Tree, k: int, m: int) -> Recoding:
    """The least NCP over all cuts, each tested by recounting."""
    tree, rows = _prepared(rows, tree, k)
    tried = (recoding(rows, tree, cut) for cut in cuts(tree))
    safe = (found for found in tried if is_km_anonymous(recoded(rows, found.image), k, m))
    return min(safe, key=lambda found: (found.ncp, -len(found.cut), sorted(found.cut)))


def _prepared(rows: Sequence[Iterable[str]], tree: Tree, k: int) -> tuple[Tree, list[list[str]]]:
    filled = sum(1 for row in rows if list(row))
    if 0 < filled < k:
        raise ValueError(f"{filled} records with items cannot be made {k}-fold")
    return tree.for_rows([sorted(set(row)) for row in rows])


# --- the count-tree -------------------------------------------------------------------------------


class CountTree:
    """A trie of itemsets over expanded records: item → [number of records, trie below].

    No path holds a node and its ancestor. Along a path, nodes stand in the order of `rank`: more
    general (higher) first, then more frequent, then as in the taxonomy.
    """

    def __init__(self, rows: Iterable[Iterable[str]], tree: Tree, size: int) -> None:
        expanded = [set(chain.from_iterable(map(tree.up, row))) for row in rows]
        held = Counter(chain.from_iterable(expanded))
        place = {v: i for i, v in enumerate(tree.preorder)}
        order = sorted(held, key=lambda v: (len(tree.up(v)), -held[v], place[v]))
        self.rank = {v: i for i, v in enumerate(order)}
        self.above = {v: frozenset(tree.up(v)) for v in order}
        self.trie: dict = {}
        for items in expanded:
            self._insert(self.trie, sorted(items, key=self.rank.__getitem__), size)

    def _insert(self, trie: dict, items: list[str], size: int) -> None:
        for i, item in enumerate(items):
            node = trie.setdefault(item, [0, {}])
            node[0] += 1
            if size > 1:
                rest = [other for other in items[i + 1 :] if item not in self.above[other]]
                self._insert(node[1], rest, size - 1)

    def support(self, items: Iterable[str]) -> int:
        trie, count = self.trie, 0
        for item in sorted(items, key=self.rank.__getitem__):
            if item not in trie:
                return 0
            count, trie = trie[item]
        return count


class GrowingCut:
    """A cut that only goes up, what it costs, and which nodes it has put out of sight."""

    def __init__(self, rows: Iterable[Iterable[str]], tree: Tree) -> None:
        self.tree = tree
        self.cut = {v for v in tree.parents if _leaf(v, tree)}
        self.hidden: set[str] = set()
        self.held: Counter[str] = Counter()  # occurrences of leaves below each node
        self.paid: Counter[str] = Counter()  # what they cost as they are published now
        for item, count in Counter(chain.from_iterable(rows)).items():
            for above in tree.up(item):
                self.held[above] += count

    def cost(self, node: str) -> int:
        """What publishing `node` instead of all that is below it adds to the loss."""
        if node in self.cut:
            return 0
        return self.held[node] * scaled_ncp(node, self.tree) - self.paid[node]

    def merge(self, node: str) -> None:
        added = self.cost(node)
        for above in self.tree.up(node):
            self.paid[above] += added
        below = list(self.tree.children[node])
        while below:
            v = below.pop()
            if v not in self.hidden:
                self.hidden.add(v)
                self.cut.discard(v)
            below.extend(self.tree.children[v])
        self.cut.add(node)

    def image(self, leaf: str) -> str:
        return next(v for v in self.tree.up(leaf) if v in self.cut)

    def repair(self, items: Itemset, counts: CountTree, k: int) -> None:
        """Replace items by ancestors, in the cheapest way that at least k records hold."""
        ways = []
        for chosen in product(*map(self.tree.up, items)):
            top = {v for v in chosen if not any(v != u and self.tree.covers(u, v) for u in chosen)}
            new = top - set(items)
            if new and counts.support(top) >= k:
                ways.append((sum(map(self.cost, new)), sorted(-counts.rank[v] for v in new), new))
        # Of equals the most specific.
        for node in min(ways, key=lambda way: way[:2])[2]:
            self.merge(node)

    def visit(self, trie: dict, path: Itemset, counts: CountTree, k: int) -> None:
        """Go through the count-tree in preorder; what is below a generalized item is pruned."""
        for item in sorted(trie, key=counts.rank.__getitem__):
            if item in self.hidden:
                continue
            count, below = trie[item]
            if count < k:
                self.repair((*path, item), counts, k)
            else:
                self.visit(below, (*path, item), counts, k)
            if self.hidden.intersection(path):
                return


def direct_reference(rows: Sequence[Iterable[str]], tree: Tree, k: int, m: int) -> Recoding:
    """DA: one count-tree of all sets of at most m nodes; every node of it is tested."""
    tree, rows = _prepared(rows, tree, k)
    cut = GrowingCut(rows, tree)
    counts = CountTree(rows, tree, m)
    cut.visit(counts.trie, (), counts, k)
    return recoding(rows, tree, cut.cut)


def apriori_reference(rows: Sequence[Iterable[str]], tree: Tree, k: int, m: int) -> Recoding:
    """AA: DA for sets of 1, 2, … m nodes, each time on records rewritten by the cut so far.

    Generalized items are replaced; the ancestors of what replaced them stay candidates.
    """
    tree, rows = _prepared(rows, tree, k)
    cut = GrowingCut(rows, tree)
    for size in range(1, m + 1):
        counts = CountTree([{cut.image(item) for item in row} for row in rows], tree, size)
        cut.visit(counts.trie, (), counts, k)
    return recoding(rows, tree, cut.cut)


def published_ncp(rows: Sequence[Iterable[str]], published: Sequence[Iterable[str]], tree: Tree):
    """The share of detail lost, from the records and what stands for each of them."""
    tree, rows = tree.for_rows([sorted(set(row)) for row in rows])
    lost = total = 0
    for row, nodes in zip(rows, map(set, published), strict=True):
        assert {v for item in row for v in tree.up(item) if v in nodes} == nodes
        for item in row:
            (image,) = (v for v in tree.up(item) if v in nodes)
            lost += scaled_ncp(image, tree)
            total += 1
    return Fraction(lost, total * tree.n_leaves) if total else Fraction(0)
