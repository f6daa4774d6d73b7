"""Given itemsets that must not single anybody out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import ParameterError
from setveil.core.params import count, declare
from setveil.core.registry import register
from setveil.core.table import TransactionTable
from setveil.core.words import some
from setveil.guarantee.base import MOST_WITNESSES, HidesAmongK, Itemsets, Verdict, Witness, parts_of
from setveil.release.views import PublishedRows, published_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import numpy.typing as npt

    from setveil.core.arrays import Int64Array
    from setveil.core.records import Shared
    from setveil.core.taxonomy import Taxonomy
    from setveil.guarantee.base import Published

    Bits = npt.NDArray[np.uint64]
    Patterns = tuple[Bits, Int64Array]
    PatternsOf = dict[tuple[int, ...], Patterns]

WORD = 64
"""Bits of a machine word: items that fit into one word of a pattern."""

TABLE_BITS = 20
"""Up to this many items the supports of all parts are kept in one table."""


@register(
    "guarantee",
    "support-constraints",
    paper="Loukides, Gkoulalas-Divanis & Malin 2011",
    bibtex="""
    @article{loukides2011coat,
      author  = {Loukides, Grigorios and Gkoulalas-Divanis, Aris and Malin, Bradley},
      title   = {{COAT}: Constraint-Based Anonymization of Transactions},
      journal = {Knowledge and Information Systems},
      volume  = {28}, number = {2}, pages = {251--282}, year = {2011}
    }
    """,
)
@dataclass(frozen=True, kw_only=True)
class SupportConstraints(HidesAmongK):
    """No part of a given itemset is held by some, but fewer than k records.

    Each itemset names what somebody may know of a person. Its image is what the release publishes
    in place of its items. The promise: no non-empty part of the image has a support above 0 and
    below k. (Some statements of the model ask this of the image as a whole only; an adversary who
    knows less would then find more, so every part counts here.)

    The check needs no search through the parts. Supports only fall as parts grow, so if a part
    has a support above 0 and below k, then so has everything of the image that a record with
    this part holds. It is therefore enough to look at what the records themselves hold of an
    image, and an itemset may have any size.

    Parameters
    ----------
    itemsets
        The itemsets; order and repetitions do not matter.
    k
        Least number of records that hold a part, unless none does.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu"], ["gout"], ["hiv"]])
    >>> SupportConstraints(itemsets=[["flu"], ["gout", "hepatitis"]], k=2).check(table).holds
    True
    >>> verdict = SupportConstraints(itemsets=[["gout", "flu"]], k=2).check(table)
    >>> verdict.reason
    '1 of 1 itemsets has a part that fewer than 2 records hold, the rarest 1'
    >>> verdict.witnesses[0].items
    ('flu', 'gout')
    """

    itemsets: tuple[tuple[str, ...], ...] = declare(
        MISSING, Itemsets(doc="itemsets that somebody may know")
    )
    k: int = count(5, doc="least number of records that hold a part")

    def __post_init__(self) -> None:
        object.__setattr__(self, "itemsets", _tidy(self.itemsets))

    def check(self, published: Published, taxonomy: Taxonomy | None = None) -> Verdict:
        """Count the parts of every itemset's image; a witness is a smallest rare part.

        A generalized release alone says only where the items are that it publishes as they are;
        for other items give the taxonomy it was made with.

        Raises
        ------
        NotApplicable
            The image of an item cannot be told: it is not in the release's tree and no taxonomy
            is given, or the release publishes it in several ways.
        InputError
            An item is not in the given taxonomy.
        """
        parts = parts_of(published)
        rows = parts.map(published_rows)
        image: Callable[[str], int | None] = rows.sample.number
        if not isinstance(parts.sample, TransactionTable):
            image = parts.sample.image_finder(rows.sample, taxonomy)
        images = {item: image(item) for item in sorted({i for p in self.itemsets for i in p})}
        numbers = [
            tuple(sorted({v for item in itemset if (v := images[item]) is not None}))
            for itemset in self.itemsets
        ]
        nothing: PatternsOf = {}
        shared = rows.share(numbers)
        patterns = rows.fold(partial(_patterns_in, images=shared), _merge_patterns, nothing)
        found: dict[tuple[int, ...], int] = {}
        least = []
        shown: set[int] = set()
        for itemset in numbers:
            if itemset not in patterns:
                continue
            held, counts = patterns[itemset]
            shown.update(itemset[place] for place in _places(np.bitwise_or.reduce(held)))
            rare = _rare_part(held, counts, len(itemset), self.k)
            if rare is not None:
                part, support, rarest = rare
                found[tuple(itemset[place] for place in part)] = support
                least.append(rarest)
        absent = [item for item, v in images.items() if v not in shown]
        return self._verdict(rows.sample, least, found, _said_of_absent(absent, len(images)))

    def _verdict(
        self,
        rows: PublishedRows,
        least: list[int],
        found: dict[tuple[int, ...], int],
        absent: str,
    ) -> Verdict:
        """Say what was found; `least` is the least support above 0 of each broken itemset."""
        checked = len(self.itemsets)
        if not least:
            reason = (
                f"no part of the {checked:,} itemsets is held by some, but fewer than "
                f"{self.k} records{absent}"
                if checked
                else "there are no itemsets, so none is rare"
            )
            return Verdict(holds=True, exact=True, reason=reason, checked=checked)
        witnesses = sorted(
            (support, tuple(rows.names[v] for v in part)) for part, support in found.items()
        )
        return Verdict(
            holds=False,
            exact=True,
            reason=f"{len(least):,} of {checked:,} itemsets {'has' if len(least) == 1 else 'have'} "
            f"a part that fewer than {self.k} records hold, the rarest {min(least)}",
            checked=checked,
            witnesses=tuple(
                Witness(items=items, support=support, required=f"0 or at least {self.k}")
                for support, items in witnesses[:MOST_WITNESSES]
            ),
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> SupportConstraints(itemsets=[["flu", "gout"]], k=5).describe()
        'every part of 1 protected itemset is held by no record or by at least 5'
        >>> SupportConstraints(itemsets=[["flu"], ["gout"]], k=5).describe()
        'each of 2 protected items is held by no record or by at least 5'
        """
        number = len(self.itemsets)
        held = f"held by no record or by at least {self.k}"
        if number and max(map(len, self.itemsets)) == 1:
            what = "the protected item" if number == 1 else f"each of {number:,} protected items"
            return f"{what} is {held}"
        return f"every part of {number:,} protected itemset{'' if number == 1 else 's'} is {held}"

    def unprotected(
        self,
        shown: Collection[str] = (),
        longest: int | None = None,
    ) -> tuple[str, ...]:
        """Return what the promise leaves open, in sentences for the owner.

        Parameters
        ----------
        shown
            Original items that the release shows: whether all of them are protected is said.

        Examples
        --------
        >>> SupportConstraints(itemsets=[["flu"]], k=5).unprotected(["flu", "gout"])[:1]
        ('Items that are not protected may stand in a single record: 1 of the 2 items shown.',)
        """
        said = []
        protected = {item for itemset in self.itemsets for item in itemset}
        bare = [item for item in shown if item not in protected]
        if bare:
            said.append(
                "Items that are not protected may stand in a single record: "
                f"{len(bare):,} of the {len(shown):,} items shown."
            )
        if max(map(len, self.itemsets), default=0) < 2:
            said.append(
                "Only single items are protected: someone who knows two or more items of a person "
                "may find a single record."
            )
        else:
            said.append(
                f"Combinations other than the {len(self.itemsets):,} protected ones may single out "
                "a record."
            )
        said.append(
            "If all matching records share a further item, whoever finds them learns it, even if "
            "it is sensitive."
        )
        return tuple(said)

    def by_hand(self) -> str:
        """Return how to check the promise in the exported tables, without setveil."""
        return (
            "The file release/manifest.json lists itemsets under promise. For each part of each of "
            "them, count the records of the table records whose terms cover all of it. Every count "
            f"must be 0 or at least {self.k}."
        )

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values."""
        return {"itemsets": [list(itemset) for itemset in self.itemsets], "k": self.k}


def _tidy(itemsets: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the itemsets sorted and without repetitions, or say which is none."""
    fix = "give a list of itemsets, each a list of item names"
    if isinstance(itemsets, str):
        raise ParameterError(f"itemsets is the text {itemsets!r}", fix=fix)
    if not isinstance(itemsets, Iterable):
        raise ParameterError(f"itemsets is {itemsets!r}", fix=fix)
    tidy = set()
    for given in itemsets:
        listed = isinstance(given, Iterable) and not isinstance(given, str)
        itemset = tuple(given) if listed else ()
        if not itemset or not all(isinstance(item, str) for item in itemset):
            raise ParameterError(f"{given!r} is no itemset", fix=fix)
        tidy.add(tuple(sorted(set(itemset))))
    return tuple(sorted(tidy))


