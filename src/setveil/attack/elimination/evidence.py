"""What speaks for each member of a generalized item, in each record that holds it.

A distance table says one thing about a cell: the mean distance to the record's context. Here one
relatedness, or each part of a combined one, is asked in several ways; the answers are *evidence*:
the higher, the likelier the record held the member.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.table import take_rows
from setveil.relatedness.base import Combined, Counts
from setveil.relatedness.cooccurrence import ngd, pmi

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from setveil.attack.elimination.distance_tables import CellRows, Contexts
    from setveil.core.arrays import BoolArray, FloatArray, Int64Array
    from setveil.io.embeddings import Vectors
    from setveil.relatedness.base import Relatedness
    from setveil.release.base import Release

BEST = 3
"""How many items of a context the strongest evidence is averaged over."""
HALF = 0.5
"""Added to counts of which the logarithm is taken."""
PRIOR = 20.0
"""Weight, in documents, of a member's overall frequency against its frequency beside an item."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """The ways in which a relatedness is asked, made ready for one release.

    Parameters
    ----------
    distances
        Sources that give distances and nothing else: by name.
    counts
        Sources of counts of documents: by name.
    vectors
        Sources of word vectors, made ready for the terms of the release: by name.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.relatedness import NGD, RecordCounts
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["fever", "flu"], ["toe", "gout"]])
    >>> release, _ = publish_sets(table, [0, 1, 1, 2])
    >>> corpus = [["fever", "flu"], ["flu"], ["toe", "gout"], ["gout"], ["fever", "toe"]]
    >>> ngd = NGD(RecordCounts.from_rows(corpus))
    >>> from setveil.attack.elimination.distance_tables import cell_tables
    >>> cells = cell_tables(release, ngd)
    >>> found = Evidence.of(ngd, Shown.by(release)).about(cells.tables[0], cells.contexts.names)
    >>> sorted(found)
    ['0.bayes', '0.near', '0.pmi', '0.pmi_best']
    >>> found["0.pmi"].round(2).tolist()
    [[0.14, -0.96], [-0.96, 0.14]]
    """

    distances: Mapping[str, Relatedness]
    counts: Mapping[str, Counts]
    vectors: Mapping[str, TermVectors]

    @classmethod
    def of(cls, relatedness: Relatedness, release: Shown) -> Evidence:
        """Take a relatedness apart, and look up the vectors of the terms of a release."""
        parts = (
            [part for _, part in relatedness.parts]
            if isinstance(relatedness, Combined)
            else [relatedness]
        )
        distances: dict[str, Relatedness] = {}
        counts: dict[str, Counts] = {}
        vectors: dict[str, TermVectors] = {}
        for number, part in enumerate(parts):
            name = str(number)
            given = getattr(part, "vectors", None)
            if given is not None:
                vectors[name] = TermVectors.of(given, release)
                continue
            held = getattr(part, "counts", None)
            if isinstance(held, Counts):
                counts[name] = held
            else:
                distances[name] = part
        return cls(distances=distances, counts=counts, vectors=vectors)

    def about(self, table: CellRows, shown: Sequence[str]) -> dict[str, FloatArray]:
        """Return the evidence about each cell of a table, by the name of the question.

        `shown` are the items in clear, by the numbers of contexts.

        Where a source does not know a member, or nothing of a context, the cell takes the mean of
        its row, or of the table; it then speaks neither for nor against.
        """
        found: dict[str, FloatArray] = {}
        terms = np.unique(np.concatenate(table.contexts))
        names = [shown[i] for i in terms.tolist()]
        places = [np.searchsorted(terms, row) for row in table.contexts]
        for name, source in self.distances.items():
            pairs = -source.distances(names, table.members)
            found[f"{name}.near"] = mean_over(places, pairs)
            found[f"{name}.near_best"] = best_over(places, pairs)
        for name, counts in self.counts.items():
            near, information, share = counted(counts, names, table.members)
            found[f"{name}.near"] = mean_over(places, near)
            found[f"{name}.pmi"] = mean_over(places, information)
            found[f"{name}.pmi_best"] = best_over(places, information)
            found[f"{name}.bayes"] = mean_over(places, share)
        for name, vectors in self.vectors.items():
            for question, cells in vectors.about(table, shown).items():
                found[f"{name}.{question}"] = cells
        return {question: filled(cells) for question, cells in found.items()}

    def columns(self, members: Sequence[str]) -> dict[str, FloatArray]:
        """Return what sources know of members by themselves.

        That is the logarithm of how many documents hold each, and whether it has a vector.
        """
        said = {
            f"{name}.frequency": np.log(counts.counts(members) + HALF)
            for name, counts in self.counts.items()
        }
        return said | {
            f"{name}.known": vectors.knows(members).astype(np.float64)
            for name, vectors in self.vectors.items()
        }


def counted(
    counts: Counts, context: Sequence[str], members: Sequence[str]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return three kinds of evidence for each pair, from how often it stands together.

    The negative normalized distance; the mutual information log((f(c,j) + ½) / (f(c)·f(j)/N +
    ½)); and how an item c raises the share of a member j, log((f(c,j)·N/f(c) + 20) / (f(j) +
    20)), as a naive Bayes classifier adds them up. NaN where a term is unknown.

    >>> from setveil.relatedness import RecordCounts
    >>> held = RecordCounts.from_rows([["flu", "fever"], ["flu"], ["gout"]])
    >>> [each.round(3).tolist() for each in counted(held, ["fever"], ["flu", "gout", "x"])]
    [[[-0.631, -1.0, nan]], [[0.251, -0.511, nan]], [[0.044, -0.049, nan]]]
    """
    down = counts.counts(context).astype(np.float64)[:, None]
    across = counts.counts(members).astype(np.float64)[None, :]
    both = np.minimum(counts.pair_counts(context, members), np.minimum(down, across))
    total = max(counts.total, 1)
    share = np.log((both * total / np.maximum(down, 1) + PRIOR) / (across + PRIOR))
    return (
        -ngd(down, across, both, total),
        pmi(down, across, both, total),
        np.where(np.minimum(down, across) > 0, share, np.nan),
    )


