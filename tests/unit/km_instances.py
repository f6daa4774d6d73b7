"""Small random tables with taxonomies, on which k^m-anonymity is neither trivial nor hopeless."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from setveil.release.base import Anonymization

TREE = Taxonomy.from_parents({"a": "A", "b": "A", "c": "C", "d": "C", "A": "R", "C": "R"})

Instance = tuple[list[list[str]], dict[str, str | None], int, int]


def published(result: Anonymization) -> list[list[str]]:
    """What stands for each original record."""
    rows = dict(zip(result.key.records.tolist(), result.release.to_rows(ids=True), strict=True))
    return [rows[i] for i in range(len(rows))]


def instances(number: int, seed: int, *, bushy: bool = False) -> Iterator[Instance]:
    """Draw records, a tree as child → parent, k and m; enough records have items.

    Trees have any shape; with `bushy`, all inner nodes have two or three children and all leaves
    one depth, which leaves most to decide.
    """
    rng = np.random.default_rng(seed)
    for _ in range(number):
        parents = _bushy(rng) if bushy else _any_tree(rng)
        inner = set(parents.values())
        items = [v for v in parents if v not in inner]
        if not bushy and rng.random() < 0.2:
            items = list(parents)  # interior nodes may be items too
        weights = 1 / np.arange(1, len(items) + 1)
        weights = rng.permutation(weights / weights.sum())
        rows = []
        for _ in range(int(rng.integers(4, 15))):
            length = int(rng.integers(0 if rng.random() < 0.1 else 1, min(len(items), 5) + 1))
            rows.append([str(v) for v in rng.choice(items, length, replace=False, p=weights)])
        filled = sum(map(bool, rows))
        if filled:
            yield rows, parents, int(rng.integers(1, min(filled, 4) + 1)), int(rng.integers(1, 5))


def _any_tree(rng: np.random.Generator) -> dict[str, str | None]:
    size, reach = int(rng.integers(2, 14)), int(rng.integers(1, 5))
    above = [int(rng.integers(max(0, i - reach), i)) for i in range(1, size)]
    return {"v0": None, **{f"v{i}": f"v{p}" for i, p in enumerate(above, start=1)}}


def _bushy(rng: np.random.Generator) -> dict[str, str | None]:
    parents: dict[str, str | None] = {"v0": None}
    level = ["v0"]
    for _ in range(int(rng.integers(2, 4))):
        below = []
        for node in level:
            for _ in range(int(rng.integers(2, 4 if len(level) < 4 else 3))):
                below.append(f"v{len(parents)}")
                parents[below[-1]] = node
        level = below
    return parents
