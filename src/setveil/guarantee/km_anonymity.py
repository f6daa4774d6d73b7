"""k^m-anonymity: whoever knows at most m items of a person still faces k records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from setveil.core.arrays import Int32Array, Int64Array, kept_offsets, neighbour_order, offsets_of
from setveil.core.literature import TERROVITIS_2008
from setveil.core.params import count
from setveil.core.records import Whole
from setveil.core.registry import register
from setveil.core.table import canonical_order, take_rows
from setveil.guarantee.base import MOST_WITNESSES, HidesAmongK, Verdict, Witness, parts_of
from setveil.guarantee.itemset_search import count_totals, rank_items, search_sets
from setveil.release.views import published_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy.typing as npt

    from setveil.core.records import Parts
    from setveil.guarantee.base import Published
    from setveil.guarantee.itemset_search import SearchRows
    from setveil.release.views import PublishedRows

BATCH = 10_000_000
"""About how many places are read between two returns to Python, where Ctrl-C is heard."""

FEW = 200_000_000
"""So many places are read in less than a second; an estimate reads no more."""

PATHS = 64
"""How many random paths of the search an estimate follows."""

SEARCHES = 256
"""From how many items on, the rarest first, a quick search looks for a rare set."""

SOON = 50
"""What takes less than one part in so many of the work allowed is counted in any case."""

LONG = 1e15
"""Numbers from here on are shown by their order alone."""

CERTAIN = 2
"""By how much an estimate must exceed the work allowed before a check is not even begun."""


@register(
    "guarantee",
    "km",
    paper="Terrovitis, Mamoulis & Kalnis 2008",
    bibtex=TERROVITIS_2008,
)
@dataclass(frozen=True, kw_only=True)
class KmAnonymity(HidesAmongK):
    """Every set of at most m published items that occurs at all occurs in at least k records.

    Whoever knows up to m items of a person then finds no record that fits, or at least k. Sizes
    are checked one after the other, from single items up to sets of m. At the first size where
    some sets are too rare, all of that size are counted and the check ends: the witnesses are
    the smallest sets that break the promise, the rarest of them first. Larger sets need not be
    looked at, since no set is more frequent than its parts.

    No set is stored and none is counted that does not occur, so a long record does no harm: one
    of 164 items has 721,764 sets of three, counted in milliseconds. Published items count once
    per record, nodes by id.

    Parameters
    ----------
    k
        Least number of records.
    m
        Greatest number of items someone may know.
    work
        Most places of records that are read before the check gives up. Where an estimate says
        beforehand that far more would be needed, only what is quick is tried. A verdict that gave
        up is marked as not exact; this depends on the release alone and not on the clock.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows(
    ...     [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]])
    >>> verdict = KmAnonymity(k=2, m=2).check(table)
    >>> verdict.reason
    '2 pairs of items occur in fewer than 2 records, the rarest in 1; single items do not'
    >>> [(witness.items, witness.support) for witness in verdict.witnesses]
    [(('a1', 'a2'), 1), (('a1', 'b1'), 1)]

    References
    ----------
    M. Terrovitis, N. Mamoulis, P. Kalnis: Privacy-preserving anonymization of set-valued data,
    PVLDB 1(1), 2008.
    """

    k: int = count(5, doc="least number of records")
    m: int = count(2, doc="greatest number of items someone may know")
    work: int = count(
        100_000_000_000,
        most=10**15,
        doc="most places of records that are read before the check gives up",
    )

    def check(self, published: Published) -> Verdict:
        """Count sets of items of `published`; witnesses are the smallest that are too rare."""
        return self._check_parts(parts_of(published).map(published_rows))

    def check_rows(self, rows: PublishedRows) -> Verdict:
        """Count sets of items of rows that are given as numbers."""
        return self._check_parts(Whole(rows))

    def _check_parts(self, parts: Parts[PublishedRows]) -> Verdict:
        names, totals = parts.sample.names, count_totals(parts)
        ranked = rank_items(totals.supports)
        if not len(ranked):
            reason = "no record has an item, so no itemset is rare"
            return Verdict(holds=True, exact=True, reason=reason, checked=totals.records)
        supports = totals.supports[ranked]
        if supports[0] < self.k:
            rare = np.flatnonzero(supports < self.k)
            shown = rare[:MOST_WITNESSES]
            found = Rare(len(rare), supports[shown], shown[:, None], len(supports))
            return self._violated(names, ranked, found, stopped=False)
        # With k = 1 nothing that occurs is rare.
        most = min(self.m, totals.longest) if self.k > 1 else 1
        searched: list[Searched] = []
        if most > 1:
            count = partial(_search_rows, promise=self, most=most, n_ranks=len(ranked))
            searched = search_sets(parts, ranked, count)
        return self._conclude(names, ranked, totals.records, searched)

    def _conclude(
        self, names: Sequence[str], ranked: Int64Array, records: int, searched: list[Searched]
    ) -> Verdict:
        """Return the verdict on all groups of a search; no single item is rare."""
        counted = [size for group in searched for size in group.sizes]
        checked = len(ranked) + sum(size.found.checked for size in counted)
        checked -= sum(group.twins for group in searched)
        least = min((size.size for size in counted if size.found.number), default=None)
        met = [group.met for group in searched if group.met is not None]
        verdict = None
        if least is not None:
            found = merge_rare([size.found for size in counted if size.size == least])
            stopped = any(not size.done and size.size <= least for size in counted)
            stopped = stopped or any(group.counted < least for group in searched)
            verdict = self._violated(names, ranked, found, stopped=stopped)
        elif met:
            best = min(met, key=lambda found: (found.itemsets.shape[1], found.supports[0]))
            verdict = self._met(names, ranked, best, min(group.counted for group in searched))
        if verdict is not None:
            return _at_least(verdict) if any(g.without_twins for g in searched) else verdict
        open_sizes = [size.size for size in counted if not size.done]
        if open_sizes:
            return self._undecided(min(open_sizes), checked)
        given_up = [group for group in searched if group.ahead]
        if given_up:
            first = min(given_up, key=lambda group: group.counted)
            return self._too_many(first.counted + 1, first.ahead, checked)
        return self._kept(len(ranked), records, checked)

    def largest_counted(self, ahead: Sequence[float], most: int) -> int:
        """Return up to which size sets are counted, from estimates for each size from 2 on.

        Where those for all sizes far exceed the work allowed, only the sizes that take little of
        it are counted: the promise can then be found broken, but not kept.

        >>> KmAnonymity(k=2, m=4, work=1_000).largest_counted([5, 200, 9_000], 4)
        2
        """
        if sum(ahead) <= CERTAIN * self.work:
            return most
        return 1 + int(np.searchsorted(np.cumsum(ahead), self.work / SOON, side="right"))

    def _too_many(self, size: int, ahead: Sequence[float], checked: int) -> Verdict:
        """Return the verdict where the sets from a size on are too many to be counted."""
        within = 1 + int(np.searchsorted(np.cumsum(ahead), self.work, side="right"))
        head = f"sets of {size} items" if size > 2 else "pairs of items"
        smaller = f"sets of at most {size - 1} items" if size > 2 else "single items"
        less = f"ask for at most m={within}, which can be decided, or " if within > 1 else ""
        return Verdict(
            holds=True,
            exact=False,
            reason=f"{smaller} keep the promise, and quick searches found no rare set, but sets "
            f"of up to {self.m} items are too many to count: for {head} alone about "
            f"{_rounded(ahead[size - 2])} places of records would have to be read, and "
            f"{self.work:,} are allowed for all sizes. To decide it, {less}raise work "
            f"(km:k={self.k},m={self.m},work=...)",
            checked=checked,
        )

    def _met(self, names: Sequence[str], numbers: Int64Array, found: Rare, counted: int) -> Verdict:
        """Return the verdict where a quick search met a rare set larger than those counted."""
        verdict = self._violated(names, numbers, found, stopped=True)
        size = found.itemsets.shape[1]
        smaller = f"sets of at most {counted} items" if counted > 1 else "single items"
        return replace(
            verdict,
            reason=f"at least one {_noun(size, one=True)} occurs in fewer than {self.k} records, "
            f"in {found.supports[0]:,}; {smaller} do not (a quick search found it; there are too "
            "many sets to count them all)",
        )

    def _kept(self, n_items: int, records: int, checked: int) -> Verdict:
        """Return the verdict where no set is rare."""
        reason = (
            f"every set of at most {self.m} of {n_items:,} published items that "
            f"occurs does so in at least {self.k} of {records:,} records"
        )
        return Verdict(holds=True, exact=True, reason=reason, checked=checked)

    def _undecided(self, size: int, checked: int) -> Verdict:
        """Return the verdict where the search was given up within sets of this size."""
        return Verdict(
            holds=True,
            exact=False,
            reason=f"sets of fewer than {size} items keep the promise, but reading "
            f"{self.work:,} places does not suffice to count all sets of {size}; none of "
            f"those counted is rare. Raise work (km:k={self.k},m={self.m},work=...) to "
            "go on",
            checked=checked,
        )

    def _violated(
        self, names: Sequence[str], numbers: Int64Array, found: Rare, *, stopped: bool
    ) -> Verdict:
        """Return the verdict where sets are rare; `numbers` are the items behind the ranks."""
        size = found.itemsets.shape[1]
        one = found.number == 1
        least = f"{self.k} record{'s' if self.k > 1 else ''}"
        reason = (
            f"{'at least ' if stopped else ''}{found.number:,} {_noun(size, one)} "
            f"occur{'s' if one else ''} in fewer than {least}, "
            f"{'' if one else 'the rarest '}in {found.supports[0]:,}"
        )
        if size > 1:
            reason += f"; {'single items' if size == 2 else 'smaller sets'} do not"
        if stopped:
            reason += f" (reading {self.work:,} places did not suffice to count them all)"
        return Verdict(
            holds=False,
            # One rare set settles it, however many were not looked at.
            exact=True,
            reason=reason,
            checked=found.checked,
            witnesses=tuple(
                Witness(
                    items=tuple(names[i] for i in np.sort(numbers[itemset]).tolist()),
                    support=int(support),
                    required=f"0 or at least {self.k}",
                )
                for support, itemset in zip(found.supports, found.itemsets, strict=True)
            ),
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> KmAnonymity(k=5, m=2).describe()
        'whoever knows at most 2 items of a person finds no record with them, or at least 5'
        """
        items = "1 item" if self.m == 1 else f"{self.m} items"
        return (
            f"whoever knows at most {items} of a person finds no record with them, or at least "
            f"{self.k}"
        )

    def by_hand(self) -> str:
        """Return how to check the promise in the exported tables, without setveil."""
        items = "each item" if self.m == 1 else f"each set of up to {self.m} items"
        return (
            f"For {items} that some record of the table records holds, count the records that hold "
            f"all of it. No count may be below {self.k}."
        )

    def unprotected(
        self,
        shown: Collection[str] = (),
        longest: int | None = None,
    ) -> tuple[str, ...]:
        """Return what the promise leaves open, in sentences for the owner.

        >>> KmAnonymity(k=5, m=2).unprotected()[0]
        'Someone who knows 3 or more items of a person may find a single record.'
        """
        more = (
            f"Someone who knows {self.m + 1} or more items of a person may find a single record.",
        )
        return (
            *(more if longest is None or longest > self.m else ()),
            (
                "If all matching records share a further item, whoever finds them learns it, even "
                "if it is sensitive."
            ),
        )

    def params(self) -> dict[str, Any]:
        """Return the parameters of the promise as JSON values; the bound on work is none."""
        return {"k": self.k, "m": self.m}


