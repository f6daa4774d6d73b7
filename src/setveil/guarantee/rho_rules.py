"""Rules that reach a confidence: the exact search behind ρ-uncertainty.

For a sensitive item a, the confidence of χ → a is greatest where χ is an intersection of records
with a (less a itself): closing χ keeps the records that confirm the rule and can only lose
others. So nothing here enumerates the subsets of a record. It looks at single items, then
tries to reserve for each record with a enough different records without a that hold the rest of
it (which proves a safe), and searches the closed sets of the items where this fails.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.arrays import offsets_of
from setveil.core.table import TransactionTable, take_rows
from setveil.guarantee.itemset_search import count_totals, rank_items, search_sets
from setveil.guarantee.rho_kernels import (
    CHOSEN,
    DONE,
    FRESH,
    PAUSED,
    TOTAL,
    WITHOUT,
    Frames,
    Index,
    Marks,
    allowed,
    bit_rows,
    count_pairs,
    count_without,
    merge_rows,
    reserve,
    search,
)
from setveil.kernels.rows import transpose
from setveil.release.views import published_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from setveil.core.arrays import BoolArray, Int32Array, Int64Array
    from setveil.core.records import Parts
    from setveil.guarantee.itemset_search import SearchRows
    from setveil.release.views import PublishedRows


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """The confidence p/q that no rule may reach, or, if strict, may pass."""

    p: int
    q: int
    strict: int = 0

    def breaks(self, rule: Rule) -> bool:
        """Tell whether a rule breaks the threshold.

        >>> even = Rule(antecedent=(), consequent=0, both=1, support=2)
        >>> Threshold(p=1, q=2).breaks(even), Threshold(p=1, q=2, strict=1).breaks(even)
        (True, False)
        """
        return rule.both * self.q >= self.p * rule.support + self.strict


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule by item numbers: `both` of the `support` records with the antecedent confirm it."""

    antecedent: tuple[int, ...]
    consequent: int
    both: int
    support: int

    @property
    def confidence(self) -> Fraction:
        """The share of records with the antecedent that hold the consequent."""
        return Fraction(self.both, self.support)

    def renumbered(self, numbers: Int64Array) -> Rule:
        """Return the rule by the number that stands at each item's place."""
        return Rule(
            antecedent=tuple(sorted(numbers[list(self.antecedent)].tolist())),
            consequent=int(numbers[self.consequent]),
            both=self.both,
            support=self.support,
        )

    def rank(self) -> tuple[Fraction, int, tuple[int, ...], int]:
        """Return what sorts rules, the worst for privacy first."""
        return -self.confidence, -self.support, self.antecedent, self.consequent


