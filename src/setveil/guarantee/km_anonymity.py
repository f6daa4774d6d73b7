"""k^m-anonymity: whoever knows at most m items of a person still faces k records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.arrays import Int32Array, Int64Array, kept_offsets, neighbour_order, offsets_of
from setveil.core.literature import TERROVITIS_2008
from setveil.core.params import count
from setveil.core.registry import register
from setveil.core.table import canonical_order, take_rows
from setveil.guarantee.base import MOST_WITNESSES, Verdict, Witness
from setveil.release.views import published_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy.typing as npt

    from setveil.core.table import TransactionTable
    from setveil.release.base import Release
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
class KmAnonymity:
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

    def check(self, published: Release | TransactionTable) -> Verdict:
        """Count sets of items of `published`; witnesses are the smallest that are too rare."""
        return self.check_rows(published_rows(published))

    def check_rows(self, rows: PublishedRows) -> Verdict:
        """Count sets of items of rows that are given as numbers."""
        if not len(rows.items):
            reason = "no record has an item, so no itemset is rare"
            return Verdict(holds=True, exact=True, reason=reason, checked=len(rows))
        ranked = Ranked.of(rows)
        if ranked.supports.min() < self.k:
            rare = np.flatnonzero(ranked.supports < self.k)
            shown = rare[:MOST_WITNESSES]
            found = Rare(len(rare), ranked.supports[shown], shown[:, None], len(ranked.supports))
            return self.violated(rows.names, ranked.numbers, found, stopped=False)
        return self._check_sets(rows, ranked)

    def _check_sets(self, rows: PublishedRows, ranked: Ranked) -> Verdict:
        """Check sets of two and more items, where no single item is rare."""
        # With k = 1 nothing that occurs is rare.
        most = min(self.m, int(rows.lengths.max())) if self.k > 1 else 1
        ahead = places_ahead(ranked, most, self.k)
        largest = self.largest_counted(ahead, most)
        fewer = without_twins(rows, ranked) if sum(ahead) > self.work / SOON else None
        if fewer is not None:
            # Items that the same records hold are as good as one for the smallest rare sets.
            verdict = self.check_rows(fewer)
            if verdict.holds and verdict.exact:
                return self.kept(len(ranked.supports), len(rows), verdict.checked)
            if verdict.holds or largest < most:
                return verdict if verdict.holds else _at_least(verdict)
        counted = self._count(rows, ranked, largest)
        if largest == most or not (counted.holds and counted.exact):
            return counted
        return self._search(rows, ranked, most, ahead, counted.checked)

    def _search(
        self,
        rows: PublishedRows,
        ranked: Ranked,
        most: int,
        ahead: Sequence[float],
        checked: int,
    ) -> Verdict:
        """Look for a rare set larger than those that were counted, where these keep the promise."""
        largest = self.largest_counted(ahead, most)
        found = quick_search(ranked, most, self.k)
        if found is not None:
            return self._met(rows.names, ranked.numbers, found, largest)
        return self._too_many(largest + 1, ahead, checked)

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

    def _count(self, rows: PublishedRows, ranked: Ranked, most: int) -> Verdict:
        """Count the sets of 2 to `most` items, one size after the other."""
        steps, checked = 0, len(ranked.supports)
        for size in range(2, most + 1):
            found, steps, done = count_rare(ranked, size, self.k, steps=steps, work=self.work)
            checked += found.checked
            if found.number:
                return self.violated(rows.names, ranked.numbers, found, stopped=not done)
            if not done:
                return self.undecided(size, checked)
            if not found.checked:
                break  # all of these sets have the records of a smaller one; so have larger ones
        return self.kept(len(ranked.supports), len(rows), checked)

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
        verdict = self.violated(names, numbers, found, stopped=True)
        size = found.itemsets.shape[1]
        smaller = f"sets of at most {counted} items" if counted > 1 else "single items"
        return replace(
            verdict,
            reason=f"at least one {_noun(size, one=True)} occurs in fewer than {self.k} records, "
            f"in {found.supports[0]:,}; {smaller} do not (a quick search found it; there are too "
            "many sets to count them all)",
        )

    def kept(self, n_items: int, records: int, checked: int) -> Verdict:
        """Return the verdict where no set is rare."""
        reason = (
            f"every set of at most {self.m} of {n_items:,} published items that "
            f"occurs does so in at least {self.k} of {records:,} records"
        )
        return Verdict(holds=True, exact=True, reason=reason, checked=checked)

    def undecided(self, size: int, checked: int) -> Verdict:
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

    def violated(
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

    @property
    def group_size(self) -> int:
        """Return the number of people among whom each one is hidden."""
        return self.k

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


@dataclass(frozen=True)
class Ranked:
    """Records whose items are numbered from the rarest up, as the kernel wants them."""

    numbers: Int64Array  # the published item behind each rank
    supports: Int64Array  # by rank
    items: Int32Array
    ends: Int64Array
    occurrence_offsets: Int64Array
    occurrences: Int64Array

    @classmethod
    def of(cls, rows: PublishedRows) -> Ranked:
        """Rank the items of published records."""
        supports = rows.supports()
        numbers = np.argsort(supports, kind="stable")
        numbers = numbers[np.searchsorted(supports[numbers], 0, side="right") :]
        rank = np.full(len(supports), -1, dtype=np.int64)
        rank[numbers] = np.arange(len(numbers))
        width = np.int64(len(numbers))
        keys = np.repeat(np.arange(len(rows)) * width, rows.lengths) + rank[rows.items]
        keys.sort()
        items = (keys % width).astype(np.int32)
        return cls(
            numbers=numbers,
            supports=supports[numbers],
            items=items,
            ends=np.repeat(rows.offsets[1:], rows.lengths),
            occurrence_offsets=offsets_of(supports[numbers]),
            occurrences=np.argsort(items, kind="stable"),
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

    >>> from setveil import TransactionTable
    >>> rows = published_rows(TransactionTable.from_rows([["a", "b"], ["a", "c"], ["a", "d"]]))
    >>> places_ahead(Ranked.of(rows), 2, 1)
    []
    """
    first, until = roots or (0, len(ranked.supports))
    ends = np.flatnonzero(np.diff(ranked.ends, prepend=-1, append=-1))
    lengths, records = np.unique(np.diff(ends), return_counts=True)
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


