"""Records as an attack on a disassociated release puts them together, beside what they were."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary, ref

from setveil.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from setveil.attack.reassociation.reassociation_guess import ClusterGuess, ReassociationGuess
    from setveil.core.table import TransactionTable
    from setveil.release.base import Key, Release
    from setveil.release.disassociated import DisassociatedRelease

    Terms = frozenset[str]

PART_OF = {"record": "records", "shared": "records", "term": "terms"}
"""Which part of a release each kind of piece belongs to."""
PARTS = ("", "records", "terms")
"""What is scored: everything, record chunks (shared ones too) alone, term chunks alone."""


class Row(NamedTuple):
    """A record, true or said, by where its terms were published.

    Parameters
    ----------
    anchor
        Its sub-record of the anchor chunk, which it is known by.
    records
        Its terms in other record chunks and in shared chunks.
    terms
        Its terms in the term chunk.

    Examples
    --------
    >>> row = Row(frozenset("a"), frozenset("b"), frozenset("c"))
    >>> sorted(row.attached("")), sorted(row.attached("terms")), sorted(row.whole("terms"))
    (['b', 'c'], ['c'], ['a', 'c'])
    """

    anchor: Terms
    records: Terms
    terms: Terms

    def attached(self, part: str) -> Terms:
        """Return what is attached to the anchor from a part of the release (see `PARTS`)."""
        if not part:
            return self.records | self.terms
        return self.records if part == "records" else self.terms

    def whole(self, part: str) -> Terms:
        """Return the anchor with what is attached to it from a part of the release."""
        return self.anchor | self.attached(part)


class Rebuilt(NamedTuple):
    """A cluster put together again.

    Parameters
    ----------
    cluster
        Its number in the release.
    true, said
        Its records as they were, without what was deleted from them, and as the attack has them.
        Only equal anchors tell which true one may be which said one.
    """

    cluster: int
    true: list[Row]
    said: list[Row]

    def by_anchor(self) -> Iterator[tuple[list[Row], list[Row]]]:
        """Return for each different anchor its true and its said records, as many of each."""
        true: dict[Terms, list[Row]] = {}
        said: dict[Terms, list[Row]] = {}
        for rows, found in ((self.true, true), (self.said, said)):
            for row in rows:
                found.setdefault(row.anchor, []).append(row)
        for anchor in sorted(true, key=sorted):
            yield true[anchor], said[anchor]


def rebuilt_records(
    guess: ReassociationGuess, *, release: Release, original: TransactionTable, key: Key
) -> list[Rebuilt]:
    """Line a guess up with the truth, cluster by cluster.

    Raises
    ------
    NotApplicable
        The release is not disassociated.
    InputError
        Guess, release, original and key do not belong together.

    Examples
    --------
    >>> from setveil.attack import ClusterGuess, ReassociationGuess
    >>> from setveil import TransactionTable
    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu"], ["rash"]])
    >>> plan = Plan(records=[0, 1, 2], domains=((0,),), terms=(1, 2))
    >>> release, key = publish_disassociated(table, [plan])
    >>> said = ClusterGuess(cluster=0, anchors=[["flu"], ["flu"], []],
    ...                     attached=[[["term", "rash"]], [], [["term", "gout"]]])
    >>> guess = ReassociationGuess(attack="aba", clusters=(said,))
    >>> cluster, = rebuilt_records(guess, release=release, original=table, key=key)
    >>> [sorted(row.whole("")) for row in cluster.true]
    [['flu', 'gout'], ['flu'], ['rash']]
    """
    release = release.as_chunks()
    if not _belong_together(release, original, key):
        raise InputError(
            "the release cannot come from this original by this key",
            fix="name the data and the key that `setveil anonymize` read and wrote",
        )
    gone: dict[int, set[str]] = {}
    for record, item in key.removed:
        gone.setdefault(record, set()).add(item)
    shared = _shared_terms(guess, release)
    found = []
    for said in guess.clusters:
        kinds = _kinds(said, release, shared[said.cluster])
        start, end = release.cluster_starts[said.cluster : said.cluster + 2].tolist()
        true = [
            _split((t for t in original[r] if t not in gone.get(r, ())), kinds)
            for r in key.records[start:end].tolist()
        ]
        rows = [
            _split((*anchor, *(term for _, term in pieces)), kinds)
            for anchor, pieces in zip(said.anchors, said.attached, strict=True)
        ]
        found.append(Rebuilt(said.cluster, true, rows))
    return found


_CHECKED: WeakKeyDictionary[Release, tuple[ref[TransactionTable], ref[Key]]] = WeakKeyDictionary()
"""What was found to belong together last: none of it can change, and checking takes a while."""


def _belong_together(release: DisassociatedRelease, original: TransactionTable, key: Key) -> bool:
    """Tell whether a release comes from an original by a key; asked once for the same three."""
    known = _CHECKED.get(release)
    if known is not None and known[0]() is original and known[1]() is key:
        return True
    found = release.is_consistent_with(original, key)
    if found:
        _CHECKED[release] = (ref(original), ref(key))
    return found


def _wrong_release() -> InputError:
    return InputError(
        "the guess is about another release",
        fix="attack this release, or name the one that was attacked",
    )


def _shared_terms(guess: ReassociationGuess, release: DisassociatedRelease) -> dict[int, set[str]]:
    """Return for each cluster of a guess the terms that stand in chunks it shares."""
    numbers = [said.cluster for said in guess.clusters]
    if numbers and numbers[-1] >= len(release.sizes):  # ascending
        raise _wrong_release()
    sharing = release.shared_by(numbers)
    domains = {
        chunk: release.supports_in(chunk).keys()
        for chunk in sorted({chunk for chunks in sharing.values() for chunk in chunks})
    }
    return {
        number: {term for chunk in chunks for term in domains[chunk]}
        for number, chunks in sharing.items()
    }


def _split(terms: Iterable[str], kinds: dict[str, str]) -> Row:
    parts: dict[str, list[str]] = {"anchor": [], "records": [], "terms": []}
    for term in terms:
        parts[kinds[term]].append(term)
    return Row(*map(frozenset, parts.values()))


def _kinds(said: ClusterGuess, release: DisassociatedRelease, shared: set[str]) -> dict[str, str]:
    """Return for each term of a cluster where it stands, or say that the guess does not fit."""
    cluster = release.cluster(said.cluster)
    known_by = Counter(tuple(sorted(content)) for content in said.anchors if content)
    kinds = dict.fromkeys(shared, "records")
    kinds |= dict.fromkeys(cluster.terms, "terms")
    anchors = 0
    for chunk in cluster.chunks:
        is_anchor = known_by == Counter(tuple(sorted(row)) for row in chunk.subrecords)
        anchors += is_anchor
        kinds |= dict.fromkeys(release.domain(chunk), "anchor" if is_anchor else "records")
    fits = len(said.anchors) == cluster.size and bool(anchors) == bool(known_by)
    if not fits or any(
        kinds.get(term) != PART_OF[kind] for row in said.attached for kind, term in row
    ):
        raise _wrong_release()
    return kinds