@dataclass(frozen=True)
class Rare:
    """How many itemsets of a size are rare, the rarest of them, and how many sets were counted."""

    number: int
    supports: Int64Array
    itemsets: npt.NDArray[np.integer[Any]]
    checked: int


def merge_rare(found: Sequence[Rare]) -> Rare:
    """Return what was found of one size in all groups of a search.

    >>> one = Rare(1, np.array([2]), np.array([[1, 2]]), 5)
    >>> merge_rare([one, Rare(1, np.array([1]), np.array([[0, 3]]), 4)]).itemsets.tolist()
    [[0, 3], [1, 2]]
    """
    if len(found) == 1:
        return found[0]
    supports = np.concatenate([each.supports for each in found])
    itemsets = np.concatenate([each.itemsets for each in found])
    order = np.lexsort((*itemsets.T[::-1], supports))[:MOST_WITNESSES]
    return Rare(
        sum(each.number for each in found),
        supports[order],
        itemsets[order],
        sum(each.checked for each in found),
    )


class CountedSize(NamedTuple):
    """What was found among the sets of one size, and whether all of them were counted."""

    size: int
    found: Rare
    done: bool


@dataclass(frozen=True, kw_only=True)
class Searched:
    """What was found in one group of a search.

    Parameters
    ----------
    sizes
        What was counted, one size after the other; the last is the first with rare sets.
    counted
        Up to which size sets were to be counted.
    ahead
        Where larger sets were not counted, how many places each size would have taken.
    met
        A larger rare set that a quick search met.
    twins
        How many items were passed over since the same records hold another one.
    without_twins
        Whether there are rare sets, but those with such items were not counted.
    """

    sizes: tuple[CountedSize, ...]
    counted: int
    ahead: Sequence[float] = ()
    met: Rare | None = None
    twins: int = 0
    without_twins: bool = False

    @property
    def is_broken(self) -> bool:
        """Whether a rare set was found."""
        return self.met is not None or any(size.found.number for size in self.sizes)


