"""Rules that lead to sensitive items: which are too sure, and suppression that breaks them."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    minimised,
    search,
)
from setveil.anonymize.rho.suppress_kernels import (
    hitting,
    merged,
    projected,
    row_marks,
    rules_of_size,
)
from setveil.core.arrays import Int32Array, Int64Array, kept_offsets, offsets_of
from setveil.core.table import take_rows
from setveil.kernels.rows import transpose

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from setveil.anonymize.rho.rho_method import TimeBudget
    from setveil.core.table import TransactionTable
    from setveil.core.threads import Progress

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
        offsets, items = projected(
            ordered.offsets.copy(), ordered.items.copy(), np.arange(len(ordered)), number, n_items
        )
        kinds, weights, _ = merged(offsets, items, np.ones(len(ordered), dtype=np.int64))
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
        offsets, tokens = projected(records.offsets, records.items, among, image, n_tokens)
        support = np.bincount(tokens, minlength=n_tokens)
        used = np.flatnonzero(support)
        later = np.zeros(len(used), dtype=bool) if first is None else ~np.isin(used, first)
        used = used[np.lexsort((used, support[used], later))]
        place = np.full(n_tokens, -1, dtype=np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        starts, posts = transpose(offsets, place[tokens], len(used))
        offsets, tokens = transpose(starts, posts, len(among))
        kinds, weights, kind_of = merged(offsets, tokens, records.weights[among])
        offsets, tokens = take_rows(offsets, tokens, kinds)
        yes, no = odds(rho, records.n_records)
        n_first = len(used) - int(np.count_nonzero(later))
        return cls._indexed(
            (offsets, tokens, weights), kind_of, tokens=used, n_first=n_first, odds=(yes, no)
        )

    @classmethod
    def _indexed(
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
        return self._indexed(
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
        return minimised(self.rows, antecedent, a, base, self.yes, self.no, budget.meter)

    def is_proved(self, a: int, budget: TimeBudget) -> tuple[Finding, int]:
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


RULES = 1 << 20
"""Rules of a level that are listed at once; of more a share is drawn and the level repeated."""

LEVEL_WORK = 300_000_000
"""Steps that a level of three or more items may take before witnesses are hit one by one."""


class TooDearError(Exception):
    """The suppressions cost more than was allowed; caught by whoever allowed it."""


@dataclass(frozen=True, kw_only=True)
class Pick:
    """A token that is suppressed, why, and what that loses."""

    token: int
    reason: str
    cost: int


@dataclass(kw_only=True, eq=False)
class RuleSuppression:
    """The search for what to suppress: rules by the size of their antecedents, greedily.

    All rules of a size that are too sure are listed; the token in most of them per unit of cost
    goes, until none is left. Then come the rules that are one item longer. Suppression deletes
    rules and changes no other, so sizes need not be visited twice, and a sensitive token that is
    once proved safe stays so.

    From size three on only those sensitive tokens are asked about that the oracle
    (:meth:`~setveil.anonymize.rho.association_rules.TokenView.decide`) cannot prove safe. Where
    listing a size takes too long, the oracle is asked for one rule per sensitive token instead,
    and these are hit, until it finds none.

    Parameters
    ----------
    records, image, n_tokens, rho
        The records, and what each item is recoded to; see
        :class:`~setveil.anonymize.rho.association_rules.TokenView`.
    sensitive_from
        Tokens from this number on are sensitive.
    cost
        What suppressing each token loses.
    budget
        The time that is left.
    first, among
        Antecedents must hold one of `first`; only these records hold one.
    allowed
        Cost above which the search is given up (:class:`TooDearError`).
    """

    records: ItemRows
    image: Int32Array
    n_tokens: int
    rho: Fraction
    sensitive_from: int
    cost: Int64Array
    budget: TimeBudget
    first: Int64Array | None = None
    among: Int64Array | None = None
    allowed: int | None = None
    progress: Progress | None = None
    picks: list[Pick] = field(default_factory=list)
    loss: int = 0
    notes: list[str] = field(default_factory=list)
    _proved: set[int] = field(default_factory=set)
    _view: TokenView | None = None

    def run(self) -> None:
        """Find the tokens; they are in `picks`, what they cost in `loss`."""
        for size in (1, 2):
            self._tell(size)
            self._hit_level(size, self._asked())
        unproved = self._unproved()
        size = 3
        while unproved:
            self._tell(size)
            before = len(self.picks)
            listed = size < self._longest() and self._hit_level(size, unproved, LEVEL_WORK)
            if len(self.picks) > before:
                unproved = self._unproved()
            if not listed:
                self._hit_witnesses(unproved)
                return
            size += 1

    def suppress_frequent(self) -> None:
        """Suppress the sensitive items that a share of ρ or more of all records hold."""
        yes, no = odds(self.rho, self.records.n_records)
        for item in np.flatnonzero(self.image >= self.sensitive_from).tolist():
            held = int(self.records.supports[item])
            if held and no * (self.records.n_records - held) <= yes * held:
                self._suppress(
                    int(self.image[item]),
                    f"{held:,} of all {self.records.n_records:,} records hold it",
                )

    def suppress_unproved(self, reason: str) -> None:
        """Suppress every sensitive token that no search has proved safe."""
        occurring = self.image[self.records.supports > 0]
        for token in np.unique(occurring[occurring >= self.sensitive_from]).tolist():
            if token not in self._proved:
                self._suppress(token, reason)

    def _tell(self, size: int) -> None:
        if self.progress:
            self.progress(f"rules with {size} known item{'s' * (size > 1)}", size - 1, size)

    @property
    def view(self) -> TokenView:
        """The records as they are now."""
        if self._view is None:
            self._view = TokenView.of(
                self.records, self.image, self.n_tokens, self.rho,
                first=self.first, among=self.among,
            )  # fmt: skip
        return self._view

    def _asked(self) -> list[int]:
        """Return the sensitive tokens of the view, by their numbers there."""
        return np.flatnonzero(self.view.alive & (self.view.tokens >= self.sensitive_from)).tolist()

    def _longest(self) -> int:
        return int(np.diff(self.view.rows.offsets).max(initial=0))

    def _hit_level(self, size: int, asked: Iterable[int], work: int | None = None) -> bool:
        """Suppress until no rule of this size is left; False if that takes too much work."""
        wanted = np.zeros(self.n_tokens, dtype=bool)
        wanted[self.view.tokens[list(asked)]] = True
        while True:
            listed = self._rules(size, wanted, work)
            if listed is None:
                return False
            rules, total = listed
            if total == 0:
                return True
            chosen, hits = self._hitting(rules)
            part = "" if total == len(rules) else f" in a sample of {len(rules):,}"
            for token, n_hit in zip(chosen.tolist(), hits.tolist(), strict=True):
                self._suppress(
                    int(self.view.tokens[token]),
                    f"in {n_hit:,} of {total:,} rules that are too sure with {size} known "
                    f"item{'s' * (size > 1)}{part}",
                )
            self._view = None
            if not part:
                return True

    def _hitting(self, rules: Int32Array) -> tuple[Int32Array, Int64Array]:
        """Choose tokens of the view that hit the rules; of equals a sensitive one, then the lowest.

        A sensitive token takes all longer rules about it along.
        """
        tokens = self.view.tokens
        order = np.lexsort((tokens, tokens < self.sensitive_from)).astype(np.int32)
        rank = np.empty(len(order) + 1, dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        rank[-1] = -1
        chosen, hits = hitting(rank[rules], self.cost[self.view.tokens[order]])
        return order[chosen], hits

    def _rules(
        self, size: int, wanted: np.ndarray, work: int | None
    ) -> tuple[Int32Array, int] | None:
        """Return rules of this size, all or a share of them, and how many there are."""
        view, meter = self.view, self.budget.meter
        asks = wanted[view.tokens][view.rows.tokens]
        asked = view.rows.tokens[asks]
        starts = kept_offsets(view.rows.offsets, asks)
        if not len(asked):
            return np.empty((0, size + 1), dtype=np.int32), 0
        mask, rules, total = 0, np.empty((0, size + 1), dtype=np.int32), 0
        while True:
            self.budget.allow(*() if work is None else (work,))
            listed, total = rules_of_size(
                view.rows, starts, asked, view.n_first, size, view.yes, view.no, mask, RULES, meter
            )
            self.budget.check()
            if total < 0:
                return None
            rules = listed if len(listed) else rules
            if total <= RULES or (mask and len(listed)) or mask == 1:
                return rules, total
            # Too many: about half of what may be listed, drawn by a hash of the rule.
            mask = mask >> 1 if mask else (1 << (total // RULES).bit_length()) - 1

    def _unproved(self) -> list[int]:
        """Ask the oracle about every sensitive token; return those it cannot prove safe."""
        unproved = []
        for a in self._asked():
            if int(self.view.tokens[a]) in self._proved:
                continue
            finding, _ = self.view.is_proved(a, self.budget)
            if finding.verdict == SAFE:
                self._proved.add(int(self.view.tokens[a]))
            else:
                unproved.append(a)
        return unproved

    def _hit_witnesses(self, unproved: list[int]) -> None:
        """Ask the oracle for one rule per sensitive token, hit them all, and ask again."""
        view = self.view
        self.notes.append("rules of many items were found one by one, not listed")
        while unproved:
            rules: list[list[int]] = []
            doubtful = []
            for a in unproved:
                finding, base = view.is_proved(a, self.budget)
                if finding.verdict == BROKEN:
                    smaller = view.minimal(a, base, finding.antecedent, self.budget)
                    rules.append([*smaller.tolist(), a])
                    doubtful.append(a)
                elif finding.verdict == SAFE:
                    self._proved.add(int(view.tokens[a]))
                else:
                    view.alive[a] = False
                    self._suppress(
                        int(view.tokens[a]), "it could not be decided whether it is safe"
                    )
            width = max(map(len, rules), default=1)
            array = np.array([r + [-1] * (width - len(r)) for r in rules], dtype=np.int32)
            chosen, _ = self._hitting(array.reshape(-1, width))
            for token in chosen.tolist():
                view.alive[token] = False
                self._suppress(
                    int(view.tokens[token]), "in a rule that is too sure, found by the oracle"
                )
            unproved = [a for a in doubtful if view.alive[a]]

    def _suppress(self, token: int, reason: str) -> None:
        lost = int(self.cost[token])
        self.loss += lost
        self.picks.append(Pick(token=token, reason=reason, cost=lost))
        self.image = np.where(self.image == token, np.int32(-1), self.image)
        if self.allowed is not None and self.loss > self.allowed:
            raise TooDearError