def quick_search(ranked: Ranked, most: int, k: int) -> Rare | None:
    """Look for a rare set of at most `most` items: always on with the rarest extension.

    >>> from setveil import TransactionTable
    >>> rows = published_rows(TransactionTable.from_rows([["a", "b"], ["a", "b"], ["a"], ["b"]]))
    >>> found = quick_search(Ranked.of(rows), 2, 3)
    >>> found.supports.tolist(), found.itemsets.tolist()
    ([2], [[0, 1]])
    """
    from setveil.guarantee.km_kernels import probe_itemsets

    roots = np.arange(min(len(ranked.supports), SEARCHES))
    rarest = np.full(most, -1, dtype=np.int32)
    _, support = probe_itemsets(
        ranked.items, ranked.ends, ranked.occurrence_offsets, ranked.occurrences, roots,
        np.ones(len(roots)), np.zeros((len(roots), 0)), k, FEW, np.zeros(most - 1), rarest,
    )  # fmt: skip
    if support < 0:
        return None
    return Rare(1, np.array([support]), rarest[None, rarest >= 0], 1)


def without_twins(rows: PublishedRows, ranked: Ranked) -> PublishedRows | None:
    """Return the rows with one of all items that the same records hold; None if all differ.

    >>> from setveil import TransactionTable
    >>> rows = published_rows(TransactionTable.from_rows([["a", "b", "c"], ["a", "b"]]))
    >>> fewer = without_twins(rows, Ranked.of(rows))
    >>> [fewer.names[i] for i in fewer.items.tolist()]
    ['a', 'c', 'a']
    """
    record = np.repeat(np.arange(len(rows), dtype=np.int32), rows.lengths)
    held = record[ranked.occurrences]
    order = canonical_order(ranked.occurrence_offsets, held)
    same = neighbour_order(*take_rows(ranked.occurrence_offsets, held, order)) == 0
    if not same.any():
        return None
    keep = np.ones(len(rows.names), dtype=bool)
    keep[ranked.numbers[order[1:][same]]] = False
    left = keep[rows.items]
    offsets = kept_offsets(rows.offsets, left)
    return replace(rows, offsets=offsets, items=rows.items[left])


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