@dataclass(frozen=True)
class Ranked:
    """Records whose items are ranks, the rarest first, as the kernel wants them."""

    supports: Int64Array  # by rank
    items: Int32Array
    ends: Int64Array
    occurrence_offsets: Int64Array
    occurrences: Int64Array

    @classmethod
    def of(cls, offsets: Int64Array, items: Int32Array, n_ranks: int) -> Ranked:
        """Find the places of each rank; rows are ascending."""
        supports = np.bincount(items, minlength=n_ranks)
        return cls(
            supports=supports,
            items=items,
            ends=np.repeat(offsets[1:], np.diff(offsets)),
            occurrence_offsets=offsets_of(supports),
            occurrences=np.argsort(items, kind="stable"),
        )

    @property
    def row_offsets(self) -> Int64Array:
        """Where the records that hold something begin and end."""
        return np.flatnonzero(np.diff(self.ends, prepend=-1, append=-1))


def _search_rows(
    rows: SearchRows, roots: tuple[int, int], promise: KmAnonymity, most: int, n_ranks: int
) -> Searched:
    return search_group(Ranked.of(rows.offsets, rows.items, n_ranks), roots, promise, most)


def search_group(
    ranked: Ranked, roots: tuple[int, int], promise: KmAnonymity, most: int
) -> Searched:
    """Look for rare sets of 2 to `most` items that begin with one of a range of ranks."""
    ahead = places_ahead(ranked, most, promise.k, roots)
    largest = promise.largest_counted(ahead, most)
    fewer = without_twins(ranked) if sum(ahead) > promise.work / SOON else None
    if fewer is not None:
        # Items that the same records hold are as good as one for the smallest rare sets.
        searched = _search_fewer(fewer, roots, promise, most)
        if not searched.is_broken or largest < most:
            return replace(searched, without_twins=searched.is_broken)
    sizes: list[CountedSize] = []
    steps = 0
    for size in range(2, largest + 1):
        found, steps, done = count_rare(
            ranked, size, promise.k, steps=steps, work=promise.work, roots=roots
        )
        sizes.append(CountedSize(size, found, done))
        # Sets of which none is counted have the records of a smaller one; so have larger ones.
        if found.number or not done or not found.checked:
            break
    searched = Searched(sizes=tuple(sizes), counted=largest)
    if largest == most or searched.is_broken or not all(size.done for size in sizes):
        return searched
    return replace(searched, ahead=ahead, met=quick_search(ranked, most, promise.k, roots))


