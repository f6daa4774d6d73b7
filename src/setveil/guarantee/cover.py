"""What the chunks of a disassociated release still give away: covers and narrowing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import perm, prod
from typing import TYPE_CHECKING

import numpy as np

from setveil.guarantee.certain_links import CertainLinks, Holdings, certain_links
from setveil.guarantee.disassociated import narrowed_sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.core.table import Int64Array
    from setveil.guarantee.joint_clusters import Narrowed
    from setveil.release.disassociated import DisassociatedRelease

SHOWN = 20
"""How many findings of a kind are described at most."""
FACTORS = 100
"""So many factors of a count of placements take no longer than looking at one itemset."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """An item that other items of a person give away.

    Parameters
    ----------
    cluster
        Where.
    given, item
        Whoever is known to hold all of `given` holds `item` with chance `chance`.
    support
        In how many of the cluster's records, or of those of its joint cluster, `item` is.
    chance
        One by the share of the records that hold `item`; where no term chunk hides how many items
        there are, among all originals alike likely.
    everywhere
        Whether it is certain not only in this cluster, but wherever `given` can be.

    Examples
    --------
    >>> Link(cluster=0, given=("b",), item="y", support=4, chance=Fraction(1)).everywhere
    False
    """

    cluster: int
    given: tuple[str, ...]
    item: str
    support: int
    chance: Fraction
    everywhere: bool = False


@dataclass(frozen=True, kw_only=True)
class CoverFindings:
    """Certain links and narrowing in a disassociated release.

    Parameters
    ----------
    clusters, records
        How many there are.
    covered
        How many clusters have an item in all their records that other items give away.
    local_links
        How many such items they have, all clusters together.
    certain_links
        How many smallest sets give an item away wherever they occur: in every cluster where a
        record may hold the set, every record holds the item.
    largest
        The greatest size of these sets that was looked at.
    narrowed
        Sets of at most m items that are possible, but in fewer than k records of their cluster;
        one for each cluster or joint cluster that has some.
    decided
        Whether the search for them came to its end everywhere.
    links
        Some of the links: those that are certain everywhere first.
    """

    clusters: int
    records: int
    covered: int
    local_links: int
    certain_links: int
    largest: int
    narrowed: tuple[Narrowed, ...]
    decided: bool
    links: tuple[Link, ...]


def cover(
    release: DisassociatedRelease, *, k: int = 5, m: int = 2, work: int = 1_000_000
) -> CoverFindings:
    """Find what a release gives away with certainty, and what it narrows down.

    In a cluster of n records, y is certain for whoever holds items outside y's chunk exactly when
    all n records hold y (a *cover*). Horizontal partitioning makes covers in most clusters: all
    records of a cluster hold the items it was split by. Who does not know the cluster learns
    something only if y is in all records of every cluster where the items can be; this is counted
    for sets of one item and, if m allows, of two. Links within a chunk are not looked for here:
    :func:`setveil.measure.linked_share` counts the records that have a link of either kind.

    Parameters
    ----------
    release
        What is looked at.
    k, m
        Narrowing is about sets of at most m items in fewer than k records.
    work
        Most itemsets of one joint cluster, and most choices of chunks, that are looked at one by
        one.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["y", "a"], ["y", "a", "b"], ["y", "b"], ["y", "a"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1, 2, 3], domains=((0, 2), (1,)), terms=())])
    >>> found = cover(release, k=2, m=2)
    >>> found.covered, found.local_links, found.certain_links, found.largest
    (1, 1, 1, 2)
    >>> [(link.given, link.item, str(link.chance)) for link in found.links]
    [(('b',), 'y', '1')]
    """
    narrowed = narrowed_sets(release, k=k, m=m, work=work)
    held = Holdings.of(release)
    full = held.universal()
    certain = certain_links(release, held, m)
    return CoverFindings(
        clusters=len(release.sizes),
        records=len(release),
        covered=len(np.unique(held.cluster[full])),
        local_links=len(full),
        certain_links=len(certain),
        largest=certain.largest,
        narrowed=narrowed.sets,
        decided=not narrowed.undecided,
        links=tuple(_described(release, held, full, certain)),
    )


def _described(
    release: DisassociatedRelease, held: Holdings, full: Int64Array, certain: CertainLinks
) -> list[Link]:
    """Describe some links, those that are certain everywhere first."""
    names = release.vocabulary.names
    found = [
        Link(
            cluster=cluster,
            given=tuple(names[i] for i in dict.fromkeys(given)),
            item=names[item],
            support=int(release.sizes[cluster]),
            chance=Fraction(1),
            everywhere=True,
        )
        for given, item, cluster in zip(
            certain.given[:SHOWN].tolist(),
            certain.item[:SHOWN].tolist(),
            certain.cluster[:SHOWN].tolist(),
            strict=True,
        )
    ]
    shown = {(link.cluster, link.item) for link in found}
    for place in full.tolist():
        if len(found) >= SHOWN:
            break
        if (int(held.cluster[place]), names[int(held.item[place])]) not in shown:
            found.append(link_at(release, held, place, Fraction(1)))
    return found


def link_at(release: DisassociatedRelease, held: Holdings, place: int, chance: Fraction) -> Link:
    """Describe the link to one of the holdings from an item outside its chunk."""
    cluster = int(held.cluster[place])
    beside = np.flatnonzero(held.cluster == cluster)
    apart = ~held.together(beside, np.full(len(beside), place))
    given = beside[apart & (beside != place)][0]
    return Link(
        cluster=cluster,
        given=(release.vocabulary[int(held.item[given])],),
        item=release.vocabulary[int(held.item[place])],
        support=int(held.support[place]),
        chance=chance,
    )


# --- exact chances --------------------------------------------------------------------------------


def countable(n: int, rows: Sequence[int], m: int, work: int) -> bool:
    """Tell whether the placements of a cluster can be counted soon, as `greatest_chance` does.

    >>> countable(30, [20, 20], 2, 1_000_000), countable(9_000, [6_000, 6_000], 2, 1_000_000)
    (True, False)
    """
    return n * sum(rows) * (len(rows) + min(m, len(rows))) <= FACTORS * work


def ways(n: int, rows: Sequence[int], most: int) -> list[int]:
    """Count the placements of all chunks of a cluster in which one record has pieces of some.

    For each of 1, 2, … chunks that are met, one given sub-record stands in one given record; no
    record is empty (inclusion and exclusion over the records that would be). Which chunks these
    are makes no difference: a chunk of s sub-records has (n)_s placements, and each sub-record
    stands in the given record in one n-th of them.

    Parameters
    ----------
    n
        Records of the cluster; it has no term chunk.
    rows
        Sub-records of each of its chunks, at least one in each.
    most
        How many chunks are met at most; no more than there are.

    Examples
    --------
    Three records, chunks {a, a} and {b, b}: of the 6 · 6 placements 24 leave no record empty.

    >>> ways(3, [2, 2], 2)
    [8, 2]
    """
    terms = [prod(perm(n, size) for size in rows)]
    for q in range(n - max(rows)):
        last = terms[-1] * (n - 1 - q) * prod(n - q - size for size in rows)
        terms.append(last // ((q + 1) * (n - q) ** len(rows)))
    found = []
    for _ in range(most):
        terms = [term // (n - q) for q, term in enumerate(terms)]
        found.append(sum(terms[::2]) - sum(terms[1::2]))
    return found


def greatest_chance(n: int, rows: Sequence[int], chunk: int, support: int, m: int) -> Fraction:
    """Return the greatest chance of an item in a record that holds pieces of other chunks.

    All originals are alike likely; the cluster has no term chunk. Up to m other chunks are known.

    >>> greatest_chance(4, [4, 2], 0, 3, 2)
    Fraction(3, 4)
    """
    others = len(rows) - 1
    assert 0 <= chunk <= others
    return support * _greatest_share(n, tuple(sorted(rows)), min(m, others))


@lru_cache(maxsize=1024)
def _greatest_share(n: int, rows: tuple[int, ...], met: int) -> Fraction:
    """Return the chance of one sub-record, the greatest when up to so many others are met."""
    part, whole = 0, 1
    for fewer, more in pairwise(ways(n, rows, met + 1)):
        # Compared without reducing them: the numbers are large.
        if more * whole > part * fewer:
            part, whole = more, fewer
    return Fraction(part, whole)
