"""How well a piece fits each row of its pool: the relatedness of its terms to the row's anchor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from setveil.attack.reassociation.pieces import copies_of
from setveil.core.arrays import FloatArray, offsets_of
from setveil.core.errors import NotApplicable
from setveil.relatedness.base import Coverage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from setveil.attack.reassociation.pieces import Placed, Pool
    from setveil.relatedness.base import Relatedness

    Merge = Callable[["FloatArray"], "FloatArray"]


EMPTY = -np.inf
"""Score of a row without an anchor: there is nothing to be related to, so it comes last."""
DIGITS = 12
"""Significant digits of a score: what differs less differs by the order of sums only."""
CELLS = 10_000_000
"""Distances that are kept for the clusters of a pool, at most."""
POWERS = np.array([float(f"1e{exponent}") for exponent in range(301)])


def rounded(scores: FloatArray) -> FloatArray:
    """Return scores with 12 significant digits, so that sums of equal ones are equal.

    >>> rounded(np.array([0.1, (0.1 + 0.1 + 0.1) / 3, -np.inf, 0.0])).tolist()
    [0.1, 0.1, -inf, 0.0]
    """
    there = np.isfinite(scores) & (scores != 0)
    known = np.where(there, scores, 1.0)
    places = DIGITS - 1 - np.floor(np.log10(np.abs(known))).astype(np.int64)
    scale = POWERS[np.clip(places, 0, len(POWERS) - 1)]
    return np.where(there, np.round(known * scale) / scale, scores)


def average(related: FloatArray) -> FloatArray:
    """Return for each column the mean of what is known; NaN for nothing.

    >>> average(np.array([[0.41], [0.5], [0.53], [np.nan]])).round(3).tolist()
    [0.48]
    """
    there = np.isfinite(related)
    known = there.sum(axis=0)
    sums = np.where(there, related, 0.0).sum(axis=0)
    return np.where(known > 0, sums / np.maximum(known, 1), np.nan)


def related_group(related: FloatArray) -> FloatArray:
    """Return for each column the mean of those at least as great as its median; NaN for nothing.

    >>> related_group(np.array([[0.41], [0.5], [0.53], [np.nan]])).round(3).tolist()
    [0.515]
    """
    nothing = ~np.isfinite(related).any(axis=0)
    median = np.nanmedian(np.where(nothing, 0.0, related), axis=0)
    return average(np.where(related >= median, related, np.nan))


def most_related(related: FloatArray) -> FloatArray:
    """Return for each column the greatest; NaN for nothing.

    >>> most_related(np.array([[0.41], [0.5], [0.53], [np.nan]])).tolist()
    [0.53]
    """
    greatest = np.where(np.isfinite(related), related, -np.inf).max(axis=0)
    return np.where(np.isfinite(greatest), greatest, np.nan)


@dataclass(frozen=True, kw_only=True, eq=False)
class PieceScores:
    """How well pieces fit rows, for the pools of a release.

    Parameters
    ----------
    tables
        For each pool and each of its pieces a score for each row of the piece's range, the
        higher the better.
    notes
        What the source of relatedness did not know.
    """

    tables: tuple[tuple[FloatArray, ...], ...]
    notes: tuple[str, ...]


def piece_scores(
    found: Sequence[Pool], relatedness: Relatedness, merges: Mapping[str, Merge]
) -> PieceScores:
    """Return how related each piece is to each row that it may belong to.

    Of a piece of several terms the mean is taken first. An unknown term is left out; an anchor
    without a known term is as related as the others are on average, and a piece without one is
    equally related to all.

    Parameters
    ----------
    found
        The pools of a release.
    relatedness
        How far apart terms are.
    merges
        For each kind of piece how the numbers for the terms of an anchor become one.

    Raises
    ------
    NotApplicable
        The source of relatedness cannot tell any row from another.

    Examples
    --------
    >>> from setveil.attack.reassociation.pieces import Piece, Pool
    >>> from setveil.relatedness import NGD, RecordCounts
    >>> pool = Pool(numbers=(0,), starts=np.array([0, 3]), anchors=(("flu",), ("gout", "x"), ()),
    ...             values=np.array([0, 1, 2]), pieces=(
    ...     Piece(kind="term", terms=("fever",), copies=1, chunk=0, low=0, high=3),))
    >>> ngd = NGD(RecordCounts.from_rows([["flu", "fever"], ["flu", "fever"], ["gout"]]))
    >>> made = piece_scores([pool], ngd, {"term": average})
    >>> made.tables[0][0].tolist(), made.notes
    ([0.0, -1.0, -inf], ('1 of 4 terms are unknown: x',))
    """
    notes = check_known(found, relatedness)
    tables = tuple(_scores(pool, relatedness, merges) for pool in found)
    if not _tells(found, tables):
        raise NotApplicable(
            "every piece is equally related to all rows that it may belong to, by this source of "
            "relatedness",
            fix="name a source that knows more of the terms of the release",
        )
    return PieceScores(tables=tables, notes=notes)


def check_known(found: Sequence[Pool], relatedness: Relatedness) -> tuple[str, ...]:
    """Refuse a source that knows no anchor or no piece; return what it does not know in words.

    >>> from setveil.attack.reassociation.pieces import Piece, Pool
    >>> from setveil.relatedness import NGD, RecordCounts
    >>> pool = Pool(numbers=(0,), starts=np.array([0, 1]), anchors=(("flu",),),
    ...             values=np.array([0]), pieces=(
    ...     Piece(kind="term", terms=("x",), copies=1, chunk=0, low=0, high=1),))
    >>> check_known([pool], NGD(RecordCounts.from_rows([["flu"]])))
    Traceback (most recent call last):
    setveil.core.errors.NotApplicable: the source of relatedness knows no term of any piece, ...
    """
    anchors = {term for pool in found for content in pool.anchors for term in content}
    terms = {term for pool in found for piece in pool.pieces for term in piece.terms}
    everything = sorted(anchors | terms)
    knows = np.asarray(relatedness.known(everything), dtype=bool)
    known = {term for term, there in zip(everything, knows.tolist(), strict=True) if there}
    for asked, what in ((anchors, "anchor"), (terms, "piece")):
        if asked and not asked & known:
            raise NotApplicable(
                f"the source of relatedness knows no term of any {what}, and so cannot tell which "
                "pieces belong together",
                fix="name a source that knows the terms of the release",
            )
    unknown = tuple(term for term in everything if term not in known)
    return tuple(Coverage(terms=len(everything), unknown=unknown).sentences())


def _scores(
    pool: Pool, relatedness: Relatedness, merges: Mapping[str, Merge]
) -> tuple[FloatArray, ...]:
    tables = [np.full(piece.high - piece.low, EMPTY) for piece in pool.pieces]
    lows, highs = (
        np.array([getattr(piece, end) for piece in pool.pieces], dtype=np.int64)
        for end in ("low", "high")
    )
    kind_of = np.array([piece.kind for piece in pool.pieces])
    distances = _distances_in(pool, relatedness)
    for low, high in pool.ranges():
        here = np.flatnonzero((lows <= low) & (high <= highs))
        rows = [row for row in range(low, high) if pool.anchors[row]]
        if not len(here) or not rows:
            continue
        own_terms = [pool.pieces[i].terms for i in here.tolist()]
        across = sorted({term for row in rows for term in pool.anchors[row]})
        terms = sorted({term for each in own_terms for term in each})
        near = -distances(across, terms)
        number = {term: i for i, term in enumerate(terms)}
        column = {term: i for i, term in enumerate(across)}
        # Rounded before medians are compared with them, and again as means.
        pieces = rounded(_over_terms(near, [[number[t] for t in each] for each in own_terms]))
        kinds = kind_of[here]
        masks = [(kind, kinds == kind) for kind in np.unique(kinds).tolist()]
        # Rows with equal anchors have equal scores: one column for each different anchor.
        _, first, alike = np.unique(pool.values[rows], return_index=True, return_inverse=True)
        scores = np.empty((len(here), len(first)))
        for place, row in enumerate(first.tolist()):
            own = pieces[[column[term] for term in pool.anchors[rows[row]]]]
            for kind, mask in masks:
                scores[mask, place] = merges[kind](own[:, mask])
        scores = rounded(scores)[:, alike.ravel()]
        for i, line in zip(here.tolist(), scores, strict=True):
            tables[i][np.array(rows) - pool.pieces[i].low] = line
    return tuple(_without_gaps(table) for table in tables)


def _distances_in(
    pool: Pool, relatedness: Relatedness
) -> Callable[[Sequence[str], Sequence[str]], FloatArray]:
    """Return what gives distances of anchors' terms and pieces' terms, asked for once if few.

    A source that counts reads its lists anew at every question: clusters that share chunks ask
    about the same terms.
    """
    across = sorted({term for content in pool.anchors for term in content})
    terms = sorted({term for piece in pool.pieces for term in piece.terms})
    if len(pool.numbers) == 1 or not 0 < len(across) * len(terms) <= CELLS:
        return relatedness.distances
    table = relatedness.distances(across, terms)
    row = {term: i for i, term in enumerate(across)}
    column = {term: i for i, term in enumerate(terms)}
    return lambda some, others: table[
        np.ix_([row[term] for term in some], [column[term] for term in others])
    ]


def _over_terms(near: FloatArray, places: Sequence[Sequence[int]]) -> FloatArray:
    """Return for each piece the mean over its known terms: a row for each term of the anchors."""
    from scipy.sparse import csr_array

    starts = offsets_of([len(own) for own in places])
    terms = np.array([term for own in places for term in own], dtype=np.int64)
    ones = np.ones(len(terms))
    holds = csr_array((ones, terms, starts), shape=(len(places), near.shape[1]))
    there = np.isfinite(near)
    known = (holds @ there.T.astype(np.float64)).T
    sums = (holds @ np.where(there, near, 0.0).T).T
    return np.where(known > 0, sums / np.maximum(known, 1), np.nan)


def _without_gaps(table: FloatArray) -> FloatArray:
    """Return scores in which a row that nothing is known of is like the others on average."""
    gaps = np.isnan(table)
    if not gaps.any():
        return table
    there = np.isfinite(table)
    return np.where(gaps, rounded(table[there].mean(keepdims=True)) if there.any() else 0.0, table)


def _tells(found: Sequence[Pool], tables: Sequence[Sequence[FloatArray]]) -> bool:
    """Tell whether a piece prefers one anchor to another, wherever there are several."""
    choice = False
    for pool, scores in zip(found, tables, strict=True):
        for piece, table in zip(pool.pieces, scores, strict=True):
            there = table > EMPTY
            values = pool.values[piece.low : piece.high][there]
            if len(np.unique(values)) < 2:
                continue
            choice = True
            if table[there].max() > table[there].min():
                return True
    return not choice


def place_best(
    pool: Pool, scores: Sequence[FloatArray], rng: np.random.Generator, *, term_copies: int = 1
) -> Placed:
    """Return for each piece the rows it fits best, one for each copy; equal ones at random.

    >>> from setveil.attack.reassociation.pieces import Piece, Pool
    >>> pool = Pool(numbers=(0,), starts=np.array([0, 3]), anchors=(("a",), ("b",), ("c",)),
    ...             values=np.array([0, 1, 2]), pieces=(
    ...     Piece(kind="record", terms=("x",), copies=2, chunk=0, low=0, high=3),))
    >>> [rows.tolist() for rows in
    ...  place_best(pool, [np.array([0.2, 0.1, 0.3])], np.random.default_rng(1))]
    [[2, 0]]
    """
    placed = []
    for piece, table in zip(pool.pieces, scores, strict=True):
        copies, luck = copies_of(piece, term_copies), rng.random(len(table))
        # Only the rows that are at least as good as the last one taken need an order.
        worst = -np.partition(-table, copies - 1)[copies - 1]
        best = np.flatnonzero(table >= worst)
        order = np.lexsort((luck[best], -table[best]))
        placed.append(piece.low + best[order[:copies]])
    return placed