def _search_fewer(
    fewer: Twinless, roots: tuple[int, int], promise: KmAnonymity, most: int
) -> Searched:
    """Search where no two items are held by the same records; tell it in the ranks of all."""
    kept = fewer.kept
    first, until = np.searchsorted(kept, roots).tolist()
    most = min(most, int(np.diff(fewer.ranked.row_offsets).max()))
    searched = search_group(fewer.ranked, (first, until), promise, most)

    def with_all_ranks(found: Rare) -> Rare:
        return replace(found, itemsets=kept[found.itemsets])

    return replace(
        searched,
        sizes=tuple(size._replace(found=with_all_ranks(size.found)) for size in searched.sizes),
        met=None if searched.met is None else with_all_ranks(searched.met),
        twins=searched.twins + fewer.twins,
    )


def count_rare(
    ranked: Ranked,
    size: int,
    k: int,
    *,
    steps: int,
    work: int,
    roots: tuple[int, int] | None = None,
) -> tuple[Rare, int, bool]:
    """Count the rare itemsets of a size; also tell the work so far and whether it sufficed.

    `roots` is the range of the ranks that sets may begin with; all if it is not given. Records
    without such an item, and what stands before it, are then not needed.
    """
    # Here, so that guarantees can be named and built without waiting for numba.
    from setveil.guarantee.km_kernels import FOUND, SETS, STEPS, rare_itemsets

    supports = np.full(MOST_WITNESSES, np.iinfo(np.int64).max)
    itemsets = np.full((MOST_WITNESSES, size), -1, dtype=np.int32)
    state = np.zeros(3, dtype=np.int64)
    state[STEPS] = steps
    # What stands behind an occurrence is about what one item costs.
    cost = _places_behind(ranked)
    first, until = roots or (0, len(ranked.supports))
    done = True
    while first < until and done:
        last = int(np.searchsorted(cost, cost[first] + BATCH, side="right"))
        last = min(max(last - 1, first + 1), until)
        done = rare_itemsets(
            ranked.items, ranked.ends, ranked.occurrence_offsets, ranked.occurrences,
            first, last, k, work, supports, itemsets, state,
        )  # fmt: skip
        first = last
    shown = min(int(state[FOUND]), MOST_WITNESSES)
    found = Rare(int(state[FOUND]), supports[:shown], itemsets[:shown], int(state[SETS]))
    return found, int(state[STEPS]), done


