"""Shadow: an attack that learns by running the anonymizer itself, without any truth given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from setveil.attack.elimination.calibration import BetaCalibration
from setveil.attack.elimination.distance_attacks import (
    eliminate_above,
    judged_table,
)
from setveil.attack.elimination.distance_tables import (
    CellRows,
    CellTables,
    Contexts,
    cell_tables,
)
from setveil.attack.elimination.evidence import Evidence, Shown, double_centred
from setveil.attack.elimination.table_attack import (
    EliminationAttack,
    elimination_role,
    release_to_study,
)
from setveil.attack.logistic import Logistic
from setveil.core.errors import InfeasibleError, InputError, NotApplicable
from setveil.core.params import count, real
from setveil.core.registry import register
from setveil.core.table import TransactionTable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import numpy.typing as npt

    from setveil.attack.base import AuditRole
    from setveil.attack.elimination.elimination_guess import TableGuess
    from setveil.core.arrays import BoolArray, FloatArray
    from setveil.core.threads import Progress
    from setveil.relatedness.base import Relatedness
    from setveil.release.base import Anonymization, Release
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
class Shadow(EliminationAttack):
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

    requires: ClassVar[frozenset[str]] = frozenset({"relatedness", "anonymizer"})
    accepts: ClassVar[frozenset[str]] = frozenset({"progress"})
    role: ClassVar[AuditRole] = elimination_role(cost=3)

    tables: int = count(
        200, least=FEWEST, most=100_000, doc="shadow tables to learn from, at least"
    )
    threshold: float = real(
        0.5, least=0, most=1, doc="chance of having been added above which a member goes"
    )

    def prepare(
        self,
        release: Release,
        relatedness: Relatedness,
        rng: np.random.Generator,
        *,
        anonymizer: Method,
        progress: Progress | None = None,
    ) -> tuple[Prepared, tuple[str, ...]]:
        """Learn from shadow tables, and return what gives every cell its chance.

        Parameters
        ----------
        release
            What is attacked.
        relatedness
            What is known of terms; each part of a sum is asked by itself, weights are not used.
        rng
            Draws what the anonymizer protects, folds and samples.
        anonymizer
            What the release was made with, with the same parameters.
        progress
            Told how many shadow tables there are.

        Raises
        ------
        NotApplicable
            There is too little in clear to learn from.
        """
        studied = release_to_study(release)
        seen, runs = self._rehearsed(studied.as_sets(), anonymizer, relatedness, rng, progress)
        if progress is not None:
            progress("learning", len(seen), len(seen))
        model = Learned.fit(seen, rng)
        times = f"{runs} run{'s' if runs > 1 else ''}"
        note = f"learned from {len(seen):,} shadow tables of {times} of the anonymizer"
        return Prepared(model, taught_evidence(release, studied, relatedness)), (note,)

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

    def guess_table(
        self, rows: CellRows, names: Sequence[str], source: Prepared, place: int
    ) -> TableGuess:
        """Return the chance of each cell of a table to have been added."""
        table = Described(cells=rows, features=features_of(rows, names, source.evidence))
        chances = source.model.added(table, place)
        return judged_table(rows, chances, eliminate_above(chances, self.threshold), chances)


class Prepared(NamedTuple):
    """What shadow tables taught, and how the source of relatedness is asked."""

    model: Learned
    evidence: Evidence


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

    def added(self, table: Described, place: int) -> FloatArray:
        """Return for each cell of the table of a place among all the chance that it was added."""
        logits = _logits(self.model, table)
        found = conditioned(logits, self.crowding, seed=self.seed + place)
        return 1.0 - self.calibration.applied(found.chances)


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


# --- rehearsing with what the release shows in clear ----------------------------------------------


ENOUGH = 10
"""Shadow tables of one run below which the next one is made with fewer records."""
LEAST = 1 / 16
"""Share of the records that a run is made with, at least."""


class Method(Protocol):
    """An anonymizer, as an adversary has it who runs it on their own."""

    def anonymize(self, table: TransactionTable, **inputs: Any) -> Anonymization:
        """Turn a table into a release, with the key to it."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Described:
    """What is known of the cells of one generalized item.

    Parameters
    ----------
    cells
        The rows and columns.
    features
        One row per cell, in the order of rows and columns.
    """

    cells: CellRows
    features: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Rehearsed(Described):
    """A shadow table: cells of which the truth is known."""

    truth: BoolArray


