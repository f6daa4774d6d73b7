"""Tiny tables, trees and parameters, drawn at random; the same number draws the same."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from random import Random

from tests.reference import record_worlds

from setveil import Taxonomy, TransactionTable

TREES = 400
"""How many different trees there are to draw from: making one takes longer than judging one."""


def draw_rows(rng, items, *, least=2, most=7, empty=0.05):
    """Draw records over some items; equal ones are frequent, empty ones are not."""
    share = rng.choice([0.25, 0.5, 0.75])
    rows = []
    for _ in range(rng.randint(least, most)):
        if rows and rng.random() < 0.35:
            rows.append(list(rng.choice(rows)))
            continue
        row = [item for item in items if rng.random() < share]
        rows.append(row or ([] if rng.random() < empty else [rng.choice(items)]))
    return rows


def draw_itemsets(rng, items, number=2):
    """Draw a few sets of items to ask for."""
    sizes = [rng.randint(0 if rng.random() < 0.1 else 1, min(3, len(items))) for _ in range(number)]
    return [sorted(rng.sample(items, size)) for size in sizes]


@dataclass(frozen=True)
class Domain:
    """A tree as a user gives it, the items that records may hold, and the whole tree of both."""

    tree: Taxonomy
    items: tuple
    secrets: tuple = ()

    @cached_property
    def whole(self):
        return self.tree.for_items(self.items).beside(self.secrets)

    @cached_property
    def below(self):
        """For each node's id the leaves below it, as bits."""
        masks = record_worlds.leaf_masks(self.whole.parents.tolist())
        return dict(zip(self.whole.ids, masks, strict=True))

    @cached_property
    def n_leaves(self):
        return self.below[self.whole.ids[0]].bit_count()

    @cached_property
    def bit(self):
        """For each item its leaf, which is a private one where the item has items below it."""
        tree = self.whole
        parents = tree.parents.tolist()
        inner = set(parents)
        return {
            tree.ids[parents[v]] if tree.pseudo[v] else tree.ids[v]: self.below[tree.ids[v]]
            for v in range(len(parents))
            if v not in inner
        }


@lru_cache(maxsize=4_096)
def domain(number, items, secrets=()):
    """Return a tree by its number, with the items that records hold."""
    return Domain(_tree(number)[0], items, secrets)


@lru_cache(maxsize=TREES)
def _tree(number):
    """Return a tree of three to six leaves, and the nodes that may be items."""
    rng = Random(f"tree {number}")
    leaves = list("abcdef"[: rng.randint(3, 6)])
    rng.shuffle(leaves)
    parents, tops, fresh = {}, leaves, list("ABCDEFGH")
    while len(tops) > 1:
        node = fresh.pop(0)
        for child in rng.sample(tops, rng.randint(1 if len(fresh) > 5 else 2, min(3, len(tops)))):
            parents[child] = node
            tops = [v for v in tops if v != child]
        tops.append(node)
    inner = sorted(set(parents.values()))
    items = tuple(sorted(leaves)) + ((rng.choice(inner),) if rng.random() < 0.25 else ())
    return Taxonomy.from_parents(parents), items


def draw_table(rng, *, secrets=(), **sizes):
    """Draw records over a tree's items and, beside them, sensitive ones; return both, and a table.

    All sensitive items occur, and one that is not.
    """
    number = rng.randrange(TREES)
    ordinary = _tree(number)[1]
    rows = draw_rows(rng, [*ordinary, *secrets], **sizes)
    held = {item for row in rows for item in row}
    if not held.intersection(ordinary):
        rows[0].append(ordinary[0])
        held.add(ordinary[0])
    found = tuple(sorted(held.intersection(secrets)))
    if secrets and not found:
        rows[-1].append(secrets[0])
        found = secrets[:1]
    items = tuple(item for item in ordinary if item in held)
    return rows, domain(number, items, found), TransactionTable.from_rows(rows)