def places_ahead(
    ranked: Ranked, most: int, k: int, roots: tuple[int, int] | None = None
) -> list[float]:
    """Estimate for each size from 2 to `most` how many places :func:`count_rare` will read.

    The list is empty where they are certainly few: counting then takes no longer than asking. The
    estimate follows a few random paths of the search; it depends on the records alone.

    >>> ranked = Ranked.of(np.array([0, 2, 4, 6]), np.array([0, 3, 1, 3, 2, 3], np.int32), 4)
    >>> places_ahead(ranked, 2, 1)
    []
    """
    first, until = roots or (0, len(ranked.supports))
    lengths, records = np.unique(np.diff(ranked.row_offsets), return_counts=True)
    # A record of n items has C(n, i) sets of i items; behind each stand at most n places.
    bound = records * lengths.astype(float)
    total = 0.0
    for i in range(most - 1):
        bound *= (lengths - i) / (i + 1)
        total += float(bound.sum())
        if total * most > FEW:
            return list(accumulate(_probed(ranked, most, k, first, until)))
    return []


def _probed(ranked: Ranked, most: int, k: int, first: int, until: int) -> list[float]:
    """Estimate how many places stand behind the itemsets of 1, 2, … items."""
    from setveil.guarantee.km_kernels import probe_itemsets

    costs = np.diff(_places_behind(ranked))[first:until]
    if most == 2:
        return [float(costs.sum())]
    rng = np.random.default_rng(0)
    roots = np.searchsorted(np.cumsum(costs), rng.random(PATHS) * costs.sum(), side="right")
    levels, rarest = np.zeros(most - 1), np.full(most, -1, dtype=np.int32)
    done, _ = probe_itemsets(
        ranked.items, ranked.ends, ranked.occurrence_offsets, ranked.occurrences, roots + first,
        costs.sum() / costs[roots], rng.random((PATHS, most)), k, FEW, levels, rarest,
    )  # fmt: skip
    return [float(level) / done for level in levels]


