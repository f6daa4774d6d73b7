"""What attaching the pieces of a disassociated release at random gets right, on average."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from setveil.attack.reassociation.rebuilt_records import Rebuilt
    from setveil.core.arrays import FloatArray
    from setveil.release.disassociated import DisassociatedRelease


class Share(NamedTuple):
    """A count and what it is a share of, for each cluster: arrays of the same length."""

    part: FloatArray
    whole: FloatArray


class Attachments(NamedTuple):
    """Attachments counted for each true record that has any: arrays of the same length.

    Records with equal anchors cannot be told apart. Each has an equal share of what is right for
    all of them that hold a term.

    Parameters
    ----------
    cluster
        The place of its cluster in the guess.
    right
        How many of its attachments the attack has right.
    by_chance
        How many attaching at random gets right, on average over all its draws.
    true
        How many it has.
    """

    cluster: npt.NDArray[np.int64]
    right: FloatArray
    by_chance: FloatArray
    true: FloatArray

    def of_clusters(self, clusters: int) -> Share:
        """Return what chance gets right in each cluster, and of how many."""
        columns = (self.by_chance, self.true)
        part, whole = (np.bincount(self.cluster, each, minlength=clusters) for each in columns)
        return Share(part.astype(np.float64), whole.astype(np.float64))


class Spread(NamedTuple):
    """Where random attachment puts a term: into `copies` of `rows` rows."""

    rows: int
    copies: int


def count_attachments(
    rebuilt: Sequence[Rebuilt],
    at_random: Sequence[Rebuilt],
    release: DisassociatedRelease,
    parts: Sequence[str] = ("",),
) -> list[Attachments]:
    """Count what an attack has right beside the exact mean of what chance has right.

    A term goes to any of its rows alike. So the number of rows of an anchor that get it is
    hypergeometric, and of these as many are right as rows of the anchor hold it.

    Parameters
    ----------
    rebuilt
        What the attack said, beside the truth.
    at_random
        The same of one draw of random attachment, which tells how often a term is attached.
    release
        What was attacked.
    parts
        Which parts of it count: see :data:`~setveil.attack.reassociation.rebuilt_records.PARTS`.

    Returns
    -------
    list of Attachments
        One for each part.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.attack.reassociation.rebuilt_records import Rebuilt, Row
    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu"], ["rash"]])
    >>> plan = Plan(records=[0, 1, 2], domains=((0, 2),), terms=(1,))
    >>> release, _ = publish_disassociated(table, [plan])
    >>> none, gout = frozenset(), frozenset({"gout"})
    >>> true = [Row(frozenset({"flu"}), none, gout), Row(frozenset({"flu"}), none, none),
    ...         Row(frozenset({"rash"}), none, none)]
    >>> found, = count_attachments([Rebuilt(0, true, true)], [Rebuilt(0, true, true)], release)
    >>> found.right.tolist(), found.by_chance.round(3).tolist(), found.true.tolist()
    ([1.0], [0.667], [1.0])
    """
    spreads = _spreads(at_random, release)
    return [_attachments(rebuilt, spreads, part) for part in parts]


def _attachments(
    rebuilt: Sequence[Rebuilt], spreads: Sequence[Mapping[str, Spread]], part: str
) -> Attachments:
    held = list[tuple[int, int, int]]()  # a record that holds a term: cluster, record, question
    questions = list[tuple[int, int, int, int, int]]()
    record = 0
    for place, (each, spread) in enumerate(zip(rebuilt, spreads, strict=True)):
        for true, said in each.by_anchor():
            # Sorted: sums of floats depend on their order, and that of a set on the process.
            needed, given = (
                Counter(term for row in rows for term in sorted(row.attached(part)))
                for rows in (true, said)
            )
            number = {term: len(questions) + i for i, term in enumerate(needed)}
            for term, holders in needed.items():
                questions.append((*spread[term], len(true), holders, min(holders, given[term])))
            for row in true:
                held += [(place, record, number[term]) for term in sorted(row.attached(part))]
                record += 1
    cluster, owner, question = np.array(held, dtype=np.int64).reshape(-1, 3).T
    *asked, right = np.array(questions, dtype=np.int64).reshape(-1, 5).T
    alike = asked[-1]  # records that hold the term behind the anchor: at least one
    _, first, unit = np.unique(owner, return_index=True, return_inverse=True)
    return Attachments(
        cluster[first],
        *(
            np.bincount(unit, share[question], minlength=len(first)).astype(np.float64)
            for share in (right / alike, expected_hits(*asked) / alike, np.ones(len(right)))
        ),
    )


def expected_hits(
    rows: npt.ArrayLike, copies: npt.ArrayLike, own: npt.ArrayLike, most: npt.ArrayLike
) -> FloatArray:
    """Return the mean of min(X, most), where X of `own` rows are among `copies` drawn of `rows`.

    >>> expected_hits([3], [1], [2], [1]).round(3).tolist(), expected_hits([4], [2], [2], [1])
    ([0.667], array([0.83333333]))
    """
    from scipy.special import gammaln

    asked = np.stack([np.asarray(each, dtype=np.int64) for each in (rows, copies, own, most)])
    (population, drawn, marked, cap), which = np.unique(asked, axis=1, return_inverse=True)
    # Every X that can be, from `low` on, one question after the other.
    low = np.maximum(drawn + marked - population, 0)
    sizes = np.minimum(drawn, marked) - low + 1
    starts = np.cumsum(sizes) - sizes
    question = np.repeat(np.arange(len(sizes)), sizes)
    hits = np.arange(len(question)) - np.repeat(starts - low, sizes)
    ways = -sum(
        gammaln(each + 1.0)
        for each in (
            hits,
            marked[question] - hits,
            drawn[question] - hits,
            (population - drawn - marked)[question] + hits,
        )
    )
    if not len(sizes):
        return np.zeros(0)
    chances = np.exp(ways - np.maximum.reduceat(ways, starts)[question])
    sums = [
        np.add.reduceat(each, starts)
        for each in (chances * np.minimum(hits, cap[question]), chances)
    ]
    return np.asarray((sums[0] / sums[1])[which.ravel()])


def _spreads(
    at_random: Sequence[Rebuilt], release: DisassociatedRelease
) -> list[dict[str, Spread]]:
    """Return for each cluster to how many of how many rows each of its terms is attached."""
    sharing = release.shared_by(each.cluster for each in at_random)
    starts = release.cluster_starts
    shared = {}
    for chunk in sorted({chunk for chunks in sharing.values() for chunk in chunks}):
        records = int(starts[release.chunk_last[chunk]] - starts[release.chunk_first[chunk]])
        held = release.supports_in(chunk).items()
        shared[chunk] = {term: Spread(records, copies) for term, copies in held}
    found = []
    for drawn in at_random:
        own = _own_spreads(release, drawn)
        for chunk in sharing[drawn.cluster]:
            own |= shared[chunk]
        found.append(own)
    return found


def _own_spreads(release: DisassociatedRelease, drawn: Rebuilt) -> dict[str, Spread]:
    """Return for each term of a cluster's own chunks to how many of its rows it is attached."""
    cluster = release.cluster(drawn.cluster)
    attached = Counter(term for row in drawn.said for term in row.terms)
    held = Counter({term: attached[term] for term in cluster.terms})
    for chunk in cluster.chunks:
        held.update(term for row in chunk.subrecords for term in row)
    return {term: Spread(cluster.size, copies) for term, copies in held.items()}
