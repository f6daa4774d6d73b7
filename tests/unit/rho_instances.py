"""Random instances for the ρ-uncertainty methods, and what any release of theirs must satisfy."""

from fractions import Fraction
from functools import cache

from tests.reference.lcg import Tree

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import RhoFamily, SimpleSuppression, SuppressControl, TDControl

METHODS = [SimpleSuppression, SuppressControl, TDControl, RhoFamily]
RHOS = [Fraction(r) for r in ("1/5", "1/3", "2/5", "1/2", "0.501", "3/5", "2/3", "0.7", "3/4", "1")]


def random_instance(rng):
    """Up to twelve records over a small tree of any shape, some chains, and few sensitive items."""
    parents = {"R": None}
    for a in range(rng.randint(1, 3)):
        parents[f"A{a}"] = "R"
        for b in range(rng.choice([0, 1, 2, 2])):
            parents[f"A{a}B{b}"] = f"A{a}"
            if rng.random() < 0.1:
                parents[f"A{a}B{b}C"] = f"A{a}B{b}"
    tree = Tree(parents)
    leaves = [v for v in tree.preorder if not tree.children[v]]
    secret = [f"s{i}" for i in range(rng.randint(1, 3))]
    often = {item: rng.random() for item in leaves + secret}
    rows = [[i for i in often if rng.random() < often[i]] for _ in range(rng.randint(1, 12))]
    rows += rng.choices(rows, k=rng.randint(0, 4))
    sensitive = [s for s in secret if any(s in row for row in rows)]
    if not sensitive:
        rows.append(["s0"])
        sensitive = ["s0"]
    return rows, tree, sensitive, rng.choice(RHOS)


@cache
def taxonomy_of(parents):
    """Return the taxonomy of (child, parent) pairs; few shapes come again and again."""
    return Taxonomy.from_parents(dict(parents))


def run(method, rows, tree, sensitive, rho, **params):
    given = {"sensitive": sensitive}
    if "taxonomy" in method.requires:
        given["taxonomy"] = taxonomy_of(tuple(tree.parents.items()))
    return method(rho=rho, **params).anonymize(TransactionTable.from_rows(rows), **given)


def node_of(item, rows, published, tree):
    """Return as what `item` is published in all records that hold it, None if it is suppressed."""
    ways = tree.up(item) if item in tree.parents else [item]
    found = {
        tuple(node for node in ways if node in shown)
        for row, shown in zip(rows, published, strict=True)
        if item in row
    }
    (nodes,) = found  # the same in every record
    assert len(nodes) <= 1
    return nodes[0] if nodes else None


def assert_published(made, rows, tree, sensitive):
    """Check that each item has one image, that records show just these, and the average loss."""
    shown = made.release.to_rows()
    assert sorted(made.key.records.tolist()) == list(range(len(rows)))
    published = [set(shown[made.key.records.tolist().index(r)]) for r in range(len(rows))]
    occurring = sorted({item for row in rows for item in row})
    image = {item: node_of(item, rows, published, tree) for item in occurring}
    for row, nodes in zip(rows, published, strict=True):
        assert nodes == {image[item] for item in row} - {None}
    leaves = [v for v in tree.parents if not tree.children[v]]
    total = len(leaves) * sum(map(len, rows))
    lost = 0
    for item in (item for row in rows for item in row):
        node = image[item]
        if node is None:
            lost += len(leaves)
        elif node in tree.parents and tree.children[node]:
            lost += sum(node in tree.up(leaf) for leaf in leaves)
    assert made.figures["average_loss"] == (lost / total if total else 0)
    # What is promised is told by the sensitive items that a reader can still see.
    assert set(made.promise.sensitive) == set(sensitive) & set().union(*published)