def described(
    made: CellTables[CellRows], release: SetGeneralizedRelease, relatedness: Relatedness
) -> list[Described]:
    """Return features of all cells of a release; forms are learned from what it shows in clear.

    Examples
    --------
    >>> from setveil.relatedness import NGD, RecordCounts
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["fever", "flu"], ["toe", "gout"]])
    >>> release, _ = publish_sets(table, [0, 1, 1, 2])
    >>> ngd = NGD(RecordCounts.from_rows([["fever", "flu"], ["toe", "gout"], ["flu"]]))
    >>> (found,) = described(cell_tables(release, ngd), release, ngd)
    >>> found.cells.members, found.features.shape
    (('flu', 'gout'), (4, 19))
    """
    evidence = taught_evidence(release, release, relatedness)
    return [
        Described(cells=table, features=features_of(table, made.contexts.names, evidence))
        for table in made.tables
    ]


def taught_evidence(release: Release, studied: Release, relatedness: Relatedness) -> Evidence:
    """Return the evidence for a release, with forms that are learned from what some records show.

    Parameters
    ----------
    release
        The release, which may be in parts.
    studied
        The same, or some of its records, here.
    relatedness
        What is known of terms.
    """
    evidence = Evidence.of(relatedness, Shown.by(release))
    shown = Contexts.of(studied.as_sets())
    taught = {name: vectors.taught(shown) for name, vectors in evidence.vectors.items()}
    return replace(evidence, vectors=taught)


def features_of(table: CellRows, shown: Sequence[str], evidence: Evidence) -> FloatArray:
    """Return what is known of each cell of a table, one row per cell."""
    rows, columns = table.shape
    found: list[FloatArray] = []
    for _, cells in sorted(evidence.about(table, shown).items()):
        found += [cells, cells - cells.mean(axis=1, keepdims=True), double_centred(cells)]
    found += [values[None, :] for _, values in sorted(evidence.columns(table.members).items())]
    # Where ties go by name, the place of a member tells for whose sake the others were joined.
    found.append((np.arange(columns) / max(1, columns - 1))[None, :])
    found.append(np.log([len(items) for items in table.contexts])[:, None])
    sizes = (np.log(rows), np.log(columns), 1 / rows, 1 / columns)
    found += [np.full((1, 1), value) for value in sizes]
    return np.column_stack([np.broadcast_to(each, table.shape).ravel() for each in found])


def visible(release: SetGeneralizedRelease) -> TransactionTable:
    """Return the records of a release with the items it shows in clear, empty ones left out.

    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["fever", "flu"], ["gout"]])
    >>> visible(publish_sets(table, [0, 1, 1])[0]).to_rows()
    [['fever']]
    """
    contexts = Contexts.of(release)
    rows = (contexts.terms(record) for record in range(len(contexts)))
    return TransactionTable.from_rows(row for row in rows if row)


def rehearse(
    release: SetGeneralizedRelease,
    method: Method,
    relatedness: Relatedness,
    rng: np.random.Generator,
) -> Iterator[list[Rehearsed]]:
    """Yield the shadow tables of one run after the other; only one if all would be the same.

    What the run joins is hidden from the contexts, as it is in the release that is attacked.
    Where every rare item was protected, those in clear are so frequent that nothing is joined.
    Then runs are made with half of the records, drawn at random, or less: there they are rare.

    Parameters
    ----------
    release
        What is attacked.
    method
        The anonymizer it was made with, with the same parameters.
    relatedness
        What the adversary knows.
    rng
        What the anonymizer draws from.

    Raises
    ------
    NotApplicable
        The anonymizer cannot be run on what the release shows in clear.
    """
    needs: frozenset[str] = getattr(method, "requires", frozenset())
    if needs:
        raise NotApplicable(
            f"shadow runs the anonymizer itself, but this one needs {' and '.join(sorted(needs))}",
            fix="use rba or ec, which need no anonymizer",
        )
    draws = "rng" in getattr(method, "accepts", frozenset())
    table = visible(release)
    share = 1.0
    while share >= LEAST:
        part = table if share == 1 else _drawn(table, share, rng)
        try:
            made = method.anonymize(part, **({"rng": rng} if draws else {}))
        except (InfeasibleError, InputError) as error:
            if share < 1:
                return
            raise NotApplicable(
                f"the anonymizer cannot be run on what the release shows in clear: {error.what}",
                fix="use rba or ec, which need no anonymizer",
            ) from None
        found = _tables(made, part, relatedness)
        yield found
        if len(found) < ENOUGH:
            share /= 2
        elif share == 1 and not draws:
            return


