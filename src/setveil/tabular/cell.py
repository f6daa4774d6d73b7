"""Cell generalization: a value may be told in some rows and generalized in others."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.tabular.partitioned import drawn_order
from setveil.tabular.recoding import prepared, published

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from setveil.core.table import Int64Array
    from setveil.tabular.hierarchies import Hierarchy, ValueTree
    from setveil.tabular.partitioned import Partitioned

    Shown = tuple[int, ...]
    Moves = list[tuple[int, Int64Array]]


def cell(
    frame: Any,  # noqa: ANN401  (polars, pandas or pyarrow)
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
        As for :func:`~setveil.tabular.full_domain.full_domain`.
    rng
        Draws which of the rows that are alike in the quasi-identifying columns are told, for
        research; otherwise the operating system's chance. No other column may decide it: an
        adversary would read it off the table.

    Examples
    --------
    >>> import polars as pl
    >>> from setveil.tabular.patients import JOBS
    >>> jobs = pl.DataFrame({"Job": ["Engineer", "Engineer", "Engineer", "Lawyer"]})
    >>> done = cell(jobs, quasi=["Job"], k=2, hierarchies={"Job": JOBS})
    >>> done.frame["Job"].to_list()
    ['Engineer', 'Engineer', 'Professional', 'Professional']

    References
    ----------
    R. C.-W. Wong, J. Li, A. W.-C. Fu, K. Wang: (α,k)-anonymity, KDD 2006. J. Xu et al.:
    Utility-based anonymization using local recoding, KDD 2006.
    """
    table, trees = prepared(frame, quasi, k, hierarchies)
    trees = [tree.contracted() for tree in trees]
    nodes = local_recoding(trees, k, drawn_order(table, [tree.codes for tree in trees], rng))
    return published(table, trees, nodes, k)


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
