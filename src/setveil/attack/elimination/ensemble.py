"""EC: several kinds of evidence, centred and added up, and the best assignment of members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.attack.base import AuditRole, check_applies
from setveil.attack.elimination.distance_attacks import elimination_role
from setveil.attack.elimination.distance_tables import Contexts
from setveil.attack.elimination.elimination_guess import (
    EliminationGuess,
    Reason,
    TableGuess,
    reasons,
)
from setveil.attack.elimination.evidence import (
    CellRows,
    CellTables,
    Evidence,
    cell_tables,
    double_centred,
)
from setveil.attack.elimination.word_vectors import Shown
from setveil.core.registry import register

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.core.arrays import BoolArray, FloatArray
    from setveil.relatedness.base import Relatedness
    from setveil.release.set_generalized import SetGeneralizedRelease


QUESTIONS = frozenset({"cosine", "cosine_best", "near", "near_best", "pmi_best"})
"""Evidence that is added up, as far as the sources give it."""
LEVEL = 1e-12
"""A deviation below this is rounding: all cells say the same."""


@register("attack", "ec", paper="setveil")
@dataclass(frozen=True, kw_only=True)
class EC:
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

    applies_to: ClassVar[frozenset[str]] = frozenset({"set-generalized"})
    requires: ClassVar[frozenset[str]] = frozenset({"relatedness"})
    role: ClassVar[AuditRole] = elimination_role()

    def run(
        self,
        release: SetGeneralizedRelease,
        *,
        relatedness: Relatedness,
        rng: np.random.Generator | None = None,
    ) -> EliminationGuess:
        """Return which members were added, and the same with contexts exchanged as a control.

        Parameters
        ----------
        release
            What is attacked.
        relatedness
            What is known of terms; each part of a sum is asked by itself, weights are not used.
        rng
            Exchanges the contexts for the control; without it always the same way.

        Raises
        ------
        NotApplicable
            The source of relatedness cannot tell members apart.
        """
        check_applies("ec", self.applies_to, release)
        rng = np.random.default_rng(0) if rng is None else rng
        evidence = Evidence.of(relatedness, Shown.by(release))
        mixed = Contexts.of(release).exchanged(rng)
        control = _guess(cell_tables(release, relatedness, contexts=mixed), evidence, None)
        return _guess(cell_tables(release, relatedness), evidence, control)

    def explain(
        self,
        guess: EliminationGuess,
        release: SetGeneralizedRelease,
        record: int,
        *,
        relatedness: Relatedness,
    ) -> tuple[Reason, ...]:
        """Return which items of a record's context spoke against what was eliminated from it."""
        return reasons(guess, release, record, relatedness=relatedness)


def _guess(
    made: CellTables, evidence: Evidence, control: EliminationGuess | None
) -> EliminationGuess:
    found = tuple(guess_table(table, evidence, made.contexts) for table in made.tables)
    return EliminationGuess(attack="ec", tables=found, notes=made.gaps.sentences(), control=control)


def guess_table(table: CellRows, evidence: Evidence, contexts: Contexts) -> TableGuess:
    """Return what evidence says about the cells of one generalized item."""
    said = evidence.about(table, contexts)
    against = -added_up(
        [cells for name, cells in sorted(said.items()) if name.partition(".")[2] in QUESTIONS]
    )
    gone = np.argwhere(~best_cells(-against))
    decided = against[gone[:, 0], gone[:, 1]]
    order = np.argsort(-decided, kind="stable")
    return TableGuess(
        group=table.group,
        members=table.members,
        records=table.records,
        scores=against,
        eliminated=gone[order],
        decided=decided[order],
    )


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
