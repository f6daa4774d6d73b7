"""Safe disassociation: chunks that also give no item away for certain."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import perm, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.params import count, share
from setveil.core.registry import register
from setveil.core.words import share_as_json
from setveil.guarantee.base import MOST_WITNESSES, Verdict, Witness
from setveil.guarantee.certain_links import CertainLinks, Holdings, certain_links
from setveil.guarantee.disassociated import (
    PIECES,
    ChunkPromise,
    ClusterFindings,
    Disassociated,
    narrowed_sets,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from setveil.core.arrays import Int64Array
    from setveil.guarantee.joint_clusters import Narrowed
    from setveil.release.disassociated import DisassociatedRelease


@register(
    "guarantee",
    "safe-disassociated",
    paper="Awad, Al Bouna, Couchot & Philippe 2019",
    bibtex="""
    @article{awad2019safe,
      author  = {Awad, Nancy and Al Bouna, Bechara and Couchot, Jean-Fran{\\c c}ois
                 and Philippe, Laurent},
      title   = {Safe Disassociation of Set-Valued Datasets},
      journal = {Journal of Intelligent Information Systems},
      volume  = {53}, number = {3}, pages = {547--562}, year = {2019}
    }
    """,
)
@dataclass(frozen=True, kw_only=True)
class SafeDisassociated(ChunkPromise):
    """Disassociated, and no items of a person give away another one that stands in another chunk.

    Beside what :class:`~setveil.guarantee.Disassociated` asks, which includes that nothing is
    narrowed down to fewer than k records: where somebody knows items of a person and the person's
    cluster, an item y of another chunk is never certain, and its chance is at most `max_share`.
    Under independent placement the chance is the share of the cluster's records that hold y. In a
    cluster without a term chunk all originals are alike likely, and the chance is counted exactly
    as a fraction (it is never greater); where that would take too long, the share stands for it,
    and a verdict that rests on it is not exact. So it is in joint clusters of which a member has
    no term chunk; a shared item has the share of all members' records there. What is certain is
    decided exactly everywhere.

    It says nothing of links within a chunk: sub-records are published as they are, and where all
    that hold `a` hold `b`, `a` gives `b` away. At least k records share such a link if the chunk
    is k^m-anonymous. Nor does it speak of somebody who knows how the method decides. With
    `max_share` 1 a chance of (n − 1)/n is allowed.

    Parameters
    ----------
    k, m, work
        As for ``disassociated``.
    max_share
        Greatest chance of an item that other items give away; 1 forbids certainty only.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["y", "a"], ["y", "a", "b"], ["y", "b"], ["y", "a"]])
    >>> plan = Plan(records=[0, 1, 2, 3], domains=((0, 2), (1,)), terms=())
    >>> release, _ = publish_disassociated(table, [plan])
    >>> verdict = SafeDisassociated(k=2, m=2).check(release)
    >>> verdict.reason
    '1 item in 1 of 1 clusters is given away for certain; for who does not know the cluster, \
1 set of at most 2 items gives one away'
    >>> verdict.witnesses[0].items, verdict.witnesses[0].consequent
    (('b',), 'y')

    Without one y the release is safe, and y has a chance of 3/4 for whoever holds b.

    >>> release, _ = publish_disassociated(table, [plan], removed=[(0, 2)])
    >>> SafeDisassociated(k=2, m=2).check(release).holds
    True
    >>> verdict = SafeDisassociated(k=2, m=2, max_share="1/2").check(release)
    >>> verdict.witnesses[0].consequent, verdict.witnesses[0].confidence
    ('a', Fraction(3, 4))

    References
    ----------
    N. Awad, B. Al Bouna, J.-F. Couchot, L. Philippe: Safe disassociation of set-valued datasets,
    Journal of Intelligent Information Systems 53, 2019. The detectors are exact, by a derivation
    of our own that is compared with all originals of small clusters.
    """

    k: int = count(5, doc="least number of records")
    m: int = count(2, doc="greatest number of items someone may know")
    max_share: Fraction = share(
        Fraction(1), above=0, doc="greatest chance of an item; 1: below certainty"
    )
    work: int = count(
        1_000_000, doc="most itemsets of a joint cluster that are looked at one by one"
    )

    def examine(self, release: DisassociatedRelease, *, whole: bool = True) -> ClusterFindings:
        """Judge some clusters; witnesses are links that are too likely."""
        found = self._plain.examine(release, whole=whole)
        plain = found.verdict
        if not plain.holds:
            return found
        held = Holdings.of(release)
        likely = self._too_likely(release, held)
        if likely:
            return replace(found, verdict=self._broken(release, held, likely, plain, whole=whole))
        reason = plain.reason and f"{plain.reason}; {self._across}"
        checked = plain.checked + len(held.item)
        return replace(found, verdict=replace(plain, reason=reason, checked=checked))

    def kept(self, clusters: int, giving: int, covers: int) -> str:
        """Say that it holds."""
        return f"{self._plain.kept(clusters, giving, covers)}; {self._across}"

    @property
    def _plain(self) -> Disassociated:
        """What it asks beside."""
        return Disassociated(k=self.k, m=self.m, work=self.work)

    @property
    def _across(self) -> str:
        likelier = "" if self.max_share == 1 else f" or likelier than {self.max_share}"
        return f"no item of another chunk is certain{likelier}"

    def _too_likely(
        self, release: DisassociatedRelease, held: Holdings
    ) -> list[tuple[Fraction, int]]:
        """Return the holdings that others give away, with their chances, the likeliest first."""
        share = self.max_share
        # In Python's whole numbers: a written share of many digits leaves 64 bits.
        most = {n: n * share.numerator // share.denominator for n in set(held.records.tolist())}
        above = held.support > np.array([most[n] for n in held.records.tolist()], dtype=np.int64)
        suspects = np.flatnonzero(((held.support == held.records) | above) & (held.outside() > 0))
        # Terms of a term chunk may be in any number of records: their chance is not published.
        suspects = suspects[(held.chunk[suspects] >= 0) | (held.records[suspects] == 1)]
        found = [(self._chance(release, held, int(place)), int(place)) for place in suspects]
        return sorted(
            ((chance, place) for chance, place in found if chance > share or chance == 1),
            key=lambda link: (-link[0], link[1]),
        )

    def _chance(self, release: DisassociatedRelease, held: Holdings, place: int) -> Fraction:
        cluster, support = int(held.cluster[place]), int(held.support[place])
        independent = Fraction(support, int(held.records[place]))
        bare = release.term_offsets[cluster] == release.term_offsets[cluster + 1]
        if independent == 1 or not bare or release.in_joint[cluster]:
            return independent
        if not self._is_counted(release, cluster):
            return independent  # conditioning on records that are not empty only lowers it
        chunk = int(held.chunk[place] - release.chunk_starts[cluster])
        rows = _rows_of_chunks(release, cluster)
        return greatest_chance(int(release.sizes[cluster]), rows, chunk, support, self.m)

    def _is_counted(self, release: DisassociatedRelease, cluster: int) -> bool:
        """Tell whether the chances of a cluster are exact.

        They are shares where every cluster that is joined to it has terms, which may be anybody's.
        """
        blocks = release.blocks
        first, last = blocks[bisect(blocks, (cluster, len(release.sizes) + 1)) - 1]
        if np.all(np.diff(release.term_offsets[first : last + 1])):
            return True
        if release.in_joint[cluster]:
            return False
        rows = _rows_of_chunks(release, cluster)
        return countable(int(release.sizes[cluster]), rows, self.m, self.work)

    def _broken(
        self,
        release: DisassociatedRelease,
        held: Holdings,
        likely: list[tuple[Fraction, int]],
        plain: Verdict,
        *,
        whole: bool,
    ) -> Verdict:
        places: Int64Array = np.array([place for _, place in likely])
        clusters = len(np.unique(held.cluster[places]))
        certain = sum(chance == 1 for chance, _ in likely)
        reason = (
            f"{_number(len(likely), 'item')} in {clusters:,} of {len(release.sizes):,} clusters "
            f"{'are' if len(likely) > 1 else 'is'} given away "
        )
        if certain < len(likely):
            reason += f"with a chance above {self.max_share}, {certain:,} for certain"
        else:
            reason += "for certain"
        if certain and whole:  # other parts may hold the same sets
            found = certain_links(release, held, self.m)
            reason += (
                f"; for who does not know the cluster, {_number(len(found), 'set')} of at most "
                f"{_number(found.largest, 'item')} give{'s' if len(found) == 1 else ''} one away"
            )
        uncounted = [
            int(held.cluster[place])
            for chance, place in likely
            if chance < 1 and not self._is_counted(release, int(held.cluster[place]))
        ]
        joined = int(release.in_joint[uncounted].sum()) if uncounted else 0
        if joined:
            reason += (
                f"; for {joined:,} of them, in joint clusters, the share of records stands for "
                "the chance, which may be lower"
            )
        if len(uncounted) > joined:
            reason += (
                f"; for {len(uncounted) - joined:,} of them the originals are too many to be "
                "counted, and the share of records stands for the chance, which is no greater. "
                f"Raise work (safe-disassociated:k={self.k},m={self.m},"
                f"max_share={self.max_share},work=...) to count them"
            )
        required = "below 1" if self.max_share == 1 else f"at most {self.max_share}"
        witnesses = []
        for chance, place in likely[:MOST_WITNESSES]:
            link = link_at(release, held, place, chance)
            witnesses.append(
                Witness(
                    items=link.given,
                    support=link.support,
                    required=f"{required}, but {chance} in cluster {link.cluster}",
                    consequent=link.item,
                    confidence=chance,
                )
            )
        return Verdict(
            holds=False,
            exact=len(uncounted) < len(likely),
            reason=reason,
            checked=plain.checked + len(held.item),
            witnesses=tuple(witnesses),
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> SafeDisassociated(k=5, m=2).describe()
        'whoever knows up to 2 items of a person finds at least 5 matching records, and learns no \
item of another chunk for certain; items of one chunk may give each other away'
        """
        plain = self._plain.describe()
        across = "learns no item of another chunk for certain"
        if self.max_share < 1:
            across = f"learns items of other chunks with a chance of at most {self.max_share}"
        return f"{plain}, and {across}; items of one chunk may give each other away"

    def by_hand(self) -> str:
        """Return how to check the promise in the exported tables, without setveil."""
        return (
            f"{self._plain.by_hand()} What items give away across chunks "
            "needs every way to put the rows together; setveil verify goes through them."
        )

    def unprotected(
        self,
        shown: Collection[str] = (),
        longest: int | None = None,
    ) -> tuple[str, ...]:
        """Return what the promise leaves open, in sentences for the owner.

        >>> SafeDisassociated(k=5, m=2).unprotected()[-1]
        'Links between pieces may be very likely, as long as they are not certain.'
        """
        likely = "Links between pieces may be very likely, as long as they are not certain."
        if self.max_share < 1:
            likely = (
                "Links between pieces may still be guessed, with a chance of up to "
                f"{share_as_json(self.max_share)}."
            )
        known = self._plain.unprotected(shown, longest)
        return (*known[: -len(PIECES) - 1], *PIECES, likely)

    def params(self) -> dict[str, Any]:
        """Return the parameters of the promise as JSON values; the bound on work is none."""
        return {"k": self.k, "m": self.m, "max_share": share_as_json(self.max_share)}


def _rows_of_chunks(release: DisassociatedRelease, cluster: int) -> list[int]:
    first, last = release.chunk_starts[[cluster, cluster + 1]].tolist()
    return [int(rows) for rows in np.diff(release.chunk_offsets[first : last + 1])]


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


# --- What an attacker learns of a link ---

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
            certain.given[:MOST_WITNESSES].tolist(),
            certain.item[:MOST_WITNESSES].tolist(),
            certain.cluster[:MOST_WITNESSES].tolist(),
            strict=True,
        )
    ]
    shown = {(link.cluster, link.item) for link in found}
    for place in full.tolist():
        if len(found) >= MOST_WITNESSES:
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
