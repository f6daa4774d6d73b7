"""Full-domain generalization: all values of a column are told at the same level."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.tabular.recoding import combined, prepared, published

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from setveil.core.table import Int64Array
    from setveil.tabular.hierarchies import Hierarchy, ValueTree
    from setveil.tabular.partitioned import Partitioned

    Levels = tuple[int, ...]

SEARCHED = 20_000
"""A lattice with more nodes is not searched for its best node: a minimal one is descended to."""


def full_domain(
    frame: Any,  # noqa: ANN401  (polars, pandas or pyarrow)
    *,
    quasi: Sequence[str],
    k: int,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Partitioned:
    """Make a table k-anonymous with one level of detail per column.

    Level 0 of a column is its values; each level above goes one step up its tree, where steps are
    counted from the deepest values, so that a value near the root stays as it is for longer.

    *Minimal* here means: no strictly lower node of the lattice of levels is k-anonymous (no
    column can be told at a lower level with the others no higher). In a lattice of at most 20,000
    nodes it is also the one that loses least of all (the mean share of a column's values that a
    published value could be); in a larger one it is found by going down from the top, each time
    where most is gained.

    Parameters
    ----------
    frame, quasi, k, hierarchies
        As for :func:`~setveil.tabular.mondrian.mondrian`; numbers without a hierarchy get
        intervals that fit their range.

    Examples
    --------
    The patients of the lecture, their ages in ten-year intervals:

    >>> from setveil.tabular.hierarchies import Intervals
    >>> from setveil.tabular.patients import JOBS, SEXES, patients
    >>> trees = {"Job": JOBS, "Sex": SEXES, "Age": Intervals(10)}
    >>> done = full_domain(patients(), quasi=["Job", "Sex", "Age"], k=2, hierarchies=trees)
    >>> for row in done.frame.rows():
    ...     print(*row)
    Artist Female [30-40) Flu
    Artist Female [30-40) HIV
    Artist Female [30-40) HIV
    Artist Female [30-40) HIV
    Professional Male [30-40) HIV
    Professional Male [30-40) Hepatitis
    Professional Male [30-40) Hepatitis

    References
    ----------
    P. Samarati: Protecting respondents' identities in microdata release, IEEE TKDE 13(6), 2001.
    K. LeFevre, D. J. DeWitt, R. Ramakrishnan: Incognito, SIGMOD 2005.
    """
    table, trees = prepared(frame, quasi, k, hierarchies)
    lattice = _Lattice(trees=trees, k=k)
    nodes = prod(height + 1 for height in lattice.heights)
    levels = lattice.best() if nodes <= SEARCHED else lattice.descended()
    told = ", ".join(
        f"{tree.column} {level} of {height}"
        for tree, level, height in zip(trees, levels, lattice.heights, strict=True)
    )
    shown = [
        lattice.above[c][level][tree.codes]
        for c, (tree, level) in enumerate(zip(trees, levels, strict=True))
    ]
    return published(table, trees, shown, k, notes=[f"levels: {told}"])


@dataclass(frozen=True, kw_only=True, eq=False)
class _Lattice:
    """The combinations of levels, one per column."""

    trees: Sequence[ValueTree]
    k: int

    @cached_property
    def heights(self) -> Levels:
        """The highest level of each column."""
        return tuple(int(tree.depths.max()) for tree in self.trees)

    @cached_property
    def above(self) -> list[list[Int64Array]]:
        """For each column and level, what each node of the tree is published as."""
        return [
            [tree.at_depth(height - level) for level in range(height + 1)]
            for tree, height in zip(self.trees, self.heights, strict=True)
        ]

    @cached_property
    def _codes(self) -> list[list[Int64Array]]:
        """For each column and level, a small number for what each row shows."""
        return [
            [np.unique(above[tree.codes], return_inverse=True)[1] for above in levels]
            for tree, levels in zip(self.trees, self.above, strict=True)
        ]

    @cached_property
    def _losses(self) -> list[list[float]]:
        """For each column and level, the mean share of the values that a row could have."""
        return [
            [float(tree.losses[above[tree.codes]].mean()) for above in levels]
            for tree, levels in zip(self.trees, self.above, strict=True)
        ]

    def _loss(self, levels: Levels) -> float:
        # Rounded, so that the order in which floats are added cannot decide.
        return round(sum(self._losses[c][level] for c, level in enumerate(levels)), 12)

    def _keeps(self, columns: Sequence[int], levels: Sequence[int]) -> bool:
        """Tell whether rows are k-anonymous in some columns at these levels."""
        codes = [self._codes[c][level] for c, level in zip(columns, levels, strict=True)]
        key = combined(codes, [int(code.max()) + 1 for code in codes])
        return bool(np.unique(key, return_counts=True)[1].min() >= self.k)

    @cached_property
    def _pairs(self) -> dict[tuple[int, int], set[tuple[int, int]]]:
        """For each two columns, the levels at which these two alone are k-anonymous already."""
        return {
            (a, b): {
                (i, j)
                for i in range(self.heights[a] + 1)
                for j in range(self.heights[b] + 1)
                if self._keeps((a, b), (i, j))
            }
            for a, b in combinations(range(len(self.trees)), 2)
        }

    def _anonymous(self, levels: Levels) -> bool:
        """Tell whether a node is k-anonymous; what fails in two columns fails in all."""
        possible = all((levels[a], levels[b]) in good for (a, b), good in self._pairs.items())
        return possible and self._keeps(range(len(levels)), levels)

    def best(self) -> Levels:
        """Return the node that loses least; of those that lose the same, one as low as can be."""
        start = tuple(0 for _ in self.heights)
        waiting = [(self._loss(start), 0, start)]
        seen = {start}
        while True:
            _, height, levels = heappop(waiting)
            if self._anonymous(levels):
                return levels
            for higher in self._steps(levels, 1):
                if higher not in seen:
                    seen.add(higher)
                    heappush(waiting, (self._loss(higher), height + 1, higher))

    def descended(self) -> Levels:
        """Go down from the top, always by the step that gains most, as long as there is one."""
        levels = self.heights
        while True:
            steps = sorted(self._steps(levels, -1), key=lambda step: (self._loss(step), step))
            lower = next((s for s in steps if self._keeps(range(len(s)), s)), None)
            if lower is None:
                return levels
            levels = lower

    def _steps(self, levels: Levels, way: int) -> Iterator[Levels]:
        """Yield the nodes right above (1) or below (-1) a node."""
        for c, level in enumerate(levels):
            if 0 <= level + way <= self.heights[c]:
                yield (*levels[:c], level + way, *levels[c + 1 :])