def _said_of_absent(absent: list[str], named: int) -> str:
    """Return what to say of named items that no record shows: they make no part rare.

    >>> _said_of_absent(["gout"], 2)
    "; of the 2 items named, 1 is in no record ('gout')"
    """
    if not absent:
        return ""
    return (
        f"; of the {named:,} items named, {len(absent):,} {'is' if len(absent) == 1 else 'are'} "
        f"in no record ({some(absent)})"
    )


# --- counting -------------------------------------------------------------------------------------


def _holders(rows: PublishedRows, numbers: Iterable[int]) -> dict[int, Int64Array]:
    """Return the records that hold each of some published items."""
    asked = np.array(sorted(numbers), dtype=np.int64)
    place = np.full(len(rows.names) + 1, -1, dtype=np.int64)
    place[asked] = np.arange(len(asked))
    found = place[rows.items]
    entries = np.flatnonzero(found >= 0)
    entries = entries[np.argsort(found[entries], kind="stable")]
    record = np.searchsorted(rows.offsets, entries, side="right") - 1
    starts = np.searchsorted(found[entries], np.arange(len(asked) + 1))
    return {int(v): record[starts[i] : starts[i + 1]] for i, v in enumerate(asked)}


def _patterns_in(rows: PublishedRows, images: Shared[list[tuple[int, ...]]]) -> PatternsOf:
    """Return what the records hold of each image, where any holds something."""
    holders = _holders(rows, {v for image in images.value for v in image})
    found = {image: _patterns([holders[v] for v in image]) for image in images.value}
    return {image: patterns for image, patterns in found.items() if len(patterns[1])}


