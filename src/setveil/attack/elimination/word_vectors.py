"""Evidence from word vectors: how a record's context, as one direction, points at a member."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.table import take_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from setveil.attack.elimination.distance_tables import Contexts
    from setveil.attack.elimination.evidence import CellRows
    from setveil.core.arrays import BoolArray, FloatArray, Int64Array
    from setveil.io.embeddings import Vectors
    from setveil.release.set_generalized import SetGeneralizedRelease


BEST = 3
"""How many items of a context the strongest evidence is averaged over."""
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
    def by(cls, release: SetGeneralizedRelease) -> Shown:
        """Count what a release shows."""
        groups = release.groups
        held = np.bincount(release.records[1], minlength=len(groups))
        return cls(groups=groups, held=held, records=len(release))


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

    def about(self, table: CellRows, contexts: Contexts) -> dict[str, FloatArray]:
        """Return the evidence about each cell of a table; NaN where there is none."""
        members = self._numbers(table.members)
        towards = self.directions[members]
        shape = (len(table.records), len(members))
        cells = {name: np.full(shape, np.nan) for name in ("cosine", "cosine_best", "cosine_mean")}
        if self.form is not None:
            cells["form"] = np.full(shape, np.nan)
        for row, own in enumerate(table.contexts):
            used = self._numbers([contexts.names[i] for i in own.tolist()])
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
