"""How many added members a guess found, beside what guessing blindly finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.attack.elimination import eliminate_above
from setveil.attack.elimination_guess import EliminationGuess
from setveil.measure.attacked_cells import AttackedCells, Bools, Floats
from setveil.measure.calibration import BINS
from setveil.measure.interval import NORMAL, Rate, wilson
from setveil.measure.score import score
from setveil.release.set_labels import written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from setveil.data.table import Int64Array, TransactionTable
    from setveil.release.base import Key, Release

    Rates = dict[str, Rate | None]

DRAWS = 500
"""How often generalized items are drawn anew for an interval."""
RANDOM_RUNS = 20
"""How often the random attack is run for its figures."""
SURE = 0.95
"""Chance from which an attack is called sure."""


@score.register(EliminationGuess)
def score_elimination(
    guess: EliminationGuess, *, release: Release, original: TransactionTable, key: Key
) -> dict[str, Rate | None]:
    """Return how right the eliminations were, beside two baselines and a control.

    Only attacked cells count: those of records with a context. Intervals draw generalized items
    anew; of a single one, nothing is said.

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
    >>> from setveil.attack import TableGuess
    >>> from setveil.data import TransactionTable
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["flu"], ["gout"]])
    >>> release, key = publish_sets(table, [0, 0])
    >>> said = TableGuess(group=0, members=("flu", "gout"), records=[0, 1],
    ...                   scores=[[0.1, 0.9], [0.4, 0.3]], eliminated=[[0, 1]], decided=[0.9])
    >>> rates = score(EliminationGuess(attack="mda", tables=(said,)), release=release,
    ...               original=table, key=key)
    >>> {name: rates[name].value for name in ("auc", "precision", "recall", "precision_all")}
    {'auc': 1.0, 'precision': 1.0, 'recall': 0.5, 'precision_all': 0.5}
    """
    cells = AttackedCells.of(guess, release=release, original=original, key=key)
    draws = drawn_tables(cells.tables)
    found = _figures(cells, draws)
    found |= _calibration(cells, draws)
    found["cell_density"] = _rate(_density, _counts(cells, cells.eliminated), draws)
    found["attacked"] = None if cells.share is None else Rate.counted(cells.share)
    found |= _named("ra", _at_random(guess, cells, draws))
    everything = _counts(cells, np.ones_like(cells.eliminated))
    found |= _named("all", _rates(everything, draws))
    if guess.control is None:
        return found | _named("control", dict.fromkeys(("auc", *MEASURES)))
    mixed = AttackedCells.of(guess.control, release=release, original=original, key=key)
    return found | _named("control", _figures(mixed, drawn_tables(mixed.tables)))


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

    found: Floats
    eliminated: Floats
    added: Floats
    cells: Floats


def _counts(cells: AttackedCells, eliminated: Bools) -> Counts:
    return _counted(cells.table, cells.added, eliminated, cells.tables)


def _counted(where: Int64Array, added: Bools, eliminated: Bools, n: int) -> Counts:
    weights = (added & eliminated, eliminated, added, np.ones(len(where)))
    return Counts(*(np.bincount(where, each, n).astype(np.float64) for each in weights))


# Each measure as what is counted and out of how much; F is twice the first over the second.


def _precision(c: Counts) -> tuple[Floats, Floats]:
    return c.found, c.eliminated


def _recall(c: Counts) -> tuple[Floats, Floats]:
    return c.found, c.added


def _f1(c: Counts) -> tuple[Floats, Floats]:
    return 2 * c.found, c.eliminated + c.added


def _density(c: Counts) -> tuple[Floats, Floats]:
    return c.cells - c.added, c.cells


def _of_kept(c: Counts) -> Counts:
    """Return the counts of the opposite: original cells that were kept."""
    kept, there = c.cells - c.eliminated, c.cells - c.added
    return Counts(
        found=there - (c.eliminated - c.found), eliminated=kept, added=there, cells=c.cells
    )


MEASURES: dict[str, Callable[[Counts], tuple[Floats, Floats]]] = {
    "kept_f1": lambda c: _f1(_of_kept(c)),
    "kept_precision": lambda c: _precision(_of_kept(c)),
    "kept_recall": lambda c: _recall(_of_kept(c)),
    "f1": _f1,
    "precision": _precision,
    "recall": _recall,
}


def _rates(counts: Counts, draws: Floats) -> Rates:
    return {name: _rate(measure, counts, draws) for name, measure in MEASURES.items()}


def _rate(
    measure: Callable[[Counts], tuple[Floats, Floats]], counts: Counts, draws: Floats
) -> Rate | None:
    """Return a share over all tables, with the interval that drawing tables anew gives."""
    part, whole = measure(Counts(*(each.sum(keepdims=True) for each in counts)))
    if not whole[0]:
        return None
    parts, wholes = measure(Counts(*(draws @ each for each in counts)))
    shares = np.divide(parts, wholes, out=np.full(len(parts), np.nan), where=wholes > 0)
    return interval(float(part[0] / whole[0]), shares, units=draws.shape[1])


def drawn_tables(tables: int) -> Floats:
    """Return how often each table is drawn, in each of many draws of as many as there are.

    >>> drawn_tables(3).sum(axis=1).tolist() == [3.0] * DRAWS
    True
    """
    if tables < 2:
        return np.empty((0, tables))  # of one, there is nothing to draw from
    rng = np.random.default_rng(0)
    return rng.multinomial(tables, np.full(tables, 1 / tables), size=DRAWS).astype(np.float64)


def interval(
    value: float, drawn: Floats, *, units: int, least: float = 0.0, most: float = 1.0
) -> Rate:
    """Return a rate with the 95% interval that drawing units anew gives; few units say little.

    The middle 95% of what was drawn is too narrow for few units. It is widened to Student's
    interval by the spread of the draws, and to Wilson's with as many trials as have that spread;
    where all units agree, so that nothing was spread, each is one trial. From one unit, nothing
    is known.

    Parameters
    ----------
    value
        The rate.
    drawn
        The same of each draw; not finite where there was nothing to count.
    units
        How many there were to draw from.
    least, most
        What the rate lies between.

    Examples
    --------
    >>> interval(0.5, np.array([0.2, 0.5, 0.5, 0.7]), units=30).low < 0.3
    True
    >>> interval(0.0, np.zeros(500), units=2).high > 0.6
    True
    >>> interval(0.5, np.empty(0), units=1)
    Rate(value=0.5, low=0.0, high=1.0, exact=False)
    """
    from scipy.special import stdtrit  # noqa: PLC0415  (start-up time)

    there = drawn[np.isfinite(drawn)]
    if not len(there) or units < 2 or most <= least:
        return Rate(value=value, low=least, high=max(most, value), exact=False)
    place = min((value - least) / (most - least), 1.0)
    variance = float(there.var()) * units / (units - 1) / (most - least) ** 2
    student = float(stdtrit(units - 1, 0.975))
    trials = float(units)
    if variance > 0:
        trials = max(place * (1 - place) / variance * (NORMAL / student) ** 2, 1.0)
    half = student * float(np.sqrt(variance))
    middle = (np.quantile(there, [0.025, 0.975]) - least) / (most - least)
    low = min(wilson(place * trials, trials)[0], place - half, float(middle[0]))
    high = max(wilson(place * trials, trials)[1], place + half, float(middle[1]))
    ends = [least + (most - least) * end for end in (low, high)]
    return Rate(
        value=value,
        low=min(max(ends[0], least), value),
        high=max(min(ends[1], most), value),
        exact=False,
    )


# --- ranking ----------------------------------------------------------------------------------


def _figures(cells: AttackedCells, draws: Floats) -> Rates:
    found: Rates = {"auc": _auc(cells, cells.scores, draws)}
    return found | _rates(_counts(cells, cells.eliminated), draws)


def _auc(cells: AttackedCells, scores: Floats, draws: Floats) -> Rate | None:
    """Return the chance that an added cell scores above an original one; ties count half."""
    if not len(scores) or cells.added.all() or not cells.added.any():
        return None
    _, rank = np.unique(scores, return_inverse=True)
    value = _area(rank, cells.added, np.ones(len(rank)))
    areas = np.array([_area(rank, cells.added, weights[cells.table]) for weights in draws])
    return interval(value, areas, units=draws.shape[1])


def _area(rank: Int64Array, added: Bools, weights: Floats) -> float:
    above = np.bincount(rank, weights=weights * added)
    below = np.bincount(rank, weights=weights * ~added)
    pairs = above.sum() * below.sum()
    won = (above * (np.cumsum(below) - below / 2)).sum()
    return float(won / pairs) if pairs else np.nan


def _at_random(guess: EliminationGuess, cells: AttackedCells, draws: Floats) -> Rates:
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
    return found | _rates(totals, draws)


# --- probabilities ----------------------------------------------------------------------------


def _calibration(cells: AttackedCells, draws: Floats) -> Rates:
    """Return how well probabilities are calibrated, and how right the sure ones are."""
    chances = cells.probabilities
    if chances is None or not len(chances):
        return dict.fromkeys(("ece", "sure", "sure_precision"))
    place = cells.table * BINS + np.minimum((chances * BINS).astype(np.int64), BINS - 1)
    excess = np.bincount(place, weights=chances - cells.added, minlength=cells.tables * BINS)
    excess = excess.reshape(cells.tables, BINS)
    sizes = np.bincount(cells.table, minlength=cells.tables)
    sure = _counts(cells, chances >= SURE)
    return {
        "ece": interval(
            float(np.abs(excess.sum(axis=0)).sum() / len(chances)),
            np.abs(draws @ excess).sum(axis=1) / np.maximum(draws @ sizes, 1),
            units=cells.tables,
        ),
        "sure": _rate(lambda c: (c.eliminated, c.cells), sure, draws),
        "sure_precision": _rate(_precision, sure, draws),
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
    >>> from setveil.data import TransactionTable
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
        [written(table.members) for table in guess.tables], _counts(cells, cells.eliminated)
    )


def score_records(
    guess: EliminationGuess, *, release: Release, original: TransactionTable, key: Key
) -> list[PartScore]:
    """Return the score of each attacked record, in the order of the release.

    >>> from setveil.attack import RA
    >>> from setveil.data import TransactionTable
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