def _merge_patterns(one: PatternsOf, other: PatternsOf) -> PatternsOf:
    merged = one | other
    for image in one.keys() & other.keys():
        both = np.concatenate([one[image][0], other[image][0]])
        counts = np.concatenate([one[image][1], other[image][1]])
        patterns, place = np.unique(both, axis=0, return_inverse=True)
        merged[image] = patterns, np.bincount(place.ravel(), counts).astype(np.int64)
    return merged


def _rare_part(
    patterns: npt.NDArray[np.uint64], counts: Int64Array, size: int, k: int
) -> tuple[tuple[int, ...], int, int] | None:
    """Return a smallest part of an image held by some, but fewer than k records.

    `patterns` are what records hold of the image, as bits, and how many hold just that; the part
    names places in it and comes with its support and the least support above 0 of any part. None
    if no part is rare. Of all that records hold of the image the rarest is taken, and made smaller
    as long as it stays rare.
    """
    candidates = patterns[counts < k]
    if not len(candidates):
        return None
    supports_of = _counter(patterns, counts, size, k)
    supports = supports_of(candidates)
    worst = int(np.argmin(supports))
    least = int(supports[worst])
    if least >= k:
        return None
    part, held = set(_places(candidates[worst])), least
    for place in sorted(part):
        smaller = part - {place}
        support = int(supports_of(_bits(smaller, patterns.shape[1])[None])[0]) if smaller else k
        if support < k:
            part, held = smaller, support
    return tuple(sorted(part)), held, least


def _bits(places: Iterable[int], words: int) -> npt.NDArray[np.uint64]:
    bits = np.zeros(words, dtype=np.uint64)
    for place in places:
        bits[place // WORD] |= np.uint64(1 << place % WORD)
    return bits


def _places(bits: npt.NDArray[np.uint64]) -> list[int]:
    """Return the places of the bits that are set."""
    little = bits.astype("<u8").view(np.uint8)
    return np.flatnonzero(np.unpackbits(little, bitorder="little")).tolist()


def _patterns(holders: list[Int64Array]) -> tuple[npt.NDArray[np.uint64], Int64Array]:
    """Return what records hold of an image, as bits, and how many records hold just that."""
    words = (len(holders) + WORD - 1) // WORD
    records = np.sort(np.concatenate([*holders, np.zeros(0, dtype=np.int64)]))
    records = records[np.diff(records, prepend=-1) > 0]
    bits = np.zeros((len(records), words), dtype=np.uint64)
    for place, held in enumerate(holders):
        bits[np.searchsorted(records, held), place // WORD] |= np.uint64(1 << place % WORD)
    if words == 1:  # much faster than sorting rows
        single, counts = np.unique(bits[:, 0], return_counts=True)
        return single[:, None], counts
    return np.unique(bits, axis=0, return_counts=True)


def _counter(
    patterns: npt.NDArray[np.uint64], counts: Int64Array, size: int, k: int
) -> Callable[[npt.NDArray[np.uint64]], Int64Array]:
    """Return what counts, for each of some parts, the records that hold all of it.

    A count of k or more may be told as any number from k on.
    """
    if size <= TABLE_BITS and 1 << size <= len(counts) ** 2:
        # Sums over supersets, one item at a time: the supports of all parts.
        table = np.zeros(1 << size, dtype=np.int64)
        table[patterns[:, 0].astype(np.int64)] = counts
        for place in range(size):
            halves = table.reshape(-1, 2, 1 << place)
            halves[:, 0] += halves[:, 1]
        return lambda parts: table[parts[:, 0].astype(np.int64)]

    # For each item the patterns that hold it, eight to a byte.
    held_by = [
        np.packbits((patterns[:, place // WORD] >> np.uint64(place % WORD)) & np.uint64(1) > 0)
        for place in range(size)
    ]

    def count(parts: npt.NDArray[np.uint64]) -> Int64Array:
        return np.array([count_one(_places(part)) for part in parts], dtype=np.int64)

    def count_one(places: list[int]) -> int:
        common = held_by[places[0]]
        for place in places[1:]:
            common = common & held_by[place]
        some = np.flatnonzero(common)
        if len(some) >= k:  # every such byte stands for a record or more
            return k
        inside = np.unpackbits(common[some][:, None], axis=1).astype(bool)
        return int(counts[(some[:, None] * 8 + np.arange(8))[inside]].sum())

    return count
