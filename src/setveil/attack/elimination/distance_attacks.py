"""Telling which members of a generalized item were added: by distances, or all evidence at once.

WBA, GBA and RBA order weighted distances as floating-point numbers: ties on paper may be broken by
their last digit. The result is the same on every run, but not always that of exact fractions.

References
----------
.. [1] J. Shao, H. Ong: Exploiting contextual information in attacking set-generalized
   transactions. ACM Transactions on Internet Technology 17 (4), 2017.
.. [2] H. Ong, J. Shao: De-anonymising set-generalised transactions based on semantic
   relationships. Future Data and Security Engineering, 2014.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from setveil.attack.base import AuditRole, check_applies
from setveil.attack.elimination.distance_tables import Target, distance_table, targets
from setveil.attack.elimination.elimination_guess import (
    EliminationGuess,
    TableGuess,
)
from setveil.attack.elimination.elimination_kernels import (
    ROUNDING,
    eliminate_by_groups,
    eliminate_by_weight,
    eliminate_in_order,
)
from setveil.attack.elimination.evidence import Evidence, Shown, double_centred
from setveil.attack.elimination.table_attack import (
    SET_GENERALIZED,
    EliminationAttack,
    elimination_role,
)
from setveil.core.params import count, real
from setveil.core.registry import register

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.attack.elimination.distance_tables import CellRows
    from setveil.core.arrays import BoolArray, FloatArray, Int64Array
    from setveil.relatedness.base import Relatedness
    from setveil.release.base import Release
    from setveil.release.set_generalized import SetGeneralizedRelease


PAPER_2014 = """
    @inproceedings{ong2014deanonymising,
      author    = {Ong, Hoang and Shao, Jianhua},
      title     = {De-anonymising Set-Generalised Transactions Based on Semantic Relationships},
      booktitle = {Future Data and Security Engineering},
      pages     = {107--121}, year = {2014}
    }"""
PAPER_2017 = """
    @article{shao2017exploiting,
      author  = {Shao, Jianhua and Ong, Hoang},
      title   = {Exploiting Contextual Information in Attacking Set-Generalized Transactions},
      journal = {ACM Transactions on Internet Technology},
      volume  = {17}, number = {4}, year = {2017}
    }"""


class Eliminated(NamedTuple):
    """What became of one distance table.

    Parameters
    ----------
    cells
        Rows and columns of the eliminated cells, in order.
    decided
        The number that decided each.
    threshold
        What it had to exceed; None where there is no threshold.
    """

    cells: Int64Array
    decided: FloatArray
    threshold: float | None


def eliminate_above(values: FloatArray, threshold: float, *, most: int | None = None) -> Eliminated:
    """Eliminate the cells above a threshold, greatest first.

    The last cell of a row or a column always stays.

    >>> eliminate_above(np.array([[0.1, 0.9], [0.8, 0.7]]), 0.5).cells.tolist()
    [[0, 1], [1, 0]]
    """
    rows, columns = np.indices(values.shape).reshape(2, -1)
    flat = values.ravel()
    order = np.lexsort((columns, rows, -flat))
    order = order[flat[order] > threshold]
    gone = order[eliminate_in_order(rows[order], columns[order], values.shape)][:most]
    return Eliminated(np.stack([rows[gone], columns[gone]], axis=1), flat[gone], threshold)


def judged_table(
    rows: Target, scores: FloatArray, result: Eliminated, chances: FloatArray | None = None
) -> TableGuess:
    """Return what is said of the cells of one generalized item."""
    return TableGuess(
        group=rows.group,
        members=rows.members,
        records=rows.records,
        scores=scores,
        eliminated=result.cells,
        decided=result.decided,
        threshold=result.threshold,
        probabilities=chances,
    )


@dataclass(frozen=True, kw_only=True)
class DistanceAttack(EliminationAttack):
    """What the attacks on distance tables share.

    Parameters
    ----------
    context
        How many items of a record's context are used: the most informative ones; None for all.
    """

    role: ClassVar[AuditRole] = elimination_role(by_default=False)

    context: int | None = count(
        None, doc="items of a context that are used, the most telling ones; none for all"
    )

    def prepare(
        self, release: Release, relatedness: Relatedness, rng: np.random.Generator
    ) -> tuple[Relatedness, tuple[str, ...]]:
        """Return the relatedness: tables are judged by distances alone."""
        return relatedness, ()

    def eliminate(self, distances: FloatArray) -> Eliminated:
        """Return which cells of a table of distances are eliminated."""
        raise NotImplementedError

    def guess_table(
        self,
        rows: CellRows,
        names: Sequence[str],
        source: Relatedness,
        place: int,
    ) -> TableGuess | None:
        """Return what became of a table; its scores are still the distances."""
        table = distance_table(rows, rows.contexts, names, relatedness=source, context=self.context)
        if not len(table.records):
            return None
        return judged_table(table, table.distances, self.eliminate(table.distances))

    def finish(self, tables: tuple[TableGuess, ...]) -> tuple[TableGuess, ...]:
        """Return the tables with scores: eliminated cells above all others, then by distance."""
        ends = [end for table in tables for end in (table.scores.min(), table.scores.max())]
        step = 1.0 + max(ends, default=0.0) - min(ends, default=0.0)
        found = []
        for table in tables:
            scores = table.scores.copy()
            scores[table.eliminated[:, 0], table.eliminated[:, 1]] += step
            found.append(replace(table, scores=scores))
        return tuple(found)


def _from_zero(distances: FloatArray) -> FloatArray:
    """Return distances that are at least 0, as weights shrink what they are multiplied with."""
    return distances - min(float(distances.min()), 0.0)


@register("attack", "ra", paper="Ong & Shao 2014", bibtex=PAPER_2014)
@dataclass(frozen=True, kw_only=True)
class RA:
    """Eliminate each member of each record with chance one half: what knowing nothing gives.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release.set_generalized import publish_sets
    >>> release, _ = publish_sets(TransactionTable.from_rows([["a"], ["b"], ["a"]]), [0, 0])
    >>> guess = RA().run(release, rng=np.random.default_rng(1))
    >>> [(cell.record, cell.member) for cell in guess.eliminations()]
    [(0, 'b'), (1, 'b')]
    """

    applies_to: ClassVar[frozenset[str]] = SET_GENERALIZED
    requires: ClassVar[frozenset[str]] = frozenset()
    in_parts: ClassVar[bool] = True

    def run(
        self, release: SetGeneralizedRelease, *, rng: np.random.Generator | None = None
    ) -> EliminationGuess:
        """Return cells drawn at random, those with the greatest draws first.

        Parameters
        ----------
        release
            What is attacked.
        rng
            Draws; without it always the same way.
        """
        check_applies("ra", self.applies_to, release)
        rng = np.random.default_rng(0) if rng is None else rng
        found = []
        for target in targets(release):
            drawn = rng.random((len(target.records), len(target.members)))
            found.append(judged_table(target, drawn, eliminate_above(drawn, 0.5)))
        return EliminationGuess(attack="ra", tables=tuple(found))


@register("attack", "mda", paper="Ong & Shao 2014", bibtex=PAPER_2014)
@dataclass(frozen=True, kw_only=True)
class MDA(DistanceAttack):
    """Eliminate of each generalized item the one cell of the largest distance.

    Examples
    --------
    >>> MDA().eliminate(np.array([[0.56, 0.78], [1.75, 0.58]])).cells.tolist()
    [[1, 0]]
    """

    def eliminate(self, distances: FloatArray) -> Eliminated:
        """Return the cell of the largest distance, if it may go."""
        return eliminate_above(distances, -np.inf, most=1)._replace(threshold=None)


@register("attack", "tba", paper="Ong & Shao 2014", bibtex=PAPER_2014)
@dataclass(frozen=True, kw_only=True)
class TBA(DistanceAttack):
    """Eliminate every cell above the mean distance of its table, or above a given one.

    Examples
    --------
    >>> TBA().eliminate(np.array([[0.56, 0.78], [1.75, 0.58]])).cells.tolist()
    [[1, 0]]
    >>> TBA(threshold=0.6).eliminate(np.array([[0.56, 0.78], [1.75, 0.58]])).cells.tolist()
    [[1, 0], [0, 1]]
    """

    threshold: float | None = real(
        None, doc="distance above which cells go; none: the table's mean"
    )

    def eliminate(self, distances: FloatArray) -> Eliminated:
        """Return the cells above the threshold, greatest first."""
        if self.threshold is not None:
            return eliminate_above(distances, self.threshold)
        mean = float(distances.mean())
        return eliminate_above(distances, mean + abs(mean) * ROUNDING)._replace(threshold=mean)


@register("attack", "wba", paper="Ong & Shao 2014", bibtex=PAPER_2014)
@dataclass(frozen=True, kw_only=True)
class WBA(DistanceAttack):
    """Eliminate the largest weighted distance while it exceeds the mean of the first table.

    A distance weighs less the fewer cells are left in its row and its column: what is left has to
    be somewhere.

    Examples
    --------
    >>> WBA().eliminate(np.array([[0.56, 0.78], [1.75, 0.58]])).cells.tolist()
    [[1, 0]]
    """

    def eliminate(self, distances: FloatArray) -> Eliminated:
        """Return the eliminated cells with their weighted distances."""
        return Eliminated(*eliminate_by_weight(_from_zero(distances)))


@register("attack", "gba", paper="Shao & Ong 2017", bibtex=PAPER_2017)
@dataclass(frozen=True, kw_only=True)
class GBA(DistanceAttack):
    """Eliminate the largest cell of the row or column whose distances fall apart most clearly.

    Distances are compared only along a row or a column, as rare terms are far from everything.
    The largest gap between neighbours in the sorted row or column, its vulnerability, tells how
    clearly near and far are told apart. Distances weigh less the fewer cells are left beside
    them. It ends when no gap exceeds the mean gap of the first table.

    Examples
    --------
    The paper's Fig. 4: contexts heart disease, anesthesia, gangrene and knee; members blood
    pressure, icd, limbs and injury.

    >>> table = np.array([[0.56, 0.78, 1.57, 2.19], [1.75, 0.58, 1.74, 1.53],
    ...                   [2.60, 2.93, 1.78, 1.49], [1.60, 1.51, 1.89, 1.03]])
    >>> result = GBA().eliminate(table)
    >>> result.cells.tolist(), round(result.threshold, 3)
    ([[2, 1], [2, 0], [1, 2], [1, 0], [0, 3]], 0.445)

    Notes
    -----
    Departures from print: the factor of a row counts the cells left in it (the printed formula
    starts from the number of rows; only this reading agrees with the text where a table is not
    square). Ties: the greatest weighted distance first, then the lowest row, then the lowest
    column.
    """

    def eliminate(self, distances: FloatArray) -> Eliminated:
        """Return the eliminated cells with the vulnerability of the group each was largest in."""
        cells, decided, threshold, _ = eliminate_by_groups(_from_zero(distances), False)
        return Eliminated(cells, decided, threshold)


@register("attack", "rba", paper="Shao & Ong 2017", bibtex=PAPER_2017)
@dataclass(frozen=True, kw_only=True)
class RBA(DistanceAttack):
    """As GBA, but what an eliminated cell weighed goes to the near cells of its row and column.

    So the eliminated cell speaks only for those that are near, and the far ones are not spared.

    Examples
    --------
    The paper's Fig. 4 again: all ten added members are found, and nothing else.

    >>> table = np.array([[0.56, 0.78, 1.57, 2.19], [1.75, 0.58, 1.74, 1.53],
    ...                   [2.60, 2.93, 1.78, 1.49], [1.60, 1.51, 1.89, 1.03]])
    >>> RBA().eliminate(table).cells.tolist()
    [[2, 1], [2, 0], [1, 0], [3, 0], [1, 2], [1, 3], [0, 3], [0, 2], [3, 2], [3, 1]]

    Notes
    -----
    Where the text is open: the row (and the column) of an eliminated cell is split with that cell
    still in it, by weighted distances; the cell itself inherits nothing; where it is alone in the
    lower cluster, nobody does; of equal gaps the uppermost one splits. Only this reading gives
    the paper's ten rounds and its last table.
    """

    role: ClassVar[AuditRole] = elimination_role()

    def eliminate(self, distances: FloatArray) -> Eliminated:
        """Return the eliminated cells with the vulnerability of the group each was largest in."""
        cells, decided, threshold, _ = eliminate_by_groups(_from_zero(distances), True)
        return Eliminated(cells, decided, threshold)


# --- several kinds of evidence together -----------------------------------------------------------


QUESTIONS = frozenset({"cosine", "cosine_best", "near", "near_best", "pmi_best"})
"""Evidence that is added up, as far as the sources give it."""
LEVEL = 1e-12
"""A deviation below this is rounding: all cells say the same."""


@register("attack", "ec", paper="setveil")
@dataclass(frozen=True, kw_only=True)
class EC(EliminationAttack):
    """Keep the members that suit the records best, by several kinds of evidence together.

    Each kind of evidence about a generalized item is freed of what is due to a record or to a
    member alone (the means of rows and columns), scaled, and added up. The best assignment of
    records to members is kept; a record or member without a share in it keeps its best cell. All
    other cells are eliminated. Nothing is learned, so nothing but a relatedness is needed; name
    several sources for the best result: ``corpus:INDEX+glove:FILE``.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.relatedness import NGD, RecordCounts
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["fever", "flu"], ["toe", "gout"]])
    >>> release, _ = publish_sets(table, [0, 1, 1, 2])
    >>> corpus = [["fever", "flu"], ["flu"], ["toe", "gout"], ["gout"], ["fever", "toe"]]
    >>> guess = EC().run(release, relatedness=NGD(RecordCounts.from_rows(corpus)))
    >>> [(release.to_rows()[cell.record], cell.member) for cell in guess.eliminations()]
    [(['(flu, gout)', 'fever'], 'gout'), (['(flu, gout)', 'toe'], 'flu')]
    """

    role: ClassVar[AuditRole] = elimination_role()

    def prepare(
        self, release: Release, relatedness: Relatedness, rng: np.random.Generator
    ) -> tuple[Evidence, tuple[str, ...]]:
        """Return the evidence that is weighed; each part of a sum of sources is asked by itself."""
        return Evidence.of(relatedness, Shown.by(release)), ()

    def guess_table(
        self,
        rows: CellRows,
        names: Sequence[str],
        source: Evidence,
        place: int,
    ) -> TableGuess:
        """Return what evidence says about the cells of one generalized item."""
        said = source.about(rows, names)
        against = -added_up(
            [cells for name, cells in sorted(said.items()) if name.partition(".")[2] in QUESTIONS]
        )
        gone = np.argwhere(~best_cells(-against))
        decided = against[gone[:, 0], gone[:, 1]]
        order = np.argsort(-decided, kind="stable")
        return judged_table(rows, against, Eliminated(gone[order], decided[order], None))


def added_up(evidence: Sequence[FloatArray]) -> FloatArray:
    """Return the sum of tables, each double-centred and divided by its deviation.

    >>> added_up([np.array([[2.0, 0.0], [0.0, 0.0]]), np.array([[5.0, 5.0], [1.0, 1.0]])]).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    total = np.zeros_like(evidence[0])
    for cells in evidence:
        centred = double_centred(cells)
        deviation = centred.std()
        if deviation > LEVEL:
            total += centred / deviation
    return total


def best_cells(values: FloatArray) -> BoolArray:
    """Return the cells to keep: the best assignment, and the best cell of what it leaves out.

    Of equal cells the first is taken.

    >>> best_cells(np.array([[3.0, 2.0], [3.0, 0.0], [0.0, 1.0]])).astype(int).tolist()
    [[0, 1], [1, 0], [0, 1]]
    """
    from scipy.optimize import linear_sum_assignment

    kept = np.zeros(values.shape, dtype=bool)
    kept[linear_sum_assignment(values, maximize=True)] = True
    bare_rows = np.flatnonzero(~kept.any(axis=1))
    bare_columns = np.flatnonzero(~kept.any(axis=0))
    kept[bare_rows, values[bare_rows].argmax(axis=1)] = True
    kept[values[:, bare_columns].argmax(axis=0), bare_columns] = True
    return kept
