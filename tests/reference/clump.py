"""Clump in plain Python over sparse dictionaries: the kernel's twin, the benchmark's baseline.

The objective is a whole number. With gamma(v) = leaves(parent of v) - leaves(v), N leaves in all
and M_S(v) the least number of items under v over the records of S,

    P(S) = Σ_{v ≠ root} gamma(v) · M_S(v)
    (N - 1) · GGD(S) = (N - 1) · Σ_{t ∈ S} |t| - |S| · P(S)

A tree of a single leaf has gamma = 0 throughout; N - 1 is then taken as 1, as in LM.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from tests.reference.lcg import Bag, Tree, emit, ggd

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass
class Cluster:
    members: list[int] = field(default_factory=list)
    least: dict[str, int] = field(default_factory=dict)
    length: int = 0
    weight: int = 0

    @property
    def size(self) -> int:
        return len(self.members)


@dataclass(frozen=True)
class Clustering:
    """Clusters as lists of places in the given rows, and what each publishes."""

    clusters: list[list[int]]
    published: list[Bag]
    ggd: Fraction


def gammas(tree: Tree) -> dict[str, int]:
    """gamma of every node but the root."""
    leaves = tree.leaves
    return {v: leaves[p] - leaves[v] for v, p in tree.parents.items() if p is not None}


def weight(least: Mapping[str, int], gamma: Mapping[str, int]) -> int:
    """P(S) from M_S."""
    return sum(gamma.get(v, 0) * m for v, m in least.items())


def scaled_ggd(rows: Sequence[Sequence[str]], tree: Tree) -> int:
    """(N - 1) · GGD of publishing `rows` as their least common generalization, by gamma."""
    vectors = [sparse_counts(row, tree) for row in rows]
    least = vectors[0]
    for vector in vectors[1:]:
        least = merged(least, vector)
    total = sum(map(len, rows))
    return max(tree.n_leaves - 1, 1) * total - len(rows) * weight(least, gammas(tree))


def sparse_counts(row: Iterable[str], tree: Tree) -> dict[str, int]:
    """n_t over the nodes where it is not 0."""
    below: dict[str, int] = {}
    for item in row:
        for v in tree.up(item):
            below[v] = below.get(v, 0) + 1
    return below


def merged(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
    """Pointwise minimum of two sparse vectors."""
    if len(a) > len(b):
        a, b = b, a
    return {v: min(m, b[v]) for v, m in a.items() if v in b}


def shared_weight(a: dict[str, int], b: dict[str, int], gamma: dict[str, int]) -> int:
    """P of the pointwise minimum, without building it."""
    if len(a) > len(b):
        a, b = b, a
    total = 0
    for v, m in a.items():
        other = b.get(v)
        if other is not None:
            total += gamma[v] * (m if m < other else other)  # noqa: FURB136  (a call to min doubles the time)
    return total


def sorted_places(rows: Sequence[Sequence[str]]) -> list[int]:
    """Length descending, then item names; equal records in the given order."""
    return sorted(range(len(rows)), key=lambda i: (-len(rows[i]), sorted(rows[i])))


def clump_reference(
    rows: Sequence[Sequence[str]],
    tree: Tree,
    k: int,
    r: int | None = 10,
    objective: str = "total",
    *,
    distinct: bool = False,
) -> Clustering:
    """Cluster the records as Clump does.

    Seeds stand at every k-th place of the sorted records; the others go, in order, to the best of
    the first `r` clusters that are not full (all of them if `r` is None), and the last n mod k to
    the best cluster of all. Ties go to the lowest cluster.
    """
    order = sorted_places(rows)
    tree, rows = tree.for_rows(rows)
    gamma = gammas(tree) | {tree.root: 0}
    scale = max(tree.n_leaves - 1, 1)
    clusters = [Cluster() for _ in range(len(rows) // k)]

    def add(cluster: Cluster, i: int, vector: dict[str, int]) -> None:
        cluster.least = merged(cluster.least, vector) if cluster.members else vector
        cluster.members.append(i)
        cluster.length += len(rows[i])
        cluster.weight = weight(cluster.least, gamma)

    def cost(cluster: Cluster, i: int, vector: dict[str, int]) -> int:
        after = (cluster.size + 1) * shared_weight(cluster.least, vector, gamma)
        if objective == "increment":
            return cluster.size * cluster.weight - after
        return scale * (cluster.length + len(rows[i])) - after

    seeds = set(range(0, len(clusters) * k, k))
    for place in sorted(seeds):
        add(clusters[place // k], order[place], sparse_counts(rows[order[place]], tree))
    not_full = [c for c in range(len(clusters)) if k > 1]
    for place, i in enumerate(order):
        if place in seeds:
            continue
        vector = sparse_counts(rows[i], tree)
        candidates = not_full[:r] if not_full else range(len(clusters))
        best = min(candidates, key=lambda c: cost(clusters[c], i, vector))
        add(clusters[best], i, vector)
        if not_full and clusters[best].size == k:
            not_full.remove(best)

    published = [emit(cluster.least, tree) for cluster in clusters]
    if distinct:
        published = [tuple(sorted(set(bag))) for bag in published]
    lost = sum(
        (
            ggd([rows[i] for i in cluster.members], bag, tree)
            for cluster, bag in zip(clusters, published, strict=True)
        ),
        Fraction(0),
    )
    return Clustering([cluster.members for cluster in clusters], published, lost)
