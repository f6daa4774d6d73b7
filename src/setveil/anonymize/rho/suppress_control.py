"""Suppression for ρ-uncertainty: of every sensitive item, or rule by rule.

What all methods for ρ-uncertainty share stands here too: their parameters, a budget of work and
time, and the search for what to suppress.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from setveil.anonymize.base import (
    Decision,
    MethodRole,
    check_sensitive,
    shorten_log,
    silent,
)
from setveil.anonymize.coherence.mole_kernels import hit_all
from setveil.anonymize.rho.association_rules import ItemRows, TokenView, odds
from setveil.anonymize.rho.rule_kernels import BROKEN, LIMIT, SAFE, STOP, WORK
from setveil.anonymize.rho.suppress_kernels import rules_of_size
from setveil.core.arrays import Int32Array, Int64Array, kept_offsets, offsets_of
from setveil.core.literature import CAO_2010
from setveil.core.params import checked, duration, flag, share
from setveil.core.registry import register
from setveil.guarantee.rho_uncertainty import RhoUncertainty
from setveil.release.base import Anonymization, Step
from setveil.release.suppressed import publish_suppressed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from setveil.core.records import Records
    from setveil.core.table import TransactionTable
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine


@checked
@dataclass(frozen=True, kw_only=True)
class RhoMethod:
    """A method whose release lets no rule about a sensitive item reach ρ.

    >>> RhoMethod(rho=0.7).rho
    Fraction(7, 10)
    """

    rho: Fraction = share(
        Fraction(1, 2),
        above=0,
        doc="confidence that no rule may reach, in (0, 1]",
        symbol="ρ",
        ladder=(0.7, 0.5, 0.3, 0.1, 0.05),
        main=True,
        begin=0.3,
    )
    prior: bool = flag(True, doc="count the share of all records as a rule too")

    def promise_about(self, sensitive: Iterable[str]) -> RhoUncertainty:
        """Return the guarantee that a release keeps which shows these sensitive items."""
        return RhoUncertainty(rho=self.rho, sensitive=tuple(sensitive), prior=self.prior)


@checked
@dataclass(frozen=True, kw_only=True)
class BudgetedRhoMethod(RhoMethod):
    """One that can be cut short, and then publishes less.

    >>> BudgetedRhoMethod(budget=60).budget
    60
    """

    budget: float | None = duration(doc="seconds the run may take; then it suppresses what is open")


UNLIMITED = np.iinfo(np.int64).max


class OutOfTimeError(Exception):
    """The time is used up; caught inside the method, which then publishes what is safe."""


class TimeBudget:
    """Seconds a run may take, as a context: a timer sets a flag that kernels look at.

    What does not depend on the clock does not depend on the budget either: a run that ends in
    time gives the same result as one without a limit.

    Examples
    --------
    >>> with TimeBudget(None) as budget:
    ...     budget.expired
    False
    >>> with TimeBudget(1e-9) as budget:
    ...     budget.expired
    True
    """

    def __init__(self, seconds: float | None) -> None:
        # No timer can wait longer than this; it is some 290 years.
        self.seconds = None if seconds is None else min(seconds, threading.TIMEOUT_MAX)
        self.started = time.monotonic()
        self.meter = np.zeros(4, dtype=np.int64)
        self.meter[LIMIT] = UNLIMITED
        self._aside = 0.0
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _start(self) -> None:
        if self.seconds is None:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(max(self.left, 0.0), self._stop)
        self._timer.daemon = True
        self._timer.start()

    def _stop(self) -> None:
        self.meter[STOP] = 1

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def left(self) -> float:
        """Seconds until the flag is set; infinite without a limit."""
        return float("inf") if self.seconds is None else self.seconds - self._aside - self.spent

    @property
    def expired(self) -> bool:
        """Whether the time is used up."""
        return bool(self.meter[STOP]) or self.left <= 0

    def set_aside(self, seconds: float) -> None:
        """Stop this much earlier, so that the release can still be written in time."""
        self._aside = seconds
        self._start()

    def allow(self, work: int = UNLIMITED) -> None:
        """Give the next kernel this much work; what it does in it does not depend on the clock."""
        self.meter[WORK] = 0
        self.meter[LIMIT] = work

    def check(self) -> None:
        """Raise where the time is used up."""
        if self.expired:
            raise OutOfTimeError

    def in_words(self) -> str:
        """Return what the log says about a run that was cut short."""
        return f"the budget of {self.seconds:g} s was used up after {self.spent:.3g} s"


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
    progress: Progress = silent
    picks: list[Pick] = field(default_factory=list)
    loss: int = 0
    notes: list[str] = field(default_factory=list)
    _proved: set[int] = field(default_factory=set)
    _view: TokenView | None = None

    def run(self) -> None:
        """Find the tokens; they are in `picks`, what they cost in `loss`."""
        for size in (1, 2):
            self._report(size)
            self._hit_level(size, self._sensitive_tokens())
        unproved = self._unproved()
        size = 3
        while unproved:
            self._report(size)
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

    def _report(self, size: int) -> None:
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

    def _sensitive_tokens(self) -> list[int]:
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
            chosen, hits = self._hit(rules)
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

    def _hit(self, rules: Int32Array) -> tuple[Int32Array, Int64Array]:
        """Choose tokens of the view that hit the rules; of equals a sensitive one, then the lowest.

        A sensitive token takes all longer rules about it along.
        """
        tokens = self.view.tokens
        order = np.lexsort((tokens, tokens < self.sensitive_from)).astype(np.int32)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        held = rules >= 0  # shorter rules are filled up with -1
        offsets = offsets_of(np.count_nonzero(held, axis=1))
        chosen, hits = hit_all(offsets, rank[rules[held]], self.cost[tokens[order]])
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
        for a in self._sensitive_tokens():
            if int(self.view.tokens[a]) in self._proved:
                continue
            finding, _ = self.view.prove(a, self.budget)
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
                finding, base = view.prove(a, self.budget)
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
            chosen, _ = self._hit(array.reshape(-1, width))
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


@register(
    "anonymizer",
    "suppress-control",
    paper="Cao, Karras, Raïssi & Tan 2010",
    bibtex=CAO_2010,
)
@dataclass(frozen=True, kw_only=True)
class SuppressControl(BudgetedRhoMethod):
    """Suppress the items that break most rules per occurrence lost, short rules first.

    A rule χ → a says: of the records with all of χ, this share holds the sensitive item a. Rules
    that reach ρ are listed by the size of χ, from one item up; of each size the item that is in
    most of them per record that holds it is suppressed everywhere, and again, until none is left.
    χ may hold sensitive items, and a suppressed item need not be sensitive.

    Parameters
    ----------
    rho
        The confidence that no rule may reach.
    prior
        Whether the empty χ counts too: the share of all records that hold a.
    budget
        Seconds the run may take. When they are used up, every sensitive item not yet proved safe
        is suppressed, and the log says so.

    Notes
    -----
    Departures from print. Rules are "below ρ", as defined, not "at most" as the text also says.
    The empty χ is checked first unless `prior` is off; print begins with one item. From size three
    on only those sensitive items are looked at that an exact search cannot prove safe, which
    changes nothing. Of items that pay equally a sensitive one goes (longer rules about it go with
    it), then the first by name. A size with more than a million rules is hit by a sample of them
    and then listed again; where listing takes too long, the search names one rule per sensitive
    item and these are hit instead: both are as safe, and the log says which items went that way.

    Examples
    --------
    Table 1 of the paper. b1 is in two of the three rules that reach 0.7 and in one record:

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([
    ...     ["a1", "b1", "b2", "α", "γ"], ["a1", "a2", "b2"], ["a2", "b2"], ["a2", "γ"],
    ...     ["a1", "b2", "α", "γ"]])
    >>> result = SuppressControl(rho=0.7).anonymize(table, sensitive=["α", "γ"])
    >>> [(step.subject, step.cost) for step in result.log]
    [('b1', 1.0), ('α', 2.0)]
    >>> result.release.to_rows()
    [['a1', 'a2', 'b2'], ['a1', 'b2', 'γ'], ['a1', 'b2', 'γ'], ['a2', 'b2'], ['a2', 'γ']]

    References
    ----------
    J. Cao, P. Karras, C. Raïssi, K.-L. Tan: ρ-uncertainty: Inference-Proof Transaction
    Anonymization. PVLDB 3(1), 2010, section 4 and algorithm 1.
    """

    called: ClassVar[str] = "items removed against inference"
    role: ClassVar[MethodRole] = MethodRole(place=9)
    requires: ClassVar[frozenset[str]] = frozenset({"sensitive"})

    def anonymize(
        self,
        table: TransactionTable,
        *,
        sensitive: Iterable[str],
        engine: Engine | None = None,  # each choice depends on the ones before
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the ρ-uncertain release of `table`, its key and its promise."""
        with TimeBudget(self.budget) as budget:
            names = check_sensitive(table, sensitive)
            # Own numbers: the other items, then the sensitive ones, both in the order of names.
            is_sensitive = np.zeros(table.n_items, dtype=bool)
            is_sensitive[[table.vocabulary.number(name) for name in names]] = True
            items = np.argsort(is_sensitive, kind="stable")
            number = np.empty(table.n_items, dtype=np.int32)
            number[items] = np.arange(table.n_items, dtype=np.int32)
            records = ItemRows.of(table, number, table.n_items)
            # Writing the release takes about as long as this did.
            budget.set_aside(budget.spent)
            work = RuleSuppression(
                records=records,
                image=np.arange(table.n_items, dtype=np.int32),
                n_tokens=table.n_items,
                rho=self.rho,
                sensitive_from=table.n_items - len(names),
                cost=records.supports,
                budget=budget,
                progress=progress or silent,
            )
            cut_short = ""
            try:
                if self.prior:
                    work.suppress_frequent()
                work.run()
            except OutOfTimeError:
                cut_short = budget.in_words()
                work.suppress_unproved("not proved safe when the time was used up")
            keep = work.image[number] >= 0
            log = [
                Step(
                    action="suppress",
                    subject=table.vocabulary[int(items[pick.token])],
                    reason=pick.reason,
                    cost=float(pick.cost),
                )
                for pick in work.picks
            ]
            log += [Step(action="note", subject=note) for note in work.notes]
            if cut_short:
                log.append(Step(action="stop", subject="the search", reason=cut_short))
            release, key = publish_suppressed(table, keep)
        total = int(records.supports.sum())
        return Anonymization(
            release=release,
            key=key,
            promise=self.promise_about(name for name in names if name in release.vocabulary),
            log=shorten_log(log),
            figures={
                "average_loss": work.loss / total if total else 0.0,
                "suppressed": len(work.picks),
                "in_time": not cut_short,
            },
        )


