"""What speaks for a term of a term chunk belonging to a row: sources of relatedness, the release.

A source of relatedness is asked about pairs of terms; the mean over the terms of a row's anchor is
*evidence*. The release itself is a source too: terms that it shows in one sub-record, or in one
cluster, elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from setveil.attack.elimination.evidence import double_centred
from setveil.core.table import TransactionTable
from setveil.relatedness.base import Combined, Counts
from setveil.relatedness.cooccurrence import RecordCounts, ngd, pmi

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scipy.sparse import csr_array

    from setveil.core.arrays import BoolArray, FloatArray, Int64Array
    from setveil.io.embeddings import Vectors
    from setveil.relatedness.base import Relatedness
    from setveil.release import Cluster, DisassociatedRelease


@dataclass(frozen=True, kw_only=True, eq=False)
class Directions:
    """Unit vectors of a release's terms, after the mean over all of them was taken off."""

    number: Mapping[str, int]
    units: FloatArray
    known: BoolArray

    @classmethod
    def of(cls, vectors: Vectors, terms: Sequence[str]) -> Directions:
        """Look up the terms of a release.

        >>> from setveil.io.embeddings import Vectors
        >>> vectors = Vectors(words=("flu", "gout"), vectors=[[3, 1], [1, 1]])
        >>> Directions.of(vectors, ["flu", "gout", "x"]).cosines(["flu"], ["gout", "x"]).tolist()
        [[-1.0, nan]]
        """
        found, known = vectors.of(terms)
        rows = found.astype(np.float64)
        if known.any():
            rows[known] -= rows[known].mean(axis=0)
        lengths = np.linalg.norm(rows, axis=1)
        known &= lengths > 0
        units = np.where(known[:, None], rows / np.where(known, lengths, 1)[:, None], 0)
        return cls(number={term: i for i, term in enumerate(terms)}, units=units, known=known)

    def cosines(self, rows: Sequence[str], columns: Sequence[str]) -> FloatArray:
        """Return the cosine of each row term and column term; NaN where one is unknown."""
        down, across = (
            np.array([self.number[term] for term in terms], dtype=np.int64)
            for terms in (rows, columns)
        )
        both = self.known[down][:, None] & self.known[across][None, :]
        return np.where(both, self.units[down] @ self.units[across].T, np.nan)


