"""Which tokens to suppress so that no rule with a sensitive consequent is too sure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from setveil.anonymize.rho.association_rules import TokenView, odds
from setveil.anonymize.rho.rule_kernels import BROKEN, SAFE
from setveil.anonymize.rho.suppress_kernels import hitting, rules_of_size
from setveil.release.base import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from fractions import Fraction

    from setveil.anonymize.rho.association_rules import ItemRows
    from setveil.anonymize.rho.time_budget import TimeBudget
    from setveil.core.table import Int32Array, Int64Array

RULES = 1 << 20
"""Rules of a level that are listed at once; of more a share is drawn and the level repeated."""

LEVEL_WORK = 300_000_000
"""Steps that a level of three or more items may take before witnesses are hit one by one."""

SHOWN = 1_000
"""Steps that a log shows; what follows is summed up in one."""


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
    progress: Callable[[str, int, int], None] | None = None
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
        starts = np.concatenate([[0], np.cumsum(asks)])[view.rows.offsets]
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


def shown(steps: list[Step]) -> tuple[Step, ...]:
    """Return the log, with what comes after the first thousand steps summed up."""
    if len(steps) <= SHOWN:
        return tuple(steps)
    rest = steps[SHOWN:]
    return (
        *steps[:SHOWN],
        Step(
            action="and more",
            subject=f"{len(rest):,} further steps",
            reason="not listed one by one",
            cost=sum(step.cost for step in rest),
        ),
    )