@register(
    "anonymizer",
    "simple-suppression",
    paper="Cao, Karras, Raïssi & Tan 2010",
    bibtex=CAO_2010,
)
@dataclass(frozen=True, kw_only=True)
class SimpleSuppression(RhoMethod):
    """Suppress every sensitive item everywhere, and touch nothing else.

    The baseline of the paper on ρ-uncertainty ("Simple"). Without sensitive items nothing about
    them can be inferred, so the promise holds for any ρ. What is lost is everything about them,
    which is why the other methods exist; yet several of them lose more.

    Parameters
    ----------
    rho
        The confidence that no rule may reach; it only goes into the promise.
    prior
        Whether the promise includes the empty antecedent.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["milk", "test"], ["milk"], ["test"]])
    >>> result = SimpleSuppression(rho=0.5).anonymize(table, sensitive=["test"])
    >>> result.release.to_rows(), result.figures["average_loss"]
    ([['milk'], ['milk'], []], 0.5)

    References
    ----------
    J. Cao, P. Karras, C. Raïssi, K.-L. Tan: ρ-uncertainty: Inference-Proof Transaction
    Anonymization. PVLDB 3(1), 2010, section 6.
    """

    called: ClassVar[str] = "all sensitive items removed"
    distributed: ClassVar[str] = "setveil.spark.methods:suppressed"
    requires: ClassVar[frozenset[str]] = frozenset({"sensitive"})

    def anonymize(
        self,
        table: TransactionTable,
        *,
        sensitive: Iterable[str],
        engine: Engine | None = None,  # there is nothing to distribute
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return `table` without its sensitive items, its key and its promise."""
        decision = self.decide(table, sensitive)
        release, key = publish_suppressed(table, decision.image >= 0)
        if progress:
            progress("suppressing", len(decision.log), len(decision.log))
        return Anonymization(
            release=release,
            key=key,
            promise=decision.promise,
            log=decision.log,
            figures=decision.figures,
        )

    def decide(self, table: Records, sensitive: Iterable[str]) -> Decision:
        """Return what becomes of each item; no record need be read for it."""
        names = check_sensitive(table, sensitive)
        supports = table.supports()
        numbers = [table.vocabulary.number(name) for name in names]
        image = np.arange(len(supports), dtype=np.int32)
        image[numbers] = -1
        log = [
            Step(
                action="suppress",
                subject=name,
                reason="it is sensitive",
                cost=float(supports[number]),
            )
            for name, number in zip(names, numbers, strict=True)
        ]
        total, lost = int(supports.sum()), int(supports[numbers].sum())
        return Decision(
            image=image,
            promise=self.promise_about(()),
            log=shorten_log(log),
            figures={"average_loss": lost / total if total else 0.0},
        )