def _drawn(table: TransactionTable, share: float, rng: np.random.Generator) -> TransactionTable:
    chosen = rng.choice(len(table), round(share * len(table)), replace=False)
    return table.take(np.sort(chosen))


def _tables(
    made: Anonymization, original: TransactionTable, relatedness: Relatedness
) -> list[Rehearsed]:
    """Return the tables of a run with their truth; none where the source knows no member."""
    try:
        shown = made.release.as_sets()
    except NotApplicable:
        raise NotApplicable(
            f"the anonymizer makes releases of the form {made.release.form!r}",
            fix="give the one that the attacked release was made with",
        ) from None
    try:
        cells = cell_tables(shown, relatedness)
    except NotApplicable:
        return []
    held = [set(row) for row in original.take(made.key.records).to_rows()]
    found = []
    for table in described(cells, shown, relatedness):
        rows = [held[record] for record in table.cells.records.tolist()]
        truth = np.array([[member in row for member in table.cells.members] for row in rows])
        found.append(Rehearsed(cells=table.cells, features=table.features, truth=truth))
    return found


# --- chances of cells when every row and column keeps one -----------------------------------------


FARTHEST = 12.0
"""Log-odds beyond which a cell is as good as decided; keeps the sampling in motion."""
SWEEPS = 1_000
FIRST = 100
"""Sweeps that are not counted."""
WORK = 20_000_000
"""Cells drawn per table, at most; large tables get fewer sweeps."""
MOST = 4
"""Rows that keep so many members or more are treated alike."""
ROUNDS = 6


class Drawn(NamedTuple):
    """What sampling a table gave.

    Parameters
    ----------
    chances
        For each cell the chance that it was kept.
    rows
        ``rows[n]`` is the expected number of rows that keep n cells; the last, so many and more.
    """

    chances: FloatArray
    rows: FloatArray


def conditioned(
    logits: FloatArray, crowding: FloatArray, *, seed: int, sweeps: int = SWEEPS
) -> Drawn:
    """Return the chance of each cell to be kept, given that no row and no column keeps none.

    Parameters
    ----------
    logits
        Log-odds of each cell by itself.
    crowding
        Log weights of rows by how many cells they keep, from 0; the last is for so many and more.
    seed
        Of the random numbers.
    sweeps
        How often the table is drawn.

    Examples
    --------
    >>> conditioned(np.array([[9.0, -9.0], [-9.0, -9.0]]), np.zeros(5), seed=1).chances.round(2)
    array([[1., 0.],
           [0., 1.]])
    """
    from setveil.attack.elimination.gibbs_kernels import kept_given_cover

    limited = np.clip(logits, -FARTHEST, FARTHEST)
    times = int(np.clip(WORK // max(1, limited.size), 50, sweeps))
    return Drawn(*kept_given_cover(limited, crowding, times, FIRST, np.random.default_rng(seed)))


def usual_crowding(
    logits: Sequence[FloatArray], truth: Sequence[BoolArray], *, seed: int
) -> FloatArray:
    """Learn the weights of rows by how many cells they keep, from tables whose truth is known.

    Anonymizers seldom join items that stand together in a record, so that most rows keep one
    cell. Weights are moved until as many rows are expected to keep 1, 2, ... cells as do.

    >>> apart = [np.eye(2, dtype=bool)] * 30
    >>> crowding = usual_crowding([np.zeros((2, 2))] * 30, apart, seed=1)
    >>> bool(crowding[1] == 0 and crowding[2] < -2)
    True
    """
    kept = np.concatenate([np.minimum(table.sum(axis=1), MOST) for table in truth])
    there = np.bincount(kept, minlength=MOST + 1)
    crowding = np.zeros(MOST + 1)
    for _ in range(ROUNDS):
        expected = np.zeros(MOST + 1)
        for number, table in enumerate(logits):
            expected += conditioned(table, crowding, seed=seed + number, sweeps=SWEEPS // 4).rows
        # One row more of each kind: numbers that never occurred are rare, not impossible.
        crowding += np.log((there + 1) / (expected + 1))
        crowding -= crowding[1]
    return crowding