@dataclass(frozen=True, kw_only=True, eq=False)
class TermEvidence:
    """The sources that are asked about pairs of terms, made ready for one release.

    Parameters
    ----------
    distances, counts, directions
        Sources that give distances and nothing else, counts of documents, and word vectors.
    records, clusters
        In how many sub-records, and in how many clusters, the release shows terms. A cluster is
        never asked about itself: what it shows of its own terms was decided by cutting it.

    Examples
    --------
    >>> from setveil.relatedness import NGD
    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["flu", "fever"], ["gout"], ["gout", "toe"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1, 2], domains=((0, 1), (2,)), terms=(3,))])
    >>> corpus = NGD(RecordCounts.from_rows([["gout", "toe"], ["toe"], ["flu"], ["fever"]]))
    >>> evidence = TermEvidence.of(corpus, release)
    >>> evidence.names
    ('0.near', '0.pmi', 'records.pmi', 'clusters.pmi')
    >>> evidence.pairs(release.cluster(0), ["gout"], ["toe", "flu"]).round(2).tolist()
    [[[-0.5, -1.0]], [[0.41, -0.41]], [[nan, nan]], [[nan, nan]]]
    """

    distances: Mapping[str, Relatedness]
    counts: Mapping[str, Counts]
    directions: Mapping[str, Directions]
    records: RecordCounts
    clusters: RecordCounts

    @classmethod
    def of(cls, relatedness: Relatedness, release: DisassociatedRelease) -> TermEvidence:
        """Take a relatedness apart, and count in a release."""
        parts = (
            [part for _, part in relatedness.parts]
            if isinstance(relatedness, Combined)
            else [relatedness]
        )
        distances: dict[str, Relatedness] = {}
        counts: dict[str, Counts] = {}
        directions: dict[str, Directions] = {}
        for number, part in enumerate(parts):
            vectors, held = getattr(part, "vectors", None), getattr(part, "counts", None)
            if vectors is not None:
                directions[str(number)] = Directions.of(vectors, release.vocabulary.names)
            elif isinstance(held, Counts):
                counts[str(number)] = held
            else:
                distances[str(number)] = part
        return cls(
            distances=distances,
            counts=counts,
            directions=directions,
            records=RecordCounts.of(release),
            clusters=RecordCounts.of(clusters_as_rows(release)),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the kinds of evidence, in the order of :meth:`pairs`."""
        return (
            *(f"{name}.near" for name in self.distances),
            *(f"{name}.{each}" for name in self.counts for each in ("near", "pmi")),
            *(f"{name}.cosine" for name in self.directions),
            "records.pmi",
            "clusters.pmi",
        )

    def pairs(self, cluster: Cluster, rows: Sequence[str], columns: Sequence[str]) -> FloatArray:
        """Return each kind of evidence for each pair of a row term and a column term.

        All are terms of the cluster. NaN where a source does not know one of them.
        """
        found = [-source.distances(rows, columns) for source in self.distances.values()]
        for counts in self.counts.values():
            down, across = counts.counts(rows), counts.counts(columns)
            both = counts.pair_counts(rows, columns)
            found += [
                -ngd(down[:, None], across, both, counts.total),
                pmi(down[:, None], across, both, counts.total),
            ]
        found += [each.cosines(rows, columns) for each in self.directions.values()]
        inside = _shown(cluster, rows), _shown(cluster, columns)
        found.append(
            pmi(
                (self.records.counts(rows) - inside[0].sum(axis=1))[:, None],
                self.records.counts(columns) - inside[1].sum(axis=1),
                self.records.pair_counts(rows, columns) - (inside[0] @ inside[1].T).toarray(),
                self.records.total - inside[0].shape[1],
            )
        )
        found.append(
            pmi(
                (self.clusters.counts(rows) - 1)[:, None],
                self.clusters.counts(columns) - 1,
                self.clusters.pair_counts(rows, columns) - 1,
                self.clusters.total - 1,
            )
        )
        return np.stack(found)


def clusters_as_rows(release: DisassociatedRelease) -> TransactionTable:
    """Return a table with a row for each cluster: the terms that it shows, shared ones apart.

    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["flu", "fever"], ["flu"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1], domains=((1,),), terms=(0,))])
    >>> clusters_as_rows(release).to_rows()
    [['fever', 'flu']]
    """
    chunk, item, _ = release.chunk_items
    own = chunk < release.n_record_chunks
    cluster_of_term = np.repeat(np.arange(len(release.sizes)), np.diff(release.term_offsets))
    clusters = np.concatenate([release.chunk_first[chunk[own]], cluster_of_term])
    items = np.concatenate([item[own], release.terms])
    order = np.lexsort((items, clusters))
    offsets = np.searchsorted(clusters[order], np.arange(len(release.sizes) + 1))
    return TransactionTable.from_csr(offsets, items[order], list(release.vocabulary.names))


def _shown(cluster: Cluster, terms: Sequence[str]) -> csr_array:
    """Return which rows that a cluster shows hold each term: its sub-records, each term alone."""
    from scipy.sparse import csr_array

    shown = [row for chunk in cluster.chunks for row in chunk.subrecords]
    shown += [(term,) for term in cluster.terms]
    place = {term: number for number, term in enumerate(terms)}
    cells = [(place[term], row) for row, held in enumerate(shown) for term in held if term in place]
    there = np.array(cells, dtype=np.int64).reshape(-1, 2)
    ones = np.ones(len(there), dtype=np.int64)
    return csr_array((ones, (there[:, 0], there[:, 1])), shape=(len(terms), len(shown)))


def over_anchors(pairs: FloatArray, holds: BoolArray, *, hidden: bool = False) -> FloatArray:
    """Return for each row and term the mean evidence over the terms of the row's anchor.

    Parameters
    ----------
    pairs
        Kinds of evidence by terms of anchors by terms.
    holds
        Rows by terms of anchors: which row's anchor holds which.
    hidden
        Whether the terms are those of anchors themselves, each hidden while it is asked about.

    Returns
    -------
    array
        Kinds of evidence by rows by terms; NaN where nothing is known.

    Examples
    --------
    >>> pairs = np.array([[[1.0, 2.0], [3.0, np.nan]]])
    >>> over_anchors(pairs, np.array([[True, True], [True, False]])).tolist()
    [[[2.0, 2.0], [1.0, 2.0]]]
    >>> over_anchors(pairs, np.array([[True, True], [True, False]]), hidden=True).tolist()
    [[[3.0, 2.0], [nan, 2.0]]]
    """
    there = np.isfinite(pairs)
    if hidden:
        there &= ~np.eye(pairs.shape[1], dtype=bool)
    sums = holds.astype(np.float64) @ np.where(there, pairs, 0.0)
    known = holds.astype(np.float64) @ there.astype(np.float64)
    return np.where(known > 0, sums / np.maximum(known, 1), np.nan)


def centred(cells: FloatArray, weights: FloatArray) -> FloatArray:
    """Return evidence minus each term's mean over rows, and then each row's mean over terms.

    What is left is neither about a term nor about a row, but about the two together. Where
    nothing is known it is 0.

    Parameters
    ----------
    cells
        Kinds of evidence by rows by terms; NaN where nothing is known.
    weights
        How many rows each row stands for.

    Examples
    --------
    >>> centred(np.array([[[1.0, 2.0], [3.0, np.nan]]]), np.array([1.0, 1.0])).tolist()
    [[[-0.5, 0.5], [0.0, 0.0]]]
    """
    without = cells - _means(cells, weights[:, None], axis=1)
    without = without - _means(without, np.ones(1), axis=2)
    return np.where(np.isfinite(without), without, 0.0)


def _means(cells: FloatArray, weights: FloatArray, *, axis: int) -> FloatArray:
    there = np.isfinite(cells) * weights
    sums = (np.where(np.isfinite(cells), cells, 0.0) * weights).sum(axis=axis, keepdims=True)
    total = there.sum(axis=axis, keepdims=True)
    return np.asarray(np.where(total > 0, sums / np.where(total > 0, total, 1), 0.0))


# --- which terms came from one record -------------------------------------------------------------


STEPS = 30
SWEEPS = 10
"""Times that rows and terms are balanced in turn, at each step."""
JITTER = 0.5
"""Deviation of what is begun with: without it, equal rows would stay equal."""
LEAST = 1e-300
LEVEL = 1e-9
"""Deviation below which a table says nothing."""


def likeness(pairs: FloatArray) -> FloatArray:
    """Return how like terms are, as one table with deviation of about 1.

    Each kind of evidence is double-centred and scaled, and all are averaged: what is worth
    nothing between a term and an anchor of frequent terms may be worth much between rare ones.

    Parameters
    ----------
    pairs
        Kinds of evidence by terms by terms; NaN where nothing is known.

    Examples
    --------
    >>> near = np.array([[[0.0, 9.0, 1.0], [9.0, 0.0, 1.0], [1.0, 1.0, np.nan]]])
    >>> likeness(near).round(2).tolist()
    [[0.0, 1.73, -0.87], [1.73, 0.0, -0.87], [-0.87, -0.87, 0.0]]
    """
    kinds, size, _ = pairs.shape
    total = np.zeros((size, size))
    apart = ~np.eye(size, dtype=bool)
    for table in pairs:
        there = np.isfinite(table) & apart
        if not there.any():
            continue
        filled = double_centred(np.where(there, table, table[there].mean()))
        filled[~apart] = 0.0
        deviation = filled.std()
        if deviation > LEVEL:
            total += filled / deviation / kinds
    return total


def clustered(
    fit: FloatArray,
    alike: FloatArray,
    strength: float,
    rng: np.random.Generator,
    *,
    starts: int = 1,
) -> FloatArray:
    """Return for each term the chances of the rows.

    Parameters
    ----------
    fit
        Terms by rows: how well a term fits a row's anchor, as log-odds.
    alike
        Terms by terms: how like they are.
    strength
        How much likeness counts.
    rng
        Draws what is begun with.
    starts
        How often it is begun anew; the best outcome is returned.

    Examples
    --------
    Two kinds of terms, two equal rows: each kind gets a row.

    >>> alike = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.ones((2, 2)))
    >>> found = clustered(np.zeros((4, 2)), alike, 8.0, np.random.default_rng(1))
    >>> rows = found.argmax(axis=1).tolist()
    >>> rows[0] == rows[1] != rows[2] == rows[3]
    True
    """
    runs = [_run(fit, alike, strength, rng) for _ in range(starts)]
    return max(runs, key=lambda run: run[0])[1]


def _run(
    fit: FloatArray, alike: FloatArray, strength: float, rng: np.random.Generator
) -> tuple[float, FloatArray]:
    """Return how good a solution is (its negative free energy), and the solution."""
    terms, rows = fit.shape
    pull = strength * rows / terms
    chances = balanced(fit + JITTER * rng.standard_normal(fit.shape))
    for _ in range(STEPS):
        drawn = fit + pull * (alike @ (chances - 1 / rows))
        # Half a step: whole ones may go back and forth between two solutions.
        chances = (chances + balanced(drawn)) / 2
    apart = chances - 1 / rows
    gain = (chances * fit).sum() + pull / 2 * (apart * (alike @ apart)).sum()
    return float(gain - (chances * np.log(np.maximum(chances, LEAST))).sum()), chances


def balanced(logits: FloatArray) -> FloatArray:
    """Return chances that sum to 1 for each term, and to about the same for each row (Sinkhorn).

    >>> balanced(np.log([[1.0, 3.0], [1.0, 3.0]])).round(3).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    terms, rows = logits.shape
    chances: FloatArray = np.exp(logits - logits.max(axis=1, keepdims=True))
    for _ in range(SWEEPS):
        chances *= terms / rows / np.maximum(chances.sum(axis=0, keepdims=True), LEAST)
        chances /= np.maximum(chances.sum(axis=1, keepdims=True), LEAST)
    return chances


def shared_out(chances: FloatArray) -> Int64Array:
    """Return a row for each term, by the greatest chances, with no row above its equal share.

    >>> shared_out(np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]])).tolist()
    [0, 0, 1]
    """
    terms, rows = chances.shape
    left = [-(-terms // rows)] * rows
    found = [-1] * terms
    for cell in np.argsort(-chances, axis=None, kind="stable").tolist():
        term, row = divmod(cell, rows)
        if found[term] < 0 and left[row]:
            found[term] = row
            left[row] -= 1
    return np.array(found, dtype=np.int64)