def least_from(rho: Fraction, n: int) -> Threshold:
    """Return the least fraction from `rho` on whose denominator is at most `n`.

    A confidence over `n` records reaches rho exactly if it reaches this fraction, and products
    with supports now fit 64 bits however many digits rho has.

    >>> least_from(Fraction("0.7"), 5)
    Threshold(p=3, q=4, strict=0)
    """
    near = rho.limit_denominator(max(n, 1))
    if near >= rho:
        return Threshold(p=near.numerator, q=near.denominator)
    # The nearest fraction lies below: its upper neighbour c/d has b·c - a·d = 1 and d greatest.
    a, b = near.numerator, near.denominator
    d = n - (n + pow(a, -1, b)) % b
    return Threshold(p=(1 + a * d) // b, q=d)


def above(rule: Rule) -> Threshold:
    """Return the threshold that only better rules break."""
    best = rule.confidence
    return Threshold(p=best.numerator, q=best.denominator, strict=1)


STEPS = 1 << 18
"""Steps of a kernel between two looks at the clock: some milliseconds."""

ROOM = 1 << 16
"""Rules with one item on the left that are collected at once."""


class OutOfTimeError(Exception):
    """The budget is used up; caught by those who gave it."""


def build_index(offsets: Int64Array, items: Int32Array, width: int) -> tuple[Index, Int64Array]:
    """Merge equal rows, sort them longest first, and number the items from the rarest on.

    Returns the index and the original number of each of its items. Nothing in it depends on the
    order of the rows.
    """
    hashes_of = np.random.default_rng(0).integers(-(1 << 62), 1 << 62, width)
    first, copies, hashes = merge_rows(offsets, items, hashes_of)
    order = np.lexsort((hashes, -np.diff(offsets)[first]))
    weights = copies[order]
    starts, merged = take_rows(offsets, items, first[order])
    frequency = np.bincount(merged, minlength=width)
    numbers = np.argsort(frequency, kind="stable")
    numbers = numbers[frequency[numbers] > 0]
    rank = np.zeros(width, dtype=np.int32)
    rank[numbers] = np.arange(len(numbers), dtype=np.int32)
    merged = rank[merged]
    list_starts, list_rows = transpose(starts, merged, len(numbers))
    row_starts, row_items = transpose(list_starts, list_rows, len(weights))  # now ascending
    bits = np.uint64(1) << (row_items & 63).astype(np.uint64)
    signs = np.bitwise_or.reduceat(bits, row_starts[:-1]) if len(weights) else bits
    supports = np.bincount(merged, np.repeat(weights, np.diff(starts)), len(numbers))
    # Covers of the items in more than every 64th row: at most 8 bytes per item of a row.
    rare = int(np.count_nonzero(np.diff(list_starts) * 64 <= len(weights)))
    index = Index(
        row_starts=row_starts,
        row_items=row_items,
        weights=weights,
        signs=signs,
        list_starts=list_starts,
        list_rows=list_rows,
        supports=supports.astype(np.int64),
        covers=bit_rows(list_starts, list_rows, rare, len(weights)),
        hashes=hashes[order],
        item_hashes=hashes_of[numbers],
    )
    return index, numbers


@dataclass(kw_only=True)
class Oracle:
    """Answers questions about the rules of one set of records, within a budget.

    Parameters
    ----------
    records
        How many records there are, empty ones included.
    index
        The records; items below are its numbers.
    numbers
        The published number of each item.
    sensitive
        The items that may be inferred, those in the fewest rows first.
    deadline
        When to stop, on the clock of :func:`time.perf_counter`.
    """

    records: int
    index: Index
    numbers: Int64Array
    sensitive: Int64Array
    deadline: float = float("inf")
    safe: int = 0  # sensitive items proved safe so far
    _tick: int = 0
    _marks: Marks = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.index.weights)
        self._marks = Marks(*(np.zeros(n, dtype=np.int64) for _ in range(3)))

    @classmethod
    def about(
        cls, rows: PublishedRows, sensitive: Iterable[int], *, budget: float | None = None
    ) -> Oracle:
        """Prepare for questions about published records; `sensitive` are numbers that occur."""
        deadline = deadline_of(budget)
        asked = np.fromiter(sensitive, dtype=np.int64)
        return cls.over(rows.offsets, rows.items, len(rows.names), asked, deadline=deadline)

    @classmethod
    def over(
        cls,
        offsets: Int64Array,
        items: Int32Array,
        width: int,
        sensitive: Int64Array,
        *,
        deadline: float = float("inf"),
    ) -> Oracle:
        """Prepare for questions about compressed rows of numbers below `width`."""
        index, numbers = build_index(offsets, items, width)
        return cls(
            records=len(offsets) - 1,
            index=index,
            numbers=numbers,
            # Items are numbered from the rarest on.
            sensitive=np.flatnonzero(np.isin(numbers, sensitive)),
            deadline=deadline,
        )

    def published(self, rule: Rule) -> Rule:
        """Return a rule by the numbers of the rows."""
        return rule.renumbered(self.numbers)

    def violations(self, rho: Fraction, *, prior: bool, most: int) -> tuple[int, list[Rule]]:
        """Return how many rules that reach `rho` were met, and up to `most` of them, worst first.

        No rule says that there is none. Rules with one item or none on the left are all met, and
        longer ones only where there are no such: then the first that come up are enough.
        """
        threshold = least_from(rho, self.records)
        met = [rule for rule in self._priors() if prior and threshold.breaks(rule)]
        count = len(met)
        try:
            for block in self.pairs(threshold):
                count += len(block)
                support = self.index.supports[block[:, 1]]
                order = np.lexsort((*block.T[:2], -support, -block[:, 2] / support))
                met += [self.pair(row) for row in block[order[:most]]]
        except OutOfTimeError:
            if not met:
                raise
        for a in () if met else self.sensitive.tolist():
            try:
                for rule in islice(self.rules(a, threshold), most):
                    met.append(rule)  # one by one: the clock may stop what comes next
            except OutOfTimeError:
                if not met:
                    raise
            if met:
                met = list({self._shortened(rule, threshold) for rule in met})
                count = len(met)
                break
            self.safe += 1
        met.sort(key=Rule.rank)
        return count, met[:most]

    def strongest(self, *, prior: bool) -> Iterator[Rule]:
        """Yield better and better rules; the last is one of greatest confidence."""
        best = Threshold(p=1, q=max(self.records, 1))  # every rule that some record confirms
        for rule in self._priors():
            if prior and best.breaks(rule):
                yield rule
                best = above(rule)
        for block in self.pairs(best, rising=True):
            rule = self.pair(block[0])
            yield rule
            best = above(rule)
        for a in self.sensitive.tolist():
            if best.p == best.q:
                return
            for rule in self.rules(a, best, rising=True):
                yield rule
                best = above(rule)

    def _priors(self) -> Iterator[Rule]:
        for a in self.sensitive.tolist():
            both = int(self.index.supports[a])
            yield Rule(antecedent=(), consequent=a, both=both, support=self.records)

    def _shortened(self, rule: Rule, threshold: Threshold) -> Rule:
        """Leave items out of the antecedent while the rule still breaks the threshold."""
        for x in rule.antecedent:
            fewer = tuple(y for y in rule.antecedent if y != x)
            if not fewer or time.perf_counter() > self.deadline:
                return rule
            other = self.measure(fewer, rule.consequent)
            if threshold.breaks(other):
                rule = other
        return rule

    def _improved(self, rule: Rule) -> Rule:
        """Leave items out of the antecedent while the confidence grows by it."""
        for x in rule.antecedent:
            fewer = tuple(y for y in rule.antecedent if y != x)
            if fewer:
                other = self.measure(fewer, rule.consequent)
                rule = max(rule, other, key=lambda known: known.confidence)
        return rule

    def _watch(self) -> None:
        if time.perf_counter() > self.deadline:
            raise OutOfTimeError

    def pairs(self, threshold: Threshold, *, rising: bool = False) -> Iterator[Int64Array]:
        """Yield the rules {x} → a that break the threshold in blocks of (a, x, support of both).

        With `rising` each block is one rule, better than all before it; the last is the best.
        """
        room = np.empty((max(ROOM, len(self.index.supports)), 3), dtype=np.int64)
        place = 0
        while place < len(self.sensitive):
            self._watch()
            place, found = count_pairs(
                self.index, self.sensitive, place, threshold.p, threshold.q, threshold.strict,
                rising, room, STEPS,
            )  # fmt: skip
            if found:
                yield room[:found].copy()
                if rising:
                    threshold = above(self.pair(room[0]))

    def pair(self, row: Int64Array) -> Rule:
        """Return the rule that a row of `pairs` stands for."""
        a, x, both = row.tolist()
        return Rule(antecedent=(x,), consequent=a, both=both, support=int(self.index.supports[x]))

    def rules(self, a: int, threshold: Threshold, *, rising: bool = False) -> Iterator[Rule]:
        """Yield rules for `a` that break the threshold; none says that there is none.

        All that the certificate meets are yielded, or else what the search finds first. With
        `rising` each rule is better than all before it, and the last is the best.
        """
        members = int(self.index.list_starts[a + 1] - self.index.list_starts[a])
        margins = np.empty(members, dtype=np.int64)
        unmet = np.empty(members, dtype=np.bool_)
        while True:
            met = 0
            for j in self._reserve(a, threshold, -1, margins, unmet):
                rule = self._record_rule(a, j, int(margins[j]))
                if threshold.breaks(rule):
                    met += 1
                    yield rule
                    threshold = above(rule) if rising else threshold
            if not unmet.any() or (met and not rising):
                return
            # The search compares margins with what the whole cover allows: count them that far.
            total = int(self.index.supports[a])
            cap = allowed(total, threshold.p, threshold.q, threshold.strict)
            for _ in self._reserve(a, threshold, cap, margins, unmet):
                pass
            found = self._search(a, threshold, margins, unmet) if unmet.any() else None
            if found is None:
                return
            if not rising:
                yield found
                return
            # A better rule asks for less to be set aside: the certificate is due again.
            better = self._improved(found)
            yield better
            threshold = above(better)

    def _reserve(
        self, a: int, threshold: Threshold, cap: int, margins: Int64Array, unmet: BoolArray
    ) -> Iterator[int]:
        self._tick += 1
        place = 0
        while place < len(margins):
            self._watch()
            place, hit = reserve(
                self.index, a, threshold.p, threshold.q, threshold.strict, cap,
                self._tick, self._marks, margins, unmet, place, STEPS,
            )  # fmt: skip
            if hit >= 0:
                yield hit

    def _record_rule(self, a: int, j: int, without: int) -> Rule:
        """Return the rule from all other items of the j-th row with `a`."""
        t = self.index.list_rows[self.index.list_starts[a] + j]
        row = self.index.row_items[self.index.row_starts[t] : self.index.row_starts[t + 1]]
        antecedent = tuple(x for x in row.tolist() if x != a)
        return self.measure(antecedent, a, without=without)

    def measure(self, antecedent: tuple[int, ...], a: int, *, without: int | None = None) -> Rule:
        """Count the records that hold an antecedent, with and without `a`."""
        both = self._holding((*antecedent, a))
        support = self._holding(antecedent) if without is None else both + without
        return Rule(antecedent=antecedent, consequent=a, both=both, support=support)

    def _holding(self, itemset: tuple[int, ...]) -> int:
        nobody = self._tick + 1  # a tick that no row carries
        everything = np.iinfo(np.int64).max
        numbers = np.array(sorted(itemset), dtype=np.int64)
        seen, _ = count_without(self.index, numbers, nobody, self._marks, everything)
        return int(seen)

    def _search(
        self, a: int, threshold: Threshold, margins: Int64Array, unmet: BoolArray
    ) -> Rule | None:
        frames = self._frames(a, unmet)
        said = PAUSED
        while said == PAUSED:
            self._watch()
            said = search(
                self.index, a, threshold.p, threshold.q, threshold.strict, self._tick,
                self._marks, margins, unmet, frames, STEPS,
            )  # fmt: skip
        if said == DONE:
            return None
        state = frames.state
        return Rule(
            antecedent=tuple(sorted(frames.chosen[: state[CHOSEN]].tolist())),
            consequent=a,
            both=int(state[TOTAL]),
            support=int(state[TOTAL] + state[WITHOUT]),
        )

    def _frames(self, a: int, unmet: BoolArray) -> Frames:
        index = self.index
        rows = index.list_rows[index.list_starts[a] : index.list_starts[a + 1]]
        lengths = np.diff(index.row_starts)[rows]
        n_items = len(index.supports)
        depths = int(lengths.max()) + 3
        # Each depth tries fewer items than the one above; what is never used costs no memory.
        tried = min(n_items, int(lengths[unmet].sum()))
        state = np.zeros(5, dtype=np.int64)
        state[FRESH] = 1
        sizes, borders, places, starts = (np.zeros(depths, dtype=np.int64) for _ in range(4))
        sizes[0] = len(rows)
        return Frames(
            cover=np.arange(len(rows)),
            sizes=sizes,
            borders=borders,
            places=places,
            starts=starts,
            waiting=np.empty(n_items + tried * min(depths, tried), dtype=np.int64),
            chosen=np.empty(n_items, dtype=np.int64),
            is_chosen=np.zeros(n_items, dtype=np.bool_),
            is_barred=np.zeros(n_items, dtype=np.bool_),
            state=state,
        )


