"""Attacking some clusters of a disassociated release instead of all: which, and how they count.

Clusters are drawn one after the other, each time from all of them, by chances that grow with the
square root of what a cluster holds: large clusters say more, and take longer to attack. Whoever
estimates a rate of the whole release from the draws divides what a cluster has by its chance
(Hansen and Hurwitz), so that the draws are independent trials whatever the clusters' sizes.

References
----------
M. H. Hansen, W. N. Hurwitz: On the theory of sampling from finite populations. Annals of
Mathematical Statistics 14, 1943.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from setveil.core.arrays import Int64Array, offsets_of

if TYPE_CHECKING:
    from setveil.release.disassociated import DisassociatedRelease

SAMPLE_DOC = "clusters to draw and attack; all of them by default"
BACKGROUND = 500
"""Rows that compete for the sub-records of a shared chunk, at least, where there are as many."""


class ClusterSample(NamedTuple):
    """Clusters that are attacked.

    Parameters
    ----------
    clusters
        Their numbers, ascending, each once.
    draws
        How often each was drawn.
    """

    clusters: Int64Array
    draws: Int64Array

    def sentence(self, release: DisassociatedRelease) -> str:
        """Say how much of a release is attacked.

        >>> from setveil import TransactionTable
        >>> from setveil.release.chunk_plan import Plan, publish_disassociated
        >>> table = TransactionTable.from_rows([["a"], ["a"], ["b"]])
        >>> release, _ = publish_disassociated(table, [
        ...     Plan(records=[0, 1], domains=((0,),), terms=()),
        ...     Plan(records=[2], domains=(), terms=(1,))])
        >>> ClusterSample(np.array([1]), np.array([3])).sentence(release)
        '1 of 2 clusters was attacked, drawn at random in 3 draws: every rate is an estimate'
        """
        attacked, every = len(self.clusters), len(release.sizes)
        return (
            f"{attacked:,} of {every:,} clusters {'was' if attacked == 1 else 'were'} attacked, "
            f"drawn at random in {int(self.draws.sum()):,} draws: every rate is an estimate"
        )


def cluster_chances(release: DisassociatedRelease) -> npt.NDArray[np.float64]:
    """Return the chance of each cluster to be the one that is drawn.

    In proportion to the square root of its records, the items of its own chunks and its terms:
    all of this is published.

    >>> from setveil import TransactionTable
    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a"], ["a"], ["b"] , ["b"], ["b"], ["b"],
    ...                                     ["b"], ["b"], ["b"], ["b"]])
    >>> release, _ = publish_disassociated(table, [
    ...     Plan(records=[0, 1], domains=((0,),), terms=()),
    ...     Plan(records=[*range(2, 10)], domains=((1,),), terms=())])
    >>> sorted(cluster_chances(release).round(3).tolist())
    [0.333, 0.667]
    """
    own = release.row_offsets[release.chunk_offsets[release.chunk_starts]]
    held = release.sizes + np.diff(own) + np.diff(release.term_offsets)
    roots = np.sqrt(held)
    return np.asarray(roots / roots.sum())


def draw_clusters(
    release: DisassociatedRelease, sample: int | None, rng: np.random.Generator
) -> ClusterSample | None:
    """Draw clusters to be attacked; None where all are, as there are no more than asked for.

    Parameters
    ----------
    release
        Whose clusters.
    sample
        How many draws; None for all clusters.
    rng
        Draws.
    """
    if sample is None or sample >= len(release.sizes):
        return None
    drawn = rng.choice(len(release.sizes), sample, p=cluster_chances(release))
    clusters, draws = np.unique(drawn, return_counts=True)
    return ClusterSample(clusters, draws)


def with_background(
    release: DisassociatedRelease,
    block: tuple[int, int],
    attacked: Int64Array,
    rng: np.random.Generator,
) -> Int64Array:
    """Return the clusters of a joint cluster whose rows compete for shared sub-records.

    Those that are attacked, and others drawn at random: wherever an attacked cluster shares a
    chunk, the chunk's clusters together have at least :data:`BACKGROUND` rows among those that
    are returned, or are all returned.

    Parameters
    ----------
    release
        What is attacked.
    block
        The joint cluster: its first cluster, and the one after its last.
    attacked
        Which of its clusters are attacked, ascending.
    rng
        Draws the others.
    """
    first, last = block
    sizes = release.sizes[first:last]
    there = np.zeros(last - first, dtype=bool)
    there[attacked - first] = True
    asked = there.copy()
    shared = release.shared_within(first, last)
    ranges = {
        (int(release.chunk_first[q]) - first, int(release.chunk_last[q]) - first) for q in shared
    }
    # Inner ranges first: their clusters count for the outer ones too.
    for low, high in sorted(ranges, key=lambda each: (each[1] - each[0], each)):
        if not asked[low:high].any():
            continue
        rows = int(sizes[low:high][there[low:high]].sum())
        others = rng.permutation(low + np.flatnonzero(~there[low:high]))
        before = rows + offsets_of(sizes[others])[:-1]
        there[others[before < BACKGROUND]] = True
    return first + np.flatnonzero(there)


def thin(rows: int, places: int, everywhere: int, rng: np.random.Generator) -> Int64Array:
    """Return which sub-records of a shared chunk are up for the places of some of its clusters.

    As many as fall to them on average, evenly spaced from a random start. Equal sub-records
    stand together, so of each content as many are returned as fall to the places, rounded up or
    down. Nothing tells which records they belong to.

    Parameters
    ----------
    rows
        Sub-records of the chunk.
    places, everywhere
        Records of the clusters that are looked at, and of all that share the chunk.
    rng
        Draws the start.

    Examples
    --------
    >>> thin(6, 10, 20, np.random.default_rng(1)).tolist()
    [1, 3, 5]
    >>> thin(6, 20, 20, np.random.default_rng(1)).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    if places == everywhere:
        return np.arange(rows)
    step = everywhere / places
    taken = ((rng.random() + np.arange(int(rows / step) + 1)) * step).astype(np.int64)
    return taken[taken < rows]