def mean_over(places: Sequence[Int64Array], pairs: FloatArray) -> FloatArray:
    """Return for each row the mean over its context of each member's evidence; NaN for none.

    >>> mean_over([np.array([0, 1]), np.array([1])], np.array([[1.0, np.nan], [3.0, 4.0]])).tolist()
    [[2.0, 4.0], [3.0, 4.0]]
    """
    return _over(places, pairs, _mean)


def best_over(places: Sequence[Int64Array], pairs: FloatArray) -> FloatArray:
    """Return for each row the mean of the three strongest of its context; NaN for none.

    >>> best_over([np.arange(4)], np.array([[1.0], [2.0], [3.0], [4.0]])).tolist()
    [[3.0]]
    """
    return _over(places, pairs, _best)


def _over(
    places: Sequence[Int64Array], pairs: FloatArray, merged: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    cells = np.full((len(places), pairs.shape[1]), np.nan)
    for row, own in enumerate(places):
        if len(own):
            cells[row] = merged(pairs[own])
    return cells


def _mean(pairs: FloatArray) -> FloatArray:
    there = np.isfinite(pairs)
    counts = there.sum(axis=0)
    sums = np.where(there, pairs, 0.0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _best(pairs: FloatArray) -> FloatArray:
    # Sorted, NaN come last: turned round, the greatest come first.
    return _mean(-np.sort(-pairs, axis=0)[:BEST])


def filled(cells: FloatArray) -> FloatArray:
    """Return cells without gaps: each takes its row's mean, or the table's, or 0.

    >>> filled(np.array([[1.0, np.nan], [np.nan, np.nan]])).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    there = np.isfinite(cells)
    whole = cells[there].mean() if there.any() else 0.0
    counts = there.sum(axis=1)
    rows = np.where(there, cells, 0.0).sum(axis=1) / np.maximum(counts, 1)
    rows = np.where(counts > 0, rows, whole)
    return np.where(there, cells, rows[:, None])


def double_centred(cells: FloatArray) -> FloatArray:
    """Return cells minus their row's and column's mean, plus the table's.

    What is left is neither about a record nor about a member, but about the two together.

    >>> double_centred(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    down, across = cells.mean(axis=0, keepdims=True), cells.mean(axis=1, keepdims=True)
    return np.asarray(cells - down - across + cells.mean())


# --- word vectors ---------------------------------------------------------------------------------


BATCH = 256
"""Records whose sums are taken at once: enough to be fast, few enough to fit a cache."""
ENOUGH = 1000
"""Records that a form is learned from, at most: far more than it has directions."""
RIDGE = 0.1
"""How strongly the learned form is held back, as a share of the mean variance of a direction."""


class Shown(NamedTuple):
    """What a release shows of its items, all records together.

    Parameters
    ----------
    groups
        The members of each generalized item.
    held
        How many records hold each.
    records
        How many records there are.
    """

    groups: Sequence[tuple[str, ...]]
    held: Int64Array
    records: int

    @classmethod
    def by(cls, release: Release) -> Shown:
        """Count what a release shows."""
        held = release.label_counts().occurrences
        return cls(groups=release.as_sets().groups, held=held, records=len(release))


@dataclass(frozen=True, kw_only=True, eq=False)
class TermVectors:
    """The directions of a release's terms, and what the release taught about them.

    Parameters
    ----------
    number
        For each term its row.
    directions
        Unit vectors, after the mean over all terms was taken off; 0 where a term is unknown.
    weights
        How much a term counts in a context: the logarithm of one in how many records show it.
    form
        A matrix B by which a context c speaks for a member e with c·B·e; None before it is
        learned (see :meth:`taught`).

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.io.embeddings import Vectors
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["fever", "flu"], ["toe", "gout"]])
    >>> release, _ = publish_sets(table, [0, 1, 1, 2])
    >>> vectors = Vectors(words=("fever", "flu", "toe", "gout"),
    ...                   vectors=[[2, 1], [3, 1], [-2, 1], [-3, 1]])
    >>> terms = TermVectors.of(vectors, Shown.by(release))
    >>> terms.directions[terms.number["flu"]].tolist()
    [1.0, 0.0]
    """

    number: Mapping[str, int]
    directions: FloatArray
    known: BoolArray
    weights: FloatArray
    form: FloatArray | None = None

    @classmethod
    def of(cls, vectors: Vectors, release: Shown) -> TermVectors:
        """Look up the terms that a release shows, in clear or as members."""
        terms = sorted(member for group in release.groups for member in group)
        number = {term: i for i, term in enumerate(terms)}
        found, known = vectors.of(terms)
        rows = found.astype(np.float64)
        if known.any():
            rows[known] -= rows[known].mean(axis=0)
        lengths = np.linalg.norm(rows, axis=1)
        known &= lengths > 0
        shown = np.zeros(len(terms))
        for group, members in enumerate(release.groups):
            if len(members) == 1:
                shown[number[members[0]]] = release.held[group]
        weights = np.log((release.records + 1) / (shown + 0.5))
        return cls(
            number=number,
            directions=np.where(known[:, None], rows / np.where(known, lengths, 1)[:, None], 0),
            known=known,
            weights=weights,
        )

    def about(self, table: CellRows, shown: Sequence[str]) -> dict[str, FloatArray]:
        """Return the evidence about each cell of a table; NaN where there is none."""
        members = self._numbers(table.members)
        towards = self.directions[members]
        shape = (len(table.records), len(members))
        cells = {name: np.full(shape, np.nan) for name in ("cosine", "cosine_best", "cosine_mean")}
        if self.form is not None:
            cells["form"] = np.full(shape, np.nan)
        for row, own in enumerate(table.contexts):
            used = self._numbers([shown[i] for i in own.tolist()])
            used = used[self.known[used]]
            if not len(used):
                continue
            centre = self._centre(used)
            each = self.directions[used] @ towards.T
            cells["cosine"][row] = centre @ towards.T
            cells["cosine_best"][row] = -np.sort(-each, axis=0)[:BEST].mean(axis=0)
            cells["cosine_mean"][row] = each.mean(axis=0)
            if self.form is not None:
                cells["form"][row] = centre @ self.form @ towards.T
        return {name: np.where(self.known[members], each, np.nan) for name, each in cells.items()}

    def knows(self, terms: Sequence[str]) -> BoolArray:
        """Tell for each term of the release whether it has a vector."""
        return np.asarray(self.known[self._numbers(terms)])

    def taught(self, contexts: Contexts) -> TermVectors:
        """Return the same with a form that was learned from which items stand together in clear.

        B minimises the squared difference of c·B·e to whether item e stands in a record whose
        other items have the centre c, over all records and items in clear, with a ridge. Having
        the sums over all pairs as a product of two sums, it takes two small inversions. Of many
        records some are enough, evenly spaced.
        """
        if len(contexts) > ENOUGH:
            chosen = np.linspace(0, len(contexts) - 1, ENOUGH).astype(np.int64)
            offsets, items = take_rows(contexts.offsets, contexts.items, chosen)
            contexts = replace(contexts, offsets=offsets, items=items)
        numbers = self._numbers(contexts.names)
        size = self.directions.shape[1]
        centres = np.zeros((len(contexts), size))
        together = np.zeros((size, size))
        for first in range(0, len(contexts), BATCH):
            last = min(first + BATCH, len(contexts))
            used = numbers[contexts.items[contexts.offsets[first] : contexts.offsets[last]]]
            lengths = np.diff(contexts.offsets[first : last + 1])
            record = np.repeat(np.arange(last - first), lengths)
            record, used = record[self.known[used]], used[self.known[used]]
            several = np.bincount(record, minlength=last - first) > 1
            record, used = record[several[record]], used[several[record]]
            if not len(used):
                continue
            towards = self.directions[used]
            weighted = self.weights[used, None] * towards
            sums = np.zeros((last - first, size))
            sums[several] = np.add.reduceat(weighted, _starts(record))
            centres[first:last] = _units(sums)
            # Without the item itself: else every item would point at its own context.
            together += _units(sums[record] - weighted).T @ towards
        shown = self.directions[numbers[self.known[numbers]]]
        chance = len(contexts.items) / max(1, len(contexts) * len(numbers))
        together -= chance * np.outer(centres.sum(axis=0), shown.sum(axis=0))
        form = _ridge(centres) @ together @ _ridge(shown)
        scale = np.abs(form).max(initial=0.0)
        return replace(self, form=form / scale if scale > 0 else form)

    def _centre(self, used: Int64Array) -> FloatArray:
        return _unit(self.weights[used] @ self.directions[used])

    def _numbers(self, terms: Sequence[str]) -> Int64Array:
        return np.array([self.number[term] for term in terms], dtype=np.int64)


def _unit(vector: FloatArray) -> FloatArray:
    return np.asarray(_units(vector[None])[0])


def _units(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1))


def _starts(ascending: Int64Array) -> Int64Array:
    """Return where each new number begins."""
    return np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))


def _ridge(rows: FloatArray) -> FloatArray:
    """Return the inverse of the rows' matrix of products, with a ridge."""
    products = rows.T @ rows / max(1, len(rows))
    size = len(products)
    ridge = RIDGE * np.trace(products) / max(1, size)
    inverse: FloatArray = np.linalg.pinv(products + ridge * np.eye(size), hermitian=True)
    return inverse