def deadline_of(budget: float | None) -> float:
    """Return when a budget that begins now is used up, on the clock of the oracle."""
    if budget is None:
        return float("inf")
    _compile()  # what is done once per machine is not the budget's matter
    return time.perf_counter() + budget


@cache
def _compile() -> None:
    """Run every kernel once, on records that no certificate decides."""
    rows = published_rows(
        TransactionTable.from_rows([["x", "a"], ["y", "a"], ["x", "y"], ["x", "y"], ["x", "y"]])
    )
    Oracle.about(rows, [0]).violations(Fraction(1, 2), prior=True, most=1)


# --- rules in all parts ---------------------------------------------------------------------------


class Violations(NamedTuple):
    """Rules that reach a confidence, by published numbers.

    Parameters
    ----------
    number, rules
        How many were met, and the worst of them.
    in_time
        Whether the search came to its end; else no rule may just not have been met.
    safe
        How many sensitive items are proved safe.
    """

    number: int
    rules: list[Rule]
    in_time: bool = True
    safe: int = 0


@dataclass(frozen=True, kw_only=True)
class RuleSearch:
    """A search for rules that reach `rho`: of all, or of the worst `most` if there are many.

    Where records are in parts, a rule belongs to the first item of its antecedent, the rarest. All
    records with that item meet in one group. Without it, and without what comes before it, they
    are records of their own, whose rules are those that begin with it: each is one question to an
    :class:`Oracle`. Sensitive items that come before it stay, since they may be what follows.
    """

    rho: Fraction
    prior: bool
    most: int
    budget: float | None = None

    def run(self, parts: Parts[PublishedRows], sensitive: Iterable[int]) -> Violations:
        """Search all records; `sensitive` are numbers that occur."""
        asked = np.array(sorted(set(sensitive)), dtype=np.int64)
        if parts.room is None:
            oracle = Oracle.about(parts.sample, asked, budget=self.budget)
            try:
                number, rules = oracle.violations(self.rho, prior=self.prior, most=self.most)
            except OutOfTimeError:
                return Violations(0, [], in_time=False, safe=oracle.safe)
            return Violations(number, [oracle.published(rule) for rule in rules])
        totals = count_totals(parts)
        ranked = rank_items(totals.supports)
        beside = np.full(len(totals.supports), -1, dtype=np.int64)
        is_asked = np.isin(ranked, asked)
        beside[ranked[is_asked]] = np.flatnonzero(is_asked)
        look = partial(_rules_of_group, search=self, sensitive=np.flatnonzero(is_asked))
        groups = search_sets(parts, ranked, look, beside=beside)
        threshold = least_from(self.rho, totals.records)
        priors = [
            Rule(antecedent=(), consequent=a, both=int(totals.supports[a]), support=totals.records)
            for a in (asked.tolist() if self.prior else ())
        ]
        met = [rule for rule in priors if threshold.breaks(rule)]
        short = [group for group in groups if group.rules and len(group.rules[0].antecedent) == 1]
        number = len(met) + sum(group.number for group in short)
        if number:
            met += [rule.renumbered(ranked) for group in short for rule in group.rules]
        else:
            longer = {rule for group in groups for rule in group.rules}
            met, number = [rule.renumbered(ranked) for rule in longer], len(longer)
        in_time = all(group.in_time for group in groups)
        return Violations(number, sorted(met, key=Rule.rank)[: self.most], in_time=in_time)


