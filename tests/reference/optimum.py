"""The least distortion that k-anonymity by generalization can have, on tiny data."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csc_array
from tests.reference.clump import gammas, merged, sparse_counts, weight
from tests.reference.lcg import Tree, ggd, lcg

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def optimum(rows: Sequence[Sequence[str]], tree: Tree, k: int) -> Fraction:
    """Return the least total GGD over all divisions of the records into groups of at least k.

    An integer program with one column per group. Groups of 2k or more are not needed: dividing
    one never costs more, since the least counts of a part are at least those of the whole.
    """
    if len(rows) < k:
        raise ValueError(f"{len(rows)} records cannot form a group of {k}")
    tree, rows = tree.for_rows(rows)
    # Where the root is no loss (LM 0 in a tree of one leaf), an item kept there is worth 1.
    gamma = gammas(tree) | {tree.root: int(tree.n_leaves == 1)}
    vectors = [sparse_counts(row, tree) for row in rows]
    groups = [
        group
        for size in range(k, min(2 * k, len(rows) + 1))
        if size == len(rows) or len(rows) - size >= k  # the others must form groups, too
        for group in combinations(range(len(rows)), size)
    ]
    kept = []
    for group in groups:
        least = vectors[group[0]]
        for i in group[1:]:
            least = merged(least, vectors[i])
        kept.append(len(group) * weight(least, gamma))
    members = np.concatenate([np.array(group) for group in groups])
    starts = np.concatenate([[0], np.cumsum([len(group) for group in groups])])
    holds = csc_array((np.ones(len(members)), members, starts), shape=(len(rows), len(groups)))
    result = milp(
        -np.array(kept, dtype=float),
        integrality=np.ones(len(groups)),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(holds, 1, 1),
            # Implied, but it spares the solver most of its branching.
            LinearConstraint(
                np.ones((1, len(groups))), -(-len(rows) // (2 * k - 1)), len(rows) // k
            ),
        ],
        options={"mip_rel_gap": 0.0},
    )
    if not result.success:
        raise ValueError(f"the integer program was not solved: {result.message}")
    chosen = np.flatnonzero(result.x > 0.5).tolist()
    if sorted(i for g in chosen for i in groups[g]) != list(range(len(rows))):
        raise ValueError("the integer program's groups do not divide the records")
    parts = [[rows[i] for i in groups[g]] for g in chosen]
    return sum((ggd(part, lcg(part, tree), tree) for part in parts), Fraction(0))


def divisions(places: Sequence[int], k: int) -> Iterator[list[tuple[int, ...]]]:
    """All divisions of `places` into groups of at least k."""
    if not places:
        yield []
        return
    first, rest = places[0], places[1:]
    for size in range(k - 1, len(rest) + 1):
        for others in combinations(rest, size):
            left = [i for i in rest if i not in others]
            for more in divisions(left, k):
                yield [(first, *others), *more]


def optimum_by_enumeration(rows: Sequence[Sequence[str]], tree: Tree, k: int) -> Fraction:
    """Return the same by trying every division, groups of any size included; for n ≤ 7."""
    tree, rows = tree.for_rows(rows)
    costs: dict[tuple[int, ...], Fraction] = {}

    def cost(group: tuple[int, ...]) -> Fraction:
        if group not in costs:
            part = [rows[i] for i in group]
            costs[group] = ggd(part, lcg(part, tree), tree)
        return costs[group]

    return min(sum(map(cost, groups), Fraction(0)) for groups in divisions(range(len(rows)), k))
