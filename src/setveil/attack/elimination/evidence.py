"""What speaks for each member of a generalized item, in each record that holds it.

A distance table says one thing about a cell: the mean distance to the record's context. Here one
relatedness, or each part of a combined one, is asked in several ways; the answers are *evidence*:
the higher, the likelier the record held the member.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from setveil.attack.elimination.distance_tables import Contexts, Gaps, targets
from setveil.attack.elimination.word_vectors import TermVectors
from setveil.core.errors import NotApplicable
from setveil.relatedness.base import Combined, Counts
from setveil.relatedness.cooccurrence import ngd, pmi

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from setveil.attack.elimination.distance_tables import Target
    from setveil.attack.elimination.word_vectors import Shown
    from setveil.core.arrays import FloatArray, Int64Array
    from setveil.relatedness.base import Relatedness
    from setveil.release.set_generalized import SetGeneralizedRelease


BEST = 3
"""How many items of a context the strongest evidence is averaged over."""
HALF = 0.5
"""Added to counts of which the logarithm is taken."""
PRIOR = 20.0
"""Weight, in documents, of a member's overall frequency against its frequency beside an item."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CellRows:
    """The cells of one generalized item: a row per record that can be attacked, and its context.

    Parameters
    ----------
    group, members
        The generalized item's number in its release, and its members: one column each.
    records
        Numbers of the records, one row each.
    contexts
        For each row the numbers (in :class:`~setveil.attack.elimination.distance_tables.Contexts`)
        of its known items in clear; at least one.
    """

    group: int
    members: tuple[str, ...]
    records: Int64Array
    contexts: tuple[Int64Array, ...]

    @classmethod
    def of(cls, target: Target, contexts: Contexts, familiar: npt.NDArray[np.bool_]) -> CellRows:
        """Return the rows of a generalized item: of those records that show a known item."""
        own = [contexts[record] for record in target.records.tolist()]
        known = [items[familiar[items]] for items in own]
        there = np.array([len(items) > 0 for items in known], dtype=bool)
        return cls(
            group=target.group,
            members=target.members,
            records=target.records[there],
            contexts=tuple(items for items in known if len(items)),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.records), len(self.members)


@dataclass(frozen=True, kw_only=True, eq=False)
class CellTables:
    """The cells of all generalized items of a release, and what was left out."""

    tables: tuple[CellRows, ...]
    contexts: Contexts
    gaps: Gaps


def cell_tables(
    release: SetGeneralizedRelease,
    relatedness: Relatedness,
    *,
    contexts: Contexts | None = None,
) -> CellTables:
    """Return the cells of a release that can be attacked with a source of relatedness.

    Parameters
    ----------
    release, relatedness
        What is attacked, and what is known.
    contexts
        Other contexts than those of the release, as for a control.

    Raises
    ------
    NotApplicable
        The source knows no member, so that it cannot tell one from another.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.relatedness import NGD, RecordCounts
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["flu", "rash"], ["gout"]])
    >>> release, _ = publish_sets(table, [0, 0, 1])
    >>> made = cell_tables(release, NGD(RecordCounts.from_rows([["flu", "rash"], ["flu"]])))
    >>> made.tables[0].members, made.tables[0].records.tolist(), made.gaps.sentences()
    (('flu', 'gout'), [0], ('1 of 2 rows have no context: left out', '1 member is unknown: gout'))
    """
    here = Contexts.of(release) if contexts is None else contexts
    attacked = targets(release)
    members = [name for target in attacked for name in target.members]
    familiar = np.asarray(relatedness.known(here.names), dtype=bool)
    known = np.asarray(relatedness.known(members), dtype=bool)
    if members and not known.any():
        raise NotApplicable(
            "the source of relatedness knows no member of any generalized item, and so cannot "
            "tell which of them a record held",
            fix="name a source that knows them: within the release all members are alike",
        )
    made = tuple(CellRows.of(target, here, familiar) for target in attacked)
    rows = np.concatenate([np.empty(0, np.int64), *(target.records for target in attacked)])
    bare = int(np.count_nonzero(np.diff(here.offsets)[rows] == 0))
    lost = len(rows) - bare - sum(len(table.records) for table in made)
    gaps = Gaps(
        rows=len(rows),
        without_context=bare,
        context_unknown=lost,
        unknown_context=tuple(here.names[i] for i in np.flatnonzero(~familiar).tolist()),
        unknown_members=tuple(sorted(members[i] for i in np.flatnonzero(~known).tolist())),
    )
    return CellTables(
        tables=tuple(table for table in made if len(table.records)), contexts=here, gaps=gaps
    )


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
    >>> from setveil.attack.elimination.word_vectors import Shown
    >>> from setveil import TransactionTable
    >>> from setveil.relatedness import NGD, RecordCounts
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["fever", "flu"], ["toe", "gout"]])
    >>> release, _ = publish_sets(table, [0, 1, 1, 2])
    >>> corpus = [["fever", "flu"], ["flu"], ["toe", "gout"], ["gout"], ["fever", "toe"]]
    >>> ngd = NGD(RecordCounts.from_rows(corpus))
    >>> cells = cell_tables(release, ngd)
    >>> found = Evidence.of(ngd, Shown.by(release)).about(cells.tables[0], cells.contexts)
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

    def about(self, table: CellRows, contexts: Contexts) -> dict[str, FloatArray]:
        """Return the evidence about each cell of a table, by the name of the question.

        Where a source does not know a member, or nothing of a context, the cell takes the mean of
        its row, or of the table; it then speaks neither for nor against.
        """
        found: dict[str, FloatArray] = {}
        terms = np.unique(np.concatenate(table.contexts))
        names = [contexts.names[i] for i in terms.tolist()]
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
            for question, cells in vectors.about(table, contexts).items():
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
