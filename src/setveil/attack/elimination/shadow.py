"""Shadow: an attack that learns by running the anonymizer itself, without any truth given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.attack.base import AuditRole, check_applies
from setveil.attack.elimination.beta_calibration import BetaCalibration
from setveil.attack.elimination.conditioning import conditioned, usual_crowding
from setveil.attack.elimination.distance_attacks import eliminate_above, elimination_role
from setveil.attack.elimination.distance_tables import Contexts
from setveil.attack.elimination.elimination_guess import (
    EliminationGuess,
    Reason,
    TableGuess,
    reasons,
)
from setveil.attack.elimination.evidence import cell_tables
from setveil.attack.elimination.rehearsal import described, rehearse
from setveil.attack.logistic import Logistic
from setveil.core.errors import NotApplicable
from setveil.core.params import count, real
from setveil.core.registry import register

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy.typing as npt

    from setveil.attack.elimination.evidence import CellTables
    from setveil.attack.elimination.rehearsal import Described, Method, Rehearsed
    from setveil.core.arrays import FloatArray
    from setveil.core.threads import Progress
    from setveil.relatedness.base import Relatedness
    from setveil.release.set_generalized import SetGeneralizedRelease


RUNS = 20
"""Runs of the anonymizer, at most: small releases never give many tables."""
FOLDS = 5
FEWEST = 2 * FOLDS
"""Shadow tables below which nothing can be learned."""
TRUST = 0.03
"""How far shadow tables are trusted against weights of zero (C of a logistic regression)."""


@register("attack", "shadow", paper="setveil")
@dataclass(frozen=True, kw_only=True)
class Shadow:
    """Learn from the anonymizer, run on what the release shows, which members were added.

    On items in clear the adversary knows the truth. So the same anonymizer is run on these, with
    the same parameters; a logistic regression learns from the outcome how evidence tells members
    that were there from added ones. Its chances are conditioned on every record and every member
    keeping at least one cell, and on how many cells records usually keep, and are calibrated on
    tables whose members they were not learned from. The result is a chance for every cell.

    Parameters
    ----------
    tables
        Shadow tables to learn from, at least, as far as a few runs give them.
    threshold
        Chance of having been added above which a cell is eliminated.

    Notes
    -----
    Nothing of the original is seen. The control uses the same learned weights, on contexts
    exchanged between records; what it finds comes from members alone, such as their frequency in
    the corpus. Name several sources for the best result:
    ``corpus:INDEX+glove:FILE+trained:INDEX``.

    Examples
    --------
    >>> Shadow(tables=5)
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: tables is 5. To fix: use a whole number of at least 10.
    """

    applies_to: ClassVar[frozenset[str]] = frozenset({"set-generalized"})
    requires: ClassVar[frozenset[str]] = frozenset({"relatedness", "anonymizer"})
    accepts: ClassVar[frozenset[str]] = frozenset({"progress"})
    role: ClassVar[AuditRole] = elimination_role(cost=3)

    tables: int = count(
        200, least=FEWEST, most=100_000, doc="shadow tables to learn from, at least"
    )
    threshold: float = real(
        0.5, least=0, most=1, doc="chance of having been added above which a member goes"
    )

    def run(
        self,
        release: SetGeneralizedRelease,
        *,
        relatedness: Relatedness,
        anonymizer: Method,
        rng: np.random.Generator | None = None,
        progress: Progress | None = None,
    ) -> EliminationGuess:
        """Return which members were added, with the chance of each.

        Parameters
        ----------
        release
            What is attacked.
        relatedness
            What is known of terms; each part of a sum is asked by itself, weights are not used.
        anonymizer
            What the release was made with, with the same parameters.
        rng
            Draws what the anonymizer protects, folds and samples; without it always the same.
        progress
            Told how many shadow tables there are.

        Raises
        ------
        NotApplicable
            The source of relatedness cannot tell members apart, or there is too little in clear
            to learn from.
        """
        check_applies("shadow", self.applies_to, release)
        rng = np.random.default_rng(0) if rng is None else rng
        attacked = cell_tables(release, relatedness)
        mixed = cell_tables(release, relatedness, contexts=Contexts.of(release).exchanged(rng))
        seen, runs = self._rehearsed(release, anonymizer, relatedness, rng, progress)
        if progress is not None:
            progress("learning", len(seen), len(seen))
        model = Learned.fit(seen, rng)
        times = f"{runs} run{'s' if runs > 1 else ''}"
        notes = (f"learned from {len(seen):,} shadow tables of {times} of the anonymizer",)
        control = self._guess(mixed, described(mixed, release, relatedness), model)
        guess = self._guess(attacked, described(attacked, release, relatedness), model)
        return replace(guess, notes=(*notes, *guess.notes), control=control)

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

    def _rehearsed(
        self,
        release: SetGeneralizedRelease,
        anonymizer: Method,
        relatedness: Relatedness,
        rng: np.random.Generator,
        progress: Progress | None,
    ) -> tuple[list[Rehearsed], int]:
        seen: list[Rehearsed] = []
        runs = 0
        for made in rehearse(release, anonymizer, relatedness, rng):
            seen += made
            runs += 1
            if progress is not None:
                progress("making shadow tables", min(len(seen), self.tables), self.tables)
            if len(seen) >= self.tables or runs == RUNS:
                break
        if len(seen) < FEWEST:
            raise NotApplicable(
                f"{runs} runs of the anonymizer on what the release shows in clear gave "
                f"{len(seen)} shadow tables: too few to learn from",
                fix="use rba or ec, which learn nothing",
            )
        return seen, runs

    def _guess(
        self, made: CellTables, tables: Sequence[Described], model: Learned
    ) -> EliminationGuess:
        found = []
        for table, chances in zip(tables, model.added(tables), strict=True):
            result = eliminate_above(chances, self.threshold)
            found.append(
                TableGuess(
                    group=table.cells.group,
                    members=table.cells.members,
                    records=table.cells.records,
                    scores=chances,
                    eliminated=result.cells,
                    decided=result.decided,
                    threshold=self.threshold,
                    probabilities=chances,
                )
            )
        return EliminationGuess(attack="shadow", tables=tuple(found), notes=made.gaps.sentences())


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """What shadow tables taught.

    Parameters
    ----------
    model
        From features of a cell to the log-odds that it was there.
    crowding
        Log weights of rows by how many cells they keep.
    calibration
        From conditioned chances to ones that come true as often as they say.
    seed
        Of the sampling.
    """

    model: Logistic
    crowding: FloatArray
    calibration: BetaCalibration
    seed: int

    @classmethod
    def fit(cls, seen: Sequence[Rehearsed], rng: np.random.Generator) -> Learned:
        """Learn from shadow tables; what is calibrated comes from models that did not see it.

        Runs of the anonymizer share items, so that tables of two runs can share cells: a model
        that is asked about a table has seen no cell of any of its members.
        """
        seed = int(rng.integers(2**31))
        fold = rng.permutation(len(seen)) % FOLDS
        logits: list[FloatArray] = [np.empty(0)] * len(seen)
        for number in range(FOLDS):
            others = [table for table, own in zip(seen, fold, strict=True) if own != number]
            places = np.flatnonzero(fold == number).tolist()
            asked = {name for place in places for name in seen[place].cells.members}
            model = _fitted(others, without=asked)
            for place in places:
                logits[place] = _logits(model, seen[place])
        truth = [table.truth for table in seen]
        crowding = usual_crowding(logits, truth, seed=seed)
        chances = [
            conditioned(table, crowding, seed=seed + number).chances
            for number, table in enumerate(logits)
        ]
        return cls(
            model=_fitted(seen),
            crowding=crowding,
            calibration=BetaCalibration.fit(chances, truth),
            seed=seed,
        )

    def added(self, tables: Sequence[Described]) -> list[FloatArray]:
        """Return for each cell of each table the chance that it was added."""
        return [
            1.0
            - self.calibration.applied(
                conditioned(
                    _logits(self.model, table), self.crowding, seed=self.seed + number
                ).chances
            )
            for number, table in enumerate(tables)
        ]


def _fitted(tables: Sequence[Rehearsed], without: Collection[str] = ()) -> Logistic:
    """Return a regression on the cells of tables, except those of some members.

    Where no other member is left, it knows nothing but how many cells were there.
    """
    features = np.concatenate([table.features for table in tables])
    truth = np.concatenate([table.truth.ravel() for table in tables])
    other = np.concatenate([_cells_of_others(table, without) for table in tables])
    if not other.any():
        return Logistic.fit(np.zeros_like(features), truth, trust=TRUST)
    return Logistic.fit(features[other], truth[other], trust=TRUST)


def _cells_of_others(table: Rehearsed, members: Collection[str]) -> npt.NDArray[np.bool_]:
    columns = np.array([name not in members for name in table.cells.members], dtype=bool)
    return np.broadcast_to(columns, table.cells.shape).ravel()


def _logits(model: Logistic, table: Described) -> FloatArray:
    return model.logits(table.features).reshape(table.cells.shape)