def quick_search(
    ranked: Ranked, most: int, k: int, roots: tuple[int, int] | None = None
) -> Rare | None:
    """Look for a rare set of at most `most` items: always on with the rarest extension.

    >>> ranked = Ranked.of(np.array([0, 2, 4, 5, 6]), np.array([0, 1, 0, 1, 0, 1], np.int32), 2)
    >>> found = quick_search(ranked, 2, 3)
    >>> found.supports.tolist(), found.itemsets.tolist()
    ([2], [[0, 1]])
    """
    from setveil.guarantee.km_kernels import probe_itemsets

    first, until = roots or (0, len(ranked.supports))
    starts = np.arange(first, min(until, first + SEARCHES))
    rarest = np.full(most, -1, dtype=np.int32)
    _, support = probe_itemsets(
        ranked.items, ranked.ends, ranked.occurrence_offsets, ranked.occurrences, starts,
        np.ones(len(starts)), np.zeros((len(starts), 0)), k, FEW, np.zeros(most - 1), rarest,
    )  # fmt: skip
    if support < 0:
        return None
    return Rare(1, np.array([support]), rarest[None, rarest >= 0], 1)


class Twinless(NamedTuple):
    """Records with only one of all ranks that the same records hold.

    `kept` are the ranks that are left; in `ranked` they go by their places there. `twins` tells
    how many are not.
    """

    kept: Int64Array
    ranked: Ranked
    twins: int


def without_twins(ranked: Ranked) -> Twinless | None:
    """Leave out all but the first of ranks that the same records hold; None if all differ.

    >>> fewer = without_twins(
    ...     Ranked.of(np.array([0, 3, 5]), np.array([0, 1, 2, 1, 2], np.int32), 3))
    >>> fewer.kept.tolist(), fewer.ranked.items.tolist(), fewer.twins
    ([0, 1], [0, 1, 1], 1)
    """
    offsets = ranked.row_offsets
    record = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    held = record[ranked.occurrences]
    present = np.flatnonzero(ranked.supports)
    starts = offsets_of(ranked.supports[present])
    order = canonical_order(starts, held)
    same = neighbour_order(*take_rows(starts, held, order)) == 0
    if not same.any():
        return None
    keep = ranked.supports > 0
    keep[present[order[1:][same]]] = False
    left = keep[ranked.items]
    place = (np.cumsum(keep) - 1).astype(np.int32)
    kept = np.flatnonzero(keep)
    rows = kept_offsets(offsets, left), place[ranked.items[left]]
    return Twinless(kept, Ranked.of(*rows, len(kept)), len(present) - len(kept))


def _places_behind(ranked: Ranked) -> Int64Array:
    """Return the running sum, over items, of the places that stand behind their occurrences."""
    behind = np.cumsum((ranked.ends - np.arange(len(ranked.ends)))[ranked.occurrences])
    return np.concatenate([[0], behind])[ranked.occurrence_offsets]


def _rounded(number: float) -> str:
    """Return the order of a large number.

    >>> _rounded(4.4e11), _rounded(3e40)
    ('400,000,000,000', '10^40')
    """
    if number < LONG:
        return f"{int(float(f'{number:.1g}')):,}"
    return f"10^{int(np.log10(min(number, np.finfo(float).max)))}"


def _at_least(verdict: Verdict) -> Verdict:
    """Return a verdict that says of the number it begins with that it may be larger."""
    least = "" if verdict.reason.startswith("at least") else "at least "
    return replace(verdict, reason=least + verdict.reason)


def _noun(size: int, one: bool) -> str:
    if size == 1:
        return "item" if one else "items"
    if size == 2:
        return "pair of items" if one else "pairs of items"
    return f"set of {size} items" if one else f"sets of {size} items"