def _rules_of_group(
    rows: SearchRows, roots: tuple[int, int], search: RuleSearch, sensitive: Int64Array
) -> Violations:
    """Return rules, by ranks, whose antecedent begins with one of a range of ranks.

    Rules from single items are all counted, and longer ones only where there are no such.
    """
    deadline = deadline_of(search.budget)
    n = len(rows.offsets) - 1
    record = np.repeat(np.arange(n), np.diff(rows.offsets))
    at_root = np.flatnonzero(rows.items < roots[1])
    at_root = at_root[np.argsort(rows.items[at_root], kind="stable")]
    borders = np.searchsorted(rows.items[at_root], np.arange(roots[0], roots[1] + 1))
    threshold = least_from(search.rho, n)
    number, rules = 0, []
    for root in range(*roots):
        held = record[at_root[borders[root - roots[0]] : borders[root - roots[0] + 1]]]
        beside = take_rows(rows.beside_offsets, rows.beside, held)[1]
        follows, counts = np.unique(beside[beside != root], return_counts=True)
        breaks = counts * threshold.q >= threshold.p * len(held)
        number += int(np.count_nonzero(breaks))
        rules += [
            Rule(antecedent=(root,), consequent=a, both=both, support=len(held))
            for a, both in zip(follows[breaks].tolist(), counts[breaks].tolist(), strict=True)
        ]
    if number:
        return Violations(number, sorted(rules, key=Rule.rank)[: search.most])
    width = np.int64(max(rows.items.max(initial=0), rows.beside.max(initial=0)) + 1)
    for root in range(*roots):
        places = at_root[borders[root - roots[0]] : borders[root - roots[0] + 1]]
        if not len(places):
            continue
        projected = _records_behind(rows, record, places, width)
        oracle = Oracle.over(*projected, int(width), sensitive, deadline=deadline)
        try:
            number, found = oracle.violations(search.rho, prior=False, most=search.most)
        except OutOfTimeError:
            return Violations(0, [], in_time=False)
        if found:
            whole = [oracle.published(rule) for rule in found]
            return Violations(
                number,
                [replace(r, antecedent=tuple(sorted((*r.antecedent, root)))) for r in whole],
            )
    return Violations(0, [])


def _records_behind(
    rows: SearchRows, record: Int64Array, places: Int64Array, width: np.int64
) -> tuple[Int64Array, Int32Array]:
    """Return what stands behind the places of an item, and the sensitive items before it."""
    held = record[places]
    sizes = rows.offsets[held + 1] - places - 1
    into = offsets_of(sizes)
    behind = rows.items[np.arange(into[-1]) + np.repeat(places + 1 - into[:-1], sizes)]
    offsets, beside = take_rows(rows.beside_offsets, rows.beside, held)
    number = np.arange(len(held), dtype=np.int64) * width
    secret = np.repeat(number, np.diff(offsets)) + beside
    # All of them hold the item itself, which says nothing more.
    secret = secret[beside != rows.items[places[0]]]
    keys = np.unique(np.concatenate([np.repeat(number, sizes) + behind, secret]))
    bounds = np.searchsorted(keys, np.append(number, len(held) * width))
    return bounds, (keys % width).astype(np.int32)
