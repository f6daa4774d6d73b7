"""Rules that lead to sensitive items, and which of them are too sure."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from setveil.anonymize.rho.rule_kernels import (
    BROKEN,
    SAFE,
    UNDECIDED,
    Stamps,
    TokenRows,
    covering,
    minimise,
    search,
)
from setveil.anonymize.rho.suppress_kernels import merge_equal_rows, recode_rows, row_marks
from setveil.core.arrays import Int32Array, Int64Array, offsets_of
from setveil.core.table import take_rows
from setveil.kernels.rows import transpose

if TYPE_CHECKING:
    import numpy.typing as npt

    from setveil.anonymize.rho.suppress_control import TimeBudget
    from setveil.core.table import TransactionTable

ORACLE_WORK = 300_000_000
"""Steps after which a question about one sensitive item is given up, and the item suppressed."""


def odds(rho: Fraction, n: int) -> tuple[int, int]:
    """Return whole numbers (yes, no): of at most n records, a share of ρ or more is with the rule.

    That is, ``no * without <= yes * with`` just when with / (with + without) >= ρ. Shares of at
    most n records have denominators up to n, so ρ may be rounded up to the next such fraction,
    which keeps products small for any ρ.

    >>> odds(Fraction(7, 10), 1000), odds(Fraction("0.333333333333333333333"), 10)
    ((3, 7), (2, 1))
    """
    if rho.denominator > n:
        low_p, low_q, high_p, high_q = 0, 1, 1, 1
        a, b = rho.numerator, rho.denominator
        # Walk down the Farey neighbours around ρ: low < ρ <= high, as many equal steps at once.
        while low_q + high_q <= n:
            gap_low = a * low_q - low_p * b
            gap_high = high_p * b - a * high_q
            if gap_high >= gap_low:
                steps = min(gap_high // gap_low, (n - high_q) // low_q)
                high_p, high_q = high_p + steps * low_p, high_q + steps * low_q
            else:
                steps = min((gap_low - 1) // gap_high, (n - low_q) // high_q)
                low_p, low_q = low_p + steps * high_p, low_q + steps * high_q
        rho = Fraction(high_p, high_q)
    return rho.denominator - rho.numerator, rho.numerator


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemRows:
    """The distinct records in canonical order with their copies, over renumbered items."""

    offsets: Int64Array
    items: Int32Array
    weights: Int64Array
    starts: Int64Array
    posts: Int32Array
    supports: Int64Array
    n_records: int

    @classmethod
    def of(cls, table: TransactionTable, number: Int32Array, n_items: int) -> ItemRows:
        """Take the records of a table; `number` gives each vocabulary item its number here."""
        ordered = table.take(table.canonical_order())
        offsets, items = recode_rows(
            ordered.offsets.copy(), ordered.items.copy(), np.arange(len(ordered)), number, n_items
        )
        kinds, weights, _ = merge_equal_rows(offsets, items, np.ones(len(ordered), dtype=np.int64))
        offsets, items = take_rows(offsets, items, kinds)
        starts, posts = transpose(offsets, items, n_items)
        copies = np.repeat(weights, np.diff(offsets))
        supports = np.bincount(items, weights=copies, minlength=n_items).astype(np.int64)
        return cls(
            offsets=offsets,
            items=items,
            weights=weights,
            starts=starts,
            posts=posts,
            supports=supports,
            n_records=len(table),
        )

    def holding(self, low: int, high: int) -> Int64Array:
        """Return the records that hold an item numbered low .. high - 1, in order."""
        return np.unique(self.posts[self.starts[low] : self.starts[high]]).astype(np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Finding:
    """The answer about one sensitive token: a verdict and, where broken, the antecedent."""

    verdict: int
    antecedent: Int32Array


@dataclass(frozen=True, kw_only=True, eq=False)
class TokenView:
    """Records recoded to tokens, numbered anew: those that antecedents must hold, then by rarity.

    ``kind_of`` gives for each record its row here, equal records being one row with a weight.
    ``tokens[i]`` is the token that is numbered `i` here; the first ``n_first`` are those of which
    an antecedent must hold one (all of them where nothing is asked). Tokens that are not
    ``alive`` count as suppressed.
    """

    rows: TokenRows
    kind_of: Int32Array
    tokens: Int64Array
    n_first: int
    alive: npt.NDArray[np.bool_]
    stamps: Stamps
    yes: int
    no: int

    @classmethod
    def of(
        cls,
        records: ItemRows,
        image: Int32Array,
        n_tokens: int,
        rho: Fraction,
        *,
        first: Int64Array | None = None,
        among: Int64Array | None = None,
    ) -> TokenView:
        """Recode the records (or those `among` them) by `image`: item number → token, or -1."""
        if among is None:
            among = np.arange(len(records.weights))
        offsets, tokens = recode_rows(records.offsets, records.items, among, image, n_tokens)
        support = np.bincount(tokens, minlength=n_tokens)
        used = np.flatnonzero(support)
        later = np.zeros(len(used), dtype=bool) if first is None else ~np.isin(used, first)
        used = used[np.lexsort((used, support[used], later))]
        place = np.full(n_tokens, -1, dtype=np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        starts, posts = transpose(offsets, place[tokens], len(used))
        offsets, tokens = transpose(starts, posts, len(among))
        kinds, weights, kind_of = merge_equal_rows(offsets, tokens, records.weights[among])
        offsets, tokens = take_rows(offsets, tokens, kinds)
        yes, no = odds(rho, records.n_records)
        n_first = len(used) - int(np.count_nonzero(later))
        return cls._index(
            (offsets, tokens, weights), kind_of, tokens=used, n_first=n_first, odds=(yes, no)
        )

    @classmethod
    def _index(
        cls,
        given: tuple[Int64Array, Int32Array, Int64Array],
        kind_of: Int32Array,
        *,
        tokens: Int64Array,
        n_first: int,
        odds: tuple[int, int],
    ) -> TokenView:
        """Put the rows in order, longest first, and index them by their tokens."""
        offsets, values, weights = given
        lengths = np.diff(offsets)
        shorter = lengths.max(initial=0) - lengths
        # Sixteen bits are sorted in linear time.
        small = shorter.max(initial=0) < 1 << 16
        longest = np.argsort(shorter.astype(np.uint16) if small else shorter, kind="stable")
        rank = np.empty(len(longest), dtype=np.int32)
        rank[longest] = np.arange(len(longest), dtype=np.int32)
        offsets, values = take_rows(offsets, values, longest)
        starts, posts = transpose(offsets, values, len(tokens))
        marks = row_marks(offsets, values)
        return cls(
            rows=TokenRows(offsets, values, weights[longest], starts, posts, marks),
            kind_of=rank[kind_of],
            tokens=tokens,
            n_first=n_first,
            alive=np.ones(len(tokens), dtype=bool),
            stamps=Stamps(*(np.zeros(len(weights), dtype=np.int64) for _ in range(4))),
            yes=odds[0],
            no=odds[1],
        )

    def with_token(self, token: int, holders: Int64Array, weights: Int64Array) -> TokenView:
        """Return the view with one more token, in the records `holders`; `weights` of all records.

        Only for views of all records without a condition on antecedents.
        """
        # Each row may fall into two: without the token, and with it.
        half = 2 * self.kind_of.astype(np.int64)
        half[holders] += 1
        occurs = np.zeros(2 * len(self.rows.weights), dtype=bool)
        occurs[half] = True
        keys = np.flatnonzero(occurs)
        kind_of = (np.cumsum(occurs) - 1)[half]
        totals = np.bincount(kind_of, weights=weights, minlength=len(keys)).astype(np.int64)
        offsets, tokens = take_rows(self.rows.offsets, self.rows.tokens, keys // 2)
        longer = np.flatnonzero(keys % 2)
        tokens = np.insert(tokens, offsets[longer + 1], np.int32(len(self.tokens)))
        offsets = offsets + offsets_of(keys % 2)
        names = np.append(self.tokens, token)
        return self._index(
            (offsets, tokens, totals),
            kind_of.astype(np.int32),
            tokens=names,
            n_first=len(names),
            odds=(self.yes, self.no),
        )

    def decide(
        self,
        a: int,
        base: int,
        budget: TimeBudget,
        *,
        holders: Int32Array | None = None,
        given: Int64Array | None = None,
    ) -> Finding:
        """Look for a rule with the consequent `a` (and `base` in it, unless -1) that is too sure.

        The empty antecedent is not looked at. A consequent that is no token here (`a` is -1) is
        told by the rows that hold it, and how many copies of each do. The verdict is UNDECIDED
        where the work allowed was used up; an error where the time was.
        """
        rows = self.rows
        if holders is None or given is None:
            holders = rows.posts[rows.starts[a] : rows.starts[a + 1]]
            given = rows.weights[holders]
        budget.allow(ORACLE_WORK)
        odds = (self.yes, self.no)
        verdict, places = UNDECIDED, holders
        antecedent = np.empty(0, dtype=np.int32)
        for full in (False, True):
            if verdict == UNDECIDED and len(places):
                verdict, broken, places, reach, unmet = covering(
                    rows, self.alive, a, base, holders, given, *odds, full, self.stamps,
                    budget.meter,
                )  # fmt: skip
        if verdict == BROKEN:
            held = rows.tokens[rows.offsets[broken] : rows.offsets[broken + 1]]
            antecedent = held[self.alive[held] & (held != a)]
        elif verdict == UNDECIDED and len(places):
            verdict, antecedent = search(
                rows, self.alive, a, base, *odds, places, reach, unmet, self.stamps, budget.meter
            )
        budget.check()
        return Finding(verdict=verdict, antecedent=antecedent)

    def minimal(self, a: int, base: int, antecedent: Int32Array, budget: TimeBudget) -> Int32Array:
        """Return the antecedent without tokens that it does not need to be too sure."""
        budget.allow()
        return minimise(self.rows, antecedent, a, base, self.yes, self.no, budget.meter)

    def prove(self, a: int, budget: TimeBudget) -> tuple[Finding, int]:
        """Decide about `a` under the condition on antecedents; also the base of what was found."""
        bases = range(self.n_first) if self.n_first < len(self.tokens) else (-1,)
        found, base = Finding(verdict=SAFE, antecedent=np.empty(0, dtype=np.int32)), -1
        for base in bases:
            if base == a or (base >= 0 and not self.alive[base]):
                continue
            found = self.decide(a, base, budget)
            if found.verdict != SAFE:
                break
        return found, base
