"""Records as an attack on a disassociated release puts them together, beside what they were."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np

from setveil.core.arrays import Int64Array, offsets_of
from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.core.params import is_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from setveil.attack.reassociation.reassociation_guess import ClusterGuess, ReassociationGuess
    from setveil.core.table import TransactionTable
    from setveil.release.base import Key, Release
    from setveil.release.disassociated import DisassociatedRelease

    Terms = frozenset[str]
    from collections.abc import Sequence

    import numpy.typing as npt

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


# --- itemsets that a disassociation protects ------------------------------------------------------


MOST = 30_000_000
"""Greatest number of itemsets, over all records, that are looked at."""


class Broken(NamedTuple):
    """Protected itemsets counted by cluster, each shared out among the clusters it occurs in.

    Parameters
    ----------
    broken, all
        For each cluster the itemsets that an attack puts together as they were, and all.
    """

    broken: npt.NDArray[np.float64]
    all: npt.NDArray[np.float64]


class ProtectedItemsets:
    """The itemsets of m terms that 1 to k - 1 original records hold, and no sub-record does.

    Parameters
    ----------
    original, release
        What was published as what.
    k, m
        The parameters of the release.

    Raises
    ------
    NotApplicable
        There are too many itemsets to look at.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a", "b"], ["a"], ["b"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1, 2], domains=((0,), (1,)), terms=())])
    >>> len(ProtectedItemsets(table, release, k=2, m=2))
    1
    """

    def __init__(
        self, original: TransactionTable, release: DisassociatedRelease, *, k: int, m: int
    ) -> None:
        for name, value, least in (("k", k, 1), ("m", m, 1)):
            if not is_whole(value, least):
                raise ParameterError(f"{name} is {value!r}", fix="use a whole number from 1 on")
        self.m = m
        self._number = {name: i for i, name in enumerate(original.vocabulary.names)}
        lengths = original.lengths.tolist()
        if original.n_items**m >= 2**63 or sum(comb(n, m) for n in lengths) > MOST:
            raise NotApplicable(f"the records hold too many itemsets of {m} terms")
        _, keys = self._keys(original.offsets, original.items.astype(np.int64))
        found, supports = np.unique(keys, return_counts=True)
        rare = found[supports < k]
        number = np.array([self._number[name] for name in release.vocabulary.names], np.int64)
        _, together = self._keys(release.row_offsets, number[release.items])
        self._rare = rare[~_are_in(rare, _distinct(together))]

    def __len__(self) -> int:
        return len(self._rare)

    def broken(self, rebuilt: Sequence[Rebuilt], part: str) -> Broken:
        """Return how many protected itemsets stand in a rebuilt record as in the true one.

        An itemset counts where a true record holds it in the anchor and the part of the release
        that is looked at. It is broken where a said record of the same cluster and with an equal
        anchor holds it too: rows with equal anchors are interchangeable.

        Raises
        ------
        NotApplicable
            The rebuilt records hold too many itemsets to look at.
        """
        groups: dict[tuple[int, Terms], int] = {}
        cluster_of: list[int] = []
        found = []
        for side in ("true", "said"):
            rows: list[Terms] = []
            group_of: list[int] = []
            for place, each in enumerate(rebuilt):
                for row in getattr(each, side):
                    group = groups.setdefault((place, row.anchor), len(groups))
                    if group == len(cluster_of):
                        cluster_of.append(place)
                    group_of.append(group)
                    rows.append(row.whole(part))
            found.append(self._held(rows, group_of))
        true, said = found
        # One number for a group and an itemset; an itemset's place alone is what remains by it.
        width = max(len(self), 1)
        is_broken = np.zeros(width, dtype=bool)
        is_broken[true[_are_in(true, said)] % width] = True
        cluster = np.array(cluster_of, dtype=np.int64)[true // width]
        where = _distinct(cluster * width + true % width)
        itemset = where % width
        shares = 1 / np.bincount(itemset, minlength=width)[itemset]
        weights = (shares * is_broken[itemset], shares)
        return Broken(
            *(np.bincount(where // width, w, len(rebuilt)).astype(float) for w in weights)
        )

    def _held(self, rows: Sequence[Iterable[str]], group_of: Sequence[int]) -> Int64Array:
        """Return the groups and protected itemsets of rows, in one number each, distinct."""
        numbers = [sorted(self._number[term] for term in row) for row in rows]
        if sum(comb(len(row), self.m) for row in numbers) > MOST:
            raise NotApplicable(f"the rebuilt records hold too many itemsets of {self.m} terms")
        offsets = offsets_of([len(row) for row in numbers])
        flat = np.array([number for row in numbers for number in row], dtype=np.int64)
        row, keys = self._keys(offsets, flat)
        there = _are_in(keys, self._rare)
        place = np.searchsorted(self._rare, keys[there])
        group = np.array(group_of, dtype=np.int64)[row[there]]
        return _distinct(group * len(self) + place)

    def _keys(self, offsets: Int64Array, items: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return each itemset of m terms of each row: the row, and the itemset as one number."""
        lengths = np.diff(offsets)
        rows, keys = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for length in np.unique(lengths[lengths >= self.m]).tolist():
            chosen = np.array(list(combinations(range(length), self.m)), dtype=np.int64)
            where = np.flatnonzero(lengths == length)
            key = np.zeros((len(where), len(chosen)), dtype=np.int64)
            for column in chosen.T:
                key = key * len(self._number) + items[offsets[where][:, None] + column]
            rows.append(np.repeat(where, len(chosen)))
            keys.append(key.ravel())
        return np.concatenate(rows), np.concatenate(keys)


def _distinct(values: Int64Array) -> Int64Array:
    """Return the different values, ascending; numpy's own hashes them, and is slower by far."""
    ordered = np.sort(values)
    return ordered[np.diff(ordered, prepend=-1) > 0]  # none is below 0


def _are_in(values: Int64Array, ascending: Int64Array) -> npt.NDArray[np.bool_]:
    """Return for each value whether it is among others, which are ascending."""
    if not len(ascending):
        return np.zeros(len(values), dtype=bool)
    place = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.asarray(ascending[place] == values)
