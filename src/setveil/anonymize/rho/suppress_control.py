"""Suppression for ρ-uncertainty: of every sensitive item, or rule by rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.base import MethodRole, check_sensitive, shorten_log
from setveil.anonymize.rho.association_rules import ItemRows, Pick, RuleSuppression
from setveil.anonymize.rho.rho_method import (
    BudgetedRhoMethod,
    OutOfTimeError,
    RhoMethod,
    TimeBudget,
)
from setveil.core.literature import CAO_2010
from setveil.core.registry import register
from setveil.guarantee.rho_uncertainty import RhoUncertainty
from setveil.release.base import Anonymization, Step
from setveil.release.suppressed import publish_suppressed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.table import TransactionTable
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine


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
                progress=progress,
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
            log = [_step(table, items, pick) for pick in work.picks]
            log += [Step(action="note", subject=note) for note in work.notes]
            if cut_short:
                log.append(Step(action="stop", subject="the search", reason=cut_short))
            release, key = publish_suppressed(table, keep)
        total = int(records.supports.sum())
        left = tuple(name for name in names if name in release.vocabulary)
        return Anonymization(
            release=release,
            key=key,
            promise=RhoUncertainty(rho=self.rho, sensitive=left, prior=self.prior),
            log=shorten_log(log),
            figures={
                "average_loss": work.loss / total if total else 0.0,
                "suppressed": len(work.picks),
                "in_time": not cut_short,
            },
        )


def _step(table: TransactionTable, items: np.ndarray, pick: Pick) -> Step:
    return Step(
        action="suppress",
        subject=table.vocabulary[int(items[pick.token])],
        reason=pick.reason,
        cost=float(pick.cost),
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
        names = check_sensitive(table, sensitive)
        supports = table.supports()
        keep = np.ones(table.n_items, dtype=bool)
        keep[[table.vocabulary.number(name) for name in names]] = False
        release, key = publish_suppressed(table, keep)
        if progress:
            progress("suppressing", len(names), len(names))
        total = int(supports.sum())
        lost = int(supports[~keep].sum())
        log = [
            Step(
                action="suppress",
                subject=name,
                reason="it is sensitive",
                cost=float(supports[table.vocabulary.number(name)]),
            )
            for name in names
        ]
        return Anonymization(
            release=release,
            key=key,
            promise=RhoUncertainty(rho=self.rho, sensitive=(), prior=self.prior),
            log=shorten_log(log),
            figures={"average_loss": lost / total if total else 0.0},
        )
