"""Generalization along trees and suppression, until a table is k-anonymous.

Full-domain, subtree, sibling and cell generalization differ in where one value may be published
in two ways; suppression of records, values and cells is the same with nothing but ``*`` above a
value. Each result is minimal in the sense its function states.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import InfeasibleError
from setveil.tabular.recoding import (
    Classes,
    publish,
    publish_nodes,
    random_order,
    read_table_and_trees,
    row_keys,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from setveil.core.arrays import Int64Array
    from setveil.core.table import Frame
    from setveil.tabular.hierarchies import Hierarchy, ValueTree
    from setveil.tabular.recoding import Partitioned

    Levels = tuple[int, ...]

    Shown = tuple[int, ...]
    Moves = list[tuple[int, Int64Array]]

SEARCHED = 20_000
"""A lattice with more nodes is not searched for its best node: a minimal one is descended to."""


def full_domain(
    frame: Frame,
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
    >>> from setveil.tabular.generalization import JOBS, SEXES, patients
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
    table, trees = read_table_and_trees(frame, quasi, k, hierarchies, whole=True)
    lattice = _Lattice(trees=trees, k=k)
    nodes = prod(height + 1 for height in lattice.heights)
    levels = lattice.best() if nodes <= SEARCHED else lattice.descend()
    told = ", ".join(
        f"{tree.column} {level} of {height}"
        for tree, level, height in zip(trees, levels, lattice.heights, strict=True)
    )
    shown = [
        lattice.above[c][level][tree.codes]
        for c, (tree, level) in enumerate(zip(trees, levels, strict=True))
    ]
    return publish_nodes(table, trees, shown, k, notes=[f"levels: {told}"])


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
        key = row_keys(codes, [int(code.max()) + 1 for code in codes])
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

    def descend(self) -> Levels:
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


def subtree(
    frame: Frame,
    *,
    quasi: Sequence[str],
    k: int,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Partitioned:
    """Make a table k-anonymous; at a node of a column's tree all children are told, or none.

    Starting with the roots, the node whose specialization gains most is replaced by its children,
    everywhere in the table, wherever this leaves no class of fewer than k rows. A specialization
    that is refused once would be refused later too, so each is tried once.

    *Minimal* here means: no node of any column's cut can be replaced by its children with k kept;
    then no cuts that tell strictly more are k-anonymous at all.

    Parameters
    ----------
    frame, quasi, k, hierarchies
        As for :func:`~setveil.tabular.generalization.full_domain`.

    Examples
    --------
    The patients of the lecture, their ages in ten-year intervals. Writers and dancers can be told
    apart, though engineers and lawyers cannot:

    >>> from setveil.tabular.hierarchies import Intervals
    >>> from setveil.tabular.generalization import JOBS, SEXES, patients
    >>> trees = {"Job": JOBS, "Sex": SEXES, "Age": Intervals(10)}
    >>> done = subtree(patients(), quasi=["Job", "Sex", "Age"], k=2, hierarchies=trees)
    >>> for row in done.frame.rows():
    ...     print(*row)
    Dancer Female [30-40) HIV
    Dancer Female [30-40) HIV
    Professional Male [30-40) HIV
    Professional Male [30-40) Hepatitis
    Professional Male [30-40) Hepatitis
    Writer Female [30-40) Flu
    Writer Female [30-40) HIV

    References
    ----------
    B. C. M. Fung, K. Wang, P. S. Yu: Top-down specialization for information and privacy
    preservation, ICDE 2005.
    """
    table, trees = read_table_and_trees(frame, quasi, k, hierarchies)
    return publish_nodes(table, trees, specialize(trees, k).nodes, k)


def specialize(trees: Sequence[ValueTree], k: int) -> Classes:
    """Replace nodes by their children from the roots down, those first that gain most."""
    classes = Classes(trees, k)

    def gain(column: int, node: int) -> float:
        tree = trees[column]
        return sum(
            classes.count(column, child) * float(tree.losses[node] - tree.losses[child])
            for child in tree.children[node]
        )

    waiting = [(-gain(c, 0), c, 0) for c, tree in enumerate(trees) if tree.children[0]]
    heapify(waiting)
    while waiting:
        _, column, node = heappop(waiting)
        if classes.split(column, node):
            for child in trees[column].children[node]:
                if trees[column].children[child]:
                    heappush(waiting, (-gain(column, child), column, child))
    return classes


def sibling(
    frame: Frame,
    *,
    quasi: Sequence[str],
    k: int,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Partitioned:
    """Make a table k-anonymous; a published node stands for what below it is not published.

    Each column has a set of nodes that are told, the root among them, and a value is published
    as the lowest of them above it, everywhere in the table. First whole cuts are told, as by
    :func:`~setveil.tabular.generalization.subtree`, so nothing is told less than there; then single
    nodes, from the root down, those first that gain most, wherever k is kept.

    *Minimal* here means: no further node of any column can be told with k kept; then no larger
    sets are k-anonymous at all. Published values must be read as in the lecture: "Professional"
    beside "Lawyer" means all other professionals.

    Parameters
    ----------
    frame, quasi, k, hierarchies
        As for :func:`~setveil.tabular.generalization.full_domain`.

    Examples
    --------
    Lawyers can be told from the one engineer and the one judge:

    >>> import polars as pl
    >>> from setveil.tabular.generalization import JOBS
    >>> tree = JOBS | {"Judge": "Professional"}
    >>> jobs = ["Engineer", "Judge", "Lawyer", "Lawyer", "Writer", "Dancer"]
    >>> done = sibling(pl.DataFrame({"Job": jobs}), quasi=["Job"], k=2, hierarchies={"Job": tree})
    >>> done.frame["Job"].to_list()
    ['Artist', 'Artist', 'Lawyer', 'Lawyer', 'Professional', 'Professional']

    References
    ----------
    K. LeFevre, D. J. DeWitt, R. Ramakrishnan: Incognito: efficient full-domain k-anonymity,
    SIGMOD 2005 (which names the model).
    """
    table, trees = read_table_and_trees(frame, quasi, k, hierarchies)
    return publish_nodes(table, trees, disclose_nodes(specialize(trees, k)).nodes, k)


def disclose_nodes(classes: Classes) -> Classes:
    """Tell as many more nodes as can be told; with trees of one level this discloses values."""
    trees = classes.trees

    def priority(column: int, node: int) -> tuple[float, int, int]:
        tree = trees[column]
        gained = float(tree.losses[tree.parents[node]] - tree.losses[node])
        return (-classes.count(column, node) * gained, column, node)

    waiting = [priority(c, node) for c, tree in enumerate(trees) for node in tree.children[0]]
    heapify(waiting)
    while waiting:
        _, column, node = heappop(waiting)
        classes.release(column, node)
        # A node may be refused because too few rows are left without it, and one below it not.
        for child in trees[column].children[node]:
            heappush(waiting, priority(column, child))
    return classes


def cell(
    frame: Frame,
    *,
    quasi: Sequence[str],
    k: int,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    rng: np.random.Generator | None = None,
) -> Partitioned:
    """Make a table k-anonymous by local recoding: each cell is generalized by itself.

    Starting with one class that shows nothing but roots, rows of a class take a step down in one
    column, into a class of k rows or one that is there already, as long as k or no rows stay
    behind. Where too few would stay, some that could have gone are kept with them: these are the
    engineers that show "Professional" though other engineers show "Engineer".

    *Minimal* here means: there is no class of which some rows could show, in one column, the
    children of what they show now, with every class still of k rows or more.

    Parameters
    ----------
    frame, quasi, k, hierarchies
        As for :func:`~setveil.tabular.generalization.full_domain`.
    rng
        Draws which of the rows that are alike in the quasi-identifying columns are told, for
        research; otherwise the operating system's chance. No other column may decide it: an
        adversary would read it off the table.

    Examples
    --------
    >>> import polars as pl
    >>> from setveil.tabular.generalization import JOBS
    >>> jobs = pl.DataFrame({"Job": ["Engineer", "Engineer", "Engineer", "Lawyer"]})
    >>> done = cell(jobs, quasi=["Job"], k=2, hierarchies={"Job": JOBS})
    >>> done.frame["Job"].to_list()
    ['Engineer', 'Engineer', 'Professional', 'Professional']

    References
    ----------
    R. C.-W. Wong, J. Li, A. W.-C. Fu, K. Wang: (α,k)-anonymity, KDD 2006. J. Xu et al.:
    Utility-based anonymization using local recoding, KDD 2006.
    """
    table, trees = read_table_and_trees(frame, quasi, k, hierarchies)
    nodes = local_recoding(trees, k, random_order(table, [tree.codes for tree in trees], rng))
    return publish_nodes(table, trees, nodes, k)


def local_recoding(trees: Sequence[ValueTree], k: int, order: Int64Array) -> list[Int64Array]:
    """Return what each row shows in each column; of equal rows, those first in `order` go first."""
    work = _Cells(trees, k, order)
    work.run()
    nodes = [np.zeros(len(order), dtype=np.int64) for _ in trees]
    for shown, rows in work.classes.items():
        for column, node in zip(nodes, shown, strict=True):
            column[order[rows]] = node
    return nodes


class _Cells:
    """Classes of rows by what they show, and those that may still take a step down."""

    def __init__(self, trees: Sequence[ValueTree], k: int, order: Int64Array) -> None:
        self.trees = trees
        self.k = k
        self.codes = [tree.codes[order] for tree in trees]
        self.below = [[np.array(c, dtype=np.int64) for c in tree.children] for tree in trees]
        top = tuple(0 for _ in trees)
        self.classes: dict[Shown, Int64Array] = {top: np.arange(len(order))}
        self.waiting = deque([top])
        self.queued = {top}

    def run(self) -> None:
        """Take steps until there is none left: each makes some cell tell more, so it ends."""
        while self.waiting:
            shown = self.waiting.popleft()
            self.queued.discard(shown)
            rows = self.classes.get(shown)
            if rows is None:
                continue
            best: tuple[float, int, Moves] | None = None
            for column in range(len(shown)):
                moves = self._moves(shown, rows, column)
                gain = self._gain(shown, column, moves)
                if moves and (best is None or gain > best[0]):
                    best = (gain, column, moves)
            if best is not None:
                self._move(shown, rows, best[1], best[2])

    def _moves(self, shown: Shown, rows: Int64Array, column: int) -> Moves:
        """Return which rows can go to which children of what they show in a column."""
        below = self.below[column][shown[column]]
        if not len(below):
            return []
        child = np.searchsorted(below, self.codes[column][rows], side="right") - 1
        counts = np.bincount(child, minlength=len(below))
        there = np.flatnonzero(counts).tolist()
        needed = {
            place: max(1, self.k - len(self.classes.get(_with(shown, column, below[place]), ())))
            for place in there
        }
        free = len(rows) - self.k  # k must stay behind, unless all go
        if all(counts[place] >= needed[place] for place in there):
            free = len(rows)
        moves: Moves = []
        for place in sorted(there, key=lambda place: (-counts[place], place)):
            going = min(int(counts[place]), free)
            if going >= needed[place]:
                moves.append((int(below[place]), rows[child == place][:going]))
                free -= going
        return moves

    def _gain(self, shown: Shown, column: int, moves: Moves) -> float:
        losses = self.trees[column].losses
        return sum(len(rows) * float(losses[shown[column]] - losses[node]) for node, rows in moves)

    def _move(self, shown: Shown, rows: Int64Array, column: int, moves: Moves) -> None:
        gone = np.concatenate([going for _, going in moves])
        left = rows[~np.isin(rows, gone)]
        if len(left):
            self.classes[shown] = left
            self._queue(shown)
        else:
            del self.classes[shown]
        for node, going in moves:
            target = _with(shown, column, node)
            joined = np.concatenate([self.classes.get(target, going[:0]), going])
            self.classes[target] = np.sort(joined)
            self._queue(target)
            # Where this class had fewer than k rows, others above it may join it only now.
            for c, tree in enumerate(self.trees):
                self._queue(_with(target, c, tree.parents[target[c]]))

    def _queue(self, shown: Shown) -> None:
        if shown in self.classes and shown not in self.queued:
            self.queued.add(shown)
            self.waiting.append(shown)


def _with(shown: Shown, column: int, node: int) -> Shown:
    return (*shown[:column], int(node), *shown[column + 1 :])


def suppress_records(
    frame: Frame,
    *,
    quasi: Sequence[str],
    k: int,
) -> Partitioned:
    """Leave out the rows that fewer than k rows look like; the others stay as they are.

    *Minimal* and more: every k-anonymous table that is made by leaving rows out leaves out all of
    these.

    Parameters
    ----------
    frame
        A polars, pandas or pyarrow frame.
    quasi
        The columns that an adversary may know.
    k
        Least number of rows that look alike.

    Raises
    ------
    InfeasibleError
        No k rows are alike: nothing would be left.

    Examples
    --------
    >>> from setveil.tabular.generalization import patients
    >>> done = suppress_records(patients(), quasi=["Job", "Sex", "Age"], k=2)
    >>> done.frame["Job"].to_list(), done.notes
    (['Dancer', 'Dancer', 'Writer', 'Writer'], ('3 of 7 rows are left out',))
    """
    table, trees = read_table_and_trees(frame, quasi, k, flat=True, whole=True)
    key = row_keys([tree.codes for tree in trees], [len(tree) for tree in trees])
    _, place, counts = np.unique(key, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(counts[place] >= k)
    if not len(kept):
        raise InfeasibleError(
            f"no {k} rows are alike in {', '.join(quasi)}, so every row would be left out",
            fix="generalize the columns, name fewer of them, or lower k",
        )
    shown = {
        tree.column: [tree.labels[code] for code in tree.codes[kept].tolist()] for tree in trees
    }
    notes = [f"{len(table) - len(kept):,} of {len(table):,} rows are left out"]
    done = publish(table[kept.tolist()], shown, k, notes=notes)
    return replace(done, key=kept[done.key])


def suppress_values(
    frame: Frame,
    *,
    quasi: Sequence[str],
    k: int,
) -> Partitioned:
    """Replace values by ``*``, wherever they occur, until the table is k-anonymous.

    It is sibling generalization with nothing but ``*`` above the values: the most frequent values
    are disclosed first.

    *Minimal* here means: no suppressed value can be disclosed (everywhere) with k kept; then no
    larger set of values can.

    Parameters
    ----------
    frame, quasi, k
        As for :func:`suppress_records`.

    Examples
    --------
    >>> from setveil.tabular.generalization import patients
    >>> done = suppress_values(patients(), quasi=["Job", "Sex", "Age"], k=2)
    >>> sorted(set(done.frame.select("Job", "Sex", "Age").rows()))
    [('*', 'Male', '*'), ('Dancer', 'Female', '30'), ('Writer', 'Female', '30')]
    >>> done.notes
    ('6 of 21 cells are suppressed',)

    References
    ----------
    K. Wang, B. C. M. Fung, P. S. Yu: Handicapping attacker's confidence, KAIS 11(3), 2007.
    """
    table, trees = read_table_and_trees(frame, quasi, k, flat=True)
    nodes = disclose_nodes(Classes(trees, k)).nodes
    return publish_nodes(table, trees, nodes, k, notes=[_suppression_note(trees, nodes)])


def suppress_cells(
    frame: Frame,
    *,
    quasi: Sequence[str],
    k: int,
    rng: np.random.Generator | None = None,
) -> Partitioned:
    """Replace single cells by ``*`` until the table is k-anonymous.

    It is cell generalization with nothing but ``*`` above the values.

    *Minimal* here means: there is no class of which some rows could show their values in one
    suppressed column, with every class still of k rows or more.

    Parameters
    ----------
    frame, quasi, k
        As for :func:`suppress_records`.
    rng
        Draws which of equal rows are told, as for :func:`~setveil.tabular.generalization.cell`.

    Examples
    --------
    >>> from setveil.tabular.generalization import patients
    >>> done = suppress_cells(patients(), quasi=["Job", "Sex", "Age"], k=2)
    >>> sorted(set(done.frame.select("Job", "Sex", "Age").rows()))
    [('*', 'Male', '*'), ('Dancer', 'Female', '30'), ('Writer', 'Female', '30')]

    References
    ----------
    A. Meyerson, R. Williams: On the complexity of optimal k-anonymity, PODS 2004.
    """
    table, trees = read_table_and_trees(frame, quasi, k, flat=True)
    nodes = local_recoding(trees, k, random_order(table, [tree.codes for tree in trees], rng))
    return publish_nodes(table, trees, nodes, k, notes=[_suppression_note(trees, nodes)])


def _suppression_note(trees: Sequence[ValueTree], nodes: Sequence[Int64Array]) -> str:
    hidden = sum(
        int(np.count_nonzero(column == 0))
        for tree, column in zip(trees, nodes, strict=True)
        if len(tree) > 1
    )
    return f"{hidden:,} of {sum(len(column) for column in nodes):,} cells are suppressed"


JOBS = {
    "Engineer": "Professional",
    "Lawyer": "Professional",
    "Dancer": "Artist",
    "Writer": "Artist",
    "Professional": "ANY Job",
    "Artist": "ANY Job",
}
"""What stands above each job."""

SEXES = {"Male": "ANY Sex", "Female": "ANY Sex"}
"""What stands above each sex."""


def patients() -> pl.DataFrame:
    """Return the seven patients.

    >>> patients().rows()[0]
    ('Engineer', 'Male', 35, 'Hepatitis')
    """
    import polars as pl

    return pl.DataFrame(
        [
            ("Engineer", "Male", 35, "Hepatitis"),
            ("Engineer", "Male", 38, "Hepatitis"),
            ("Lawyer", "Male", 38, "HIV"),
            ("Writer", "Female", 30, "Flu"),
            ("Writer", "Female", 30, "HIV"),
            ("Dancer", "Female", 30, "HIV"),
            ("Dancer", "Female", 30, "HIV"),
        ],
        schema=["Job", "Sex", "Age", "Disease"],
        orient="row",
    )
