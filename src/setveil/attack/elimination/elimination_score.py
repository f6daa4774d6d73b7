"""How many added members a guess found, beside what guessing blindly finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from setveil.attack.elimination.calibration import calibration_error
from setveil.attack.elimination.distance_attacks import eliminate_above
from setveil.core.errors import InputError
from setveil.core.interval import Rate, clustered_share, linearized
from setveil.release.set_generalized import set_label

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from setveil.attack.elimination.elimination_guess import EliminationGuess
    from setveil.core.arrays import BoolArray, FloatArray, Int64Array
    from setveil.core.table import TransactionTable
    from setveil.release.base import Key, Release

    Rates = dict[str, Rate | None]
    from collections.abc import Iterable

    from setveil.attack.elimination.elimination_guess import TableGuess
    from setveil.release.set_generalized import SetGeneralizedRelease

RANDOM_RUNS = 20
"""How often the random attack is run for its figures."""
SURE = 0.95
"""Chance from which an attack is called sure."""


def elimination_rates(
    guess: EliminationGuess, *, release: Release, original: TransactionTable, key: Key
) -> dict[str, Rate | None]:
    """Return how right the eliminations were, beside two baselines and a control.

    Only attacked cells count: those of records with a context. Cells of one generalized item depend
    on each other, so that intervals count generalized items, and of them those that contribute.

    Returns
    -------
    dict of str to Rate or None
        ``auc``: the chance that an added cell scores above an original one. ``kept_f1``,
        ``kept_precision``, ``kept_recall``: original cells among those kept, and kept ones among
        the original. ``f1``, ``precision``, ``recall``: the same of added cells and eliminated
        ones. ``ece``: the expected calibration error of the probabilities; ``sure``: the share of
        cells that are called added with a chance of at least 0.95, and ``sure_precision``: how
        many of these are. ``cell_density``: the share of original cells. ``attacked``: the share
        of all cells that were attacked.

        Baselines and control follow under the same names: ``_ra`` eliminates at random, ``_all``
        everything, ``_control`` is the attack with contexts exchanged between records.

    Examples
    --------
    >>> from setveil.attack import EliminationGuess, TableGuess
    >>> from setveil import TransactionTable
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["flu"], ["gout"]])
    >>> release, key = publish_sets(table, [0, 0])
    >>> said = TableGuess(group=0, members=("flu", "gout"), records=[0, 1],
    ...                   scores=[[0.1, 0.9], [0.4, 0.3]], eliminated=[[0, 1]], decided=[0.9])
    >>> guess = EliminationGuess(attack="mda", tables=(said,))
    >>> rates = guess.score(release=release, original=table, key=key)
    >>> {name: rates[name].value for name in ("auc", "precision", "recall", "precision_all")}
    {'auc': 1.0, 'precision': 1.0, 'recall': 0.5, 'precision_all': 0.5}
    """
    cells = AttackedCells.of(guess, release=release, original=original, key=key)
    found = _figures(cells)
    found |= _calibration(cells)
    found["cell_density"] = clustered_share(*_density(_counts(cells, cells.eliminated)))
    found["attacked"] = None if cells.share is None else Rate.counted(cells.share)
    found |= _named("ra", _at_random(guess, cells))
    everything = _counts(cells, np.ones_like(cells.eliminated))
    found |= _named("all", _rates(everything))
    if guess.control is None:
        return found | _named("control", dict.fromkeys(("auc", *MEASURES)))
    mixed = AttackedCells.of(guess.control, release=release, original=original, key=key)
    return found | _named("control", _figures(mixed))


def _named(run: str, rates: Rates) -> Rates:
    return {f"{name}_{run}": rate for name, rate in rates.items()}


class Counts(NamedTuple):
    """Cells counted, for each generalized item or record: arrays of the same length.

    Parameters
    ----------
    found
        Eliminated cells that were added.
    eliminated
        All eliminated cells.
    added
        All added cells.
    cells
        All cells.
    """

    found: FloatArray
    eliminated: FloatArray
    added: FloatArray
    cells: FloatArray


def _counts(cells: AttackedCells, eliminated: BoolArray) -> Counts:
    return _counted(cells.table, cells.added, eliminated, cells.tables)


def _counted(where: Int64Array, added: BoolArray, eliminated: BoolArray, n: int) -> Counts:
    weights = (added & eliminated, eliminated, added, np.ones(len(where)))
    return Counts(*(np.bincount(where, each, n).astype(np.float64) for each in weights))


# Each measure as what is counted and out of how much; F is twice the first over the second.


def _precision(c: Counts) -> tuple[FloatArray, FloatArray]:
    return c.found, c.eliminated


def _recall(c: Counts) -> tuple[FloatArray, FloatArray]:
    return c.found, c.added


def _f1(c: Counts) -> tuple[FloatArray, FloatArray]:
    return 2 * c.found, c.eliminated + c.added


def _density(c: Counts) -> tuple[FloatArray, FloatArray]:
    return c.cells - c.added, c.cells


def _of_kept(c: Counts) -> Counts:
    """Return the counts of the opposite: original cells that were kept."""
    kept, there = c.cells - c.eliminated, c.cells - c.added
    return Counts(
        found=there - (c.eliminated - c.found), eliminated=kept, added=there, cells=c.cells
    )


MEASURES: dict[str, Callable[[Counts], tuple[FloatArray, FloatArray]]] = {
    "kept_f1": lambda c: _f1(_of_kept(c)),
    "kept_precision": lambda c: _precision(_of_kept(c)),
    "kept_recall": lambda c: _recall(_of_kept(c)),
    "f1": _f1,
    "precision": _precision,
    "recall": _recall,
}


def _rates(counts: Counts) -> Rates:
    return {name: clustered_share(*measure(counts)) for name, measure in MEASURES.items()}


# --- ranking ----------------------------------------------------------------------------------


def _figures(cells: AttackedCells) -> Rates:
    found: Rates = {"auc": _auc(cells)}
    return found | _rates(_counts(cells, cells.eliminated))


def _auc(cells: AttackedCells) -> Rate | None:
    """Return the chance that an added cell scores above an original one; ties count half.

    A cell's *wins* are the share of cells of the other kind that it is on the right side of. By the
    weight of a generalized item, the area has the derivative: mean wins of its added cells and of
    its original ones, each less the area, weighted by how many of all such cells it has.
    """
    added = cells.added
    if not len(added) or added.all() or not added.any():
        return None
    _, rank = np.unique(cells.scores, return_inverse=True)
    above, below = np.bincount(rank[added]), np.bincount(rank[~added])
    above, below = (np.pad(each, (0, rank.max() + 1 - len(each))) for each in (above, below))
    lower = (np.cumsum(below) - below / 2) / below.sum()
    higher = 1 - (np.cumsum(above) - above / 2) / above.sum()
    wins = np.where(added, lower[rank], higher[rank])
    share = np.where(added, 1 / above.sum(), 1 / below.sum())
    value = float(wins[added].mean())
    influence = np.bincount(cells.table, (wins - value) * share, cells.tables)
    return linearized(value, influence, np.bincount(cells.table, share, cells.tables))


def _at_random(guess: EliminationGuess, cells: AttackedCells) -> Rates:
    """Return the figures of the random attack on the same cells, over several runs."""
    rng = np.random.default_rng(0)
    totals = Counts(*np.zeros((4, cells.tables)))
    for _ in range(RANDOM_RUNS):
        gone = np.zeros(len(cells.added), dtype=bool)
        start = 0
        for table in guess.tables:
            shape = table.scores.shape
            drawn = eliminate_above(rng.random(shape), 0.5).cells
            gone[start + drawn[:, 0] * shape[1] + drawn[:, 1]] = True
            start += table.scores.size
        totals = Counts(*(a + b for a, b in zip(totals, _counts(cells, gone), strict=True)))
    found: Rates = {"auc": Rate.counted(0.5)}
    return found | _rates(totals)


# --- probabilities ----------------------------------------------------------------------------


def _calibration(cells: AttackedCells) -> Rates:
    """Return how well probabilities are calibrated, and how right the sure ones are."""
    chances = cells.probabilities
    if chances is None or not len(chances):
        return dict.fromkeys(("ece", "sure", "sure_precision"))
    sure = _counts(cells, chances >= SURE)
    return {
        "ece": calibration_error(chances, cells.added, unit=cells.table),
        "sure": clustered_share(sure.eliminated, sure.cells),
        "sure_precision": clustered_share(*_precision(sure)),
    }


# --- one by one -------------------------------------------------------------------------------


class PartScore(NamedTuple):
    """How right the eliminations were for one generalized item, or in one record.

    Parameters
    ----------
    name
        The generalized item as it is written, or the number of the record from 0.
    cells, added, eliminated, found
        How many cells there are, were added, were eliminated, and were both.
    precision, recall, kept_precision, kept_recall
        Their ratios; None where there is nothing to divide by.
    """

    name: str | int
    cells: int
    added: int
    eliminated: int
    found: int
    precision: float | None
    recall: float | None
    kept_precision: float | None
    kept_recall: float | None


def score_items(
    guess: EliminationGuess, *, release: Release, original: TransactionTable, key: Key
) -> list[PartScore]:
    """Return the score of each attacked generalized item, in the order of the guess.

    >>> from setveil.attack import RA
    >>> from setveil import TransactionTable
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["flu"], ["gout"], ["flu"]])
    >>> release, key = publish_sets(table, [0, 0])
    >>> guess = RA().run(release, rng=np.random.default_rng(1))
    >>> [(part.name, part.cells, part.added) for part in
    ...  score_items(guess, release=release, original=table, key=key)]
    [('(flu, gout)', 6, 3)]
    """
    cells = AttackedCells.of(guess, release=release, original=original, key=key)
    return _parts(
        [set_label(table.members) for table in guess.tables], _counts(cells, cells.eliminated)
    )


def score_records(
    guess: EliminationGuess, *, release: Release, original: TransactionTable, key: Key
) -> list[PartScore]:
    """Return the score of each attacked record, in the order of the release.

    >>> from setveil.attack import RA
    >>> from setveil import TransactionTable
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["flu"], ["gout"], ["flu"]])
    >>> release, key = publish_sets(table, [0, 0])
    >>> guess = RA().run(release, rng=np.random.default_rng(1))
    >>> [(part.name, part.cells, part.added) for part in
    ...  score_records(guess, release=release, original=table, key=key)]
    [(0, 2, 1), (1, 2, 1), (2, 2, 1)]
    """
    cells = AttackedCells.of(guess, release=release, original=original, key=key)
    records, place = np.unique(cells.record, return_inverse=True)
    counts = _counted(place, cells.added, cells.eliminated, len(records))
    return _parts(records.tolist(), counts)


def _parts(names: Sequence[str | int], counts: Counts) -> list[PartScore]:
    found = []
    for place, name in enumerate(names):
        own = Counts(*(each[place : place + 1] for each in counts))
        kept = _of_kept(own)
        ratios = [
            float(part[0] / whole[0]) if whole[0] else None
            for part, whole in (_precision(own), _recall(own), _precision(kept), _recall(kept))
        ]
        cells, added, gone, right = (int(own[i][0]) for i in (3, 2, 1, 0))
        found.append(PartScore(name, cells, added, gone, right, *ratios))
    return found


# --- the attacked cells ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class AttackedCells:
    """The attacked cells of a release, one after another, table by table.

    Parameters
    ----------
    table
        For each cell the place of its table in the guess.
    record
        For each cell its record in the release.
    added
        Whether it was added.
    eliminated
        Whether the guess eliminated it.
    scores
        How much spoke for its having been added.
    probabilities
        The chance of that; None where the guess gives none.
    share
        The share of all cells of the release that were attacked; None where it has none.
    """

    table: Int64Array
    record: Int64Array
    added: BoolArray
    eliminated: BoolArray
    scores: FloatArray
    probabilities: FloatArray | None
    share: float | None

    @classmethod
    def of(
        cls, guess: EliminationGuess, *, release: Release, original: TransactionTable, key: Key
    ) -> AttackedCells:
        """Line a guess up with the truth.

        Raises
        ------
        NotApplicable
            The release has no generalized items.
        InputError
            Guess, release, original and key do not belong together.

        Examples
        --------
        >>> from setveil.attack import TableGuess, EliminationGuess
        >>> from setveil import TransactionTable
        >>> from setveil.release.set_generalized import publish_sets
        >>> table = TransactionTable.from_rows([["flu"], ["gout"]])
        >>> release, key = publish_sets(table, [0, 0])
        >>> said = TableGuess(group=0, members=("flu", "gout"), records=[0, 1],
        ...                   scores=[[0.1, 0.9], [0.4, 0.3]], eliminated=[[0, 1]], decided=[0.9])
        >>> guess = EliminationGuess(attack="mda", tables=(said,))
        >>> cells = AttackedCells.of(guess, release=release, original=table, key=key)
        >>> cells.added.tolist(), cells.eliminated.tolist()
        ([False, True, True, False], [False, True, False, False])
        """
        published = _checked(guess, release, original, key)
        tables = guess.tables
        ordered = original.take(key.records)
        chances = [table.probabilities for table in tables if table.probabilities is not None]
        attacked = sum(table.scores.size for table in tables)
        whole = int(published.sizes[published.items][_hidden(published)].sum())
        return cls(
            table=np.repeat(np.arange(len(tables)), [table.scores.size for table in tables]),
            record=_joined((np.repeat(t.records, len(t.members)) for t in tables), np.int64),
            added=_joined((~_held(t, ordered) for t in tables), bool),
            eliminated=_joined((t.is_eliminated for t in tables), bool),
            scores=_joined((t.scores for t in tables), float),
            probabilities=_joined(chances, float) if len(chances) == len(tables) else None,
            share=attacked / whole if whole else None,
        )

    @property
    def tables(self) -> int:
        """Number of generalized items that were attacked."""
        return int(self.table[-1]) + 1 if len(self.table) else 0


def _joined(parts: Iterable[npt.NDArray[Any]], kind: type) -> npt.NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=kind), *(part.ravel() for part in parts)])


def _hidden(release: SetGeneralizedRelease) -> BoolArray:
    """Return for each item of each record whether it is a generalized one of several members."""
    return np.asarray(~release.is_trivial[release.items])


def _held(table: TableGuess, original: TransactionTable) -> BoolArray:
    """Return for each cell whether the record held the member; records in the release's order."""
    column = np.full(original.n_items, -1, dtype=np.int64)
    for place, member in enumerate(table.members):
        column[original.vocabulary.number(member)] = place
    held = np.zeros(table.scores.shape, dtype=bool)
    for row, record in enumerate(table.records.tolist()):
        places = column[original.items[original.offsets[record] : original.offsets[record + 1]]]
        held[row, places[places >= 0]] = True
    return held


def _checked(
    guess: EliminationGuess, release: Release, original: TransactionTable, key: Key
) -> SetGeneralizedRelease:
    """Return the release, or say what does not fit."""
    sets = release.as_sets()
    if not release.is_consistent_with(original, key):
        raise InputError(
            "the release cannot come from this original by this key",
            fix="name the data and the key that `setveil anonymize` read and wrote",
        )
    guess.check_about(release)
    known = {sets.members(g): g for g in np.flatnonzero(~sets.is_trivial).tolist()}
    record_of = np.repeat(np.arange(len(release)), np.diff(sets.offsets))
    order = np.argsort(sets.items, kind="stable")
    ends = np.searchsorted(sets.items[order], np.arange(len(sets.groups) + 1))
    for table in guess.tables:
        group = known.get(table.members, -1)
        holders = record_of[order[ends[group] : ends[group + 1]]] if group >= 0 else ()
        rows = table.records
        if (
            group != table.group
            or len(np.unique(rows)) < len(rows)
            or np.setdiff1d(rows, holders).size
        ):
            raise InputError(
                "the guess is about another release",
                fix="attack this release, or name the one that was attacked",
            )
    return sets
