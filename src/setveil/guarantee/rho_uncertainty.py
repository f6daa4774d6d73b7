"""ρ-uncertainty: no sensitive item can be inferred with confidence ρ or more."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from operator import add
from typing import TYPE_CHECKING, Any

from setveil.core.literature import CAO_2010
from setveil.core.params import check_values, duration, flag, share
from setveil.core.registry import register
from setveil.core.words import share_as_json
from setveil.guarantee.base import (
    MOST_WITNESSES,
    CheckedInParts,
    Verdict,
    Witness,
    distinct_names,
    items,
)
from setveil.guarantee.shown_items import shown_items

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from setveil.core.table import TransactionTable
    from setveil.guarantee.base import Published
    from setveil.guarantee.rho_rules import Rule
    from setveil.guarantee.shown_items import Forced, ShownItems
    from setveil.release.base import Release


@register(
    "guarantee",
    "rho-uncertainty",
    paper="Cao, Karras, Raïssi & Tan 2010",
    bibtex=CAO_2010,
)
@dataclass(frozen=True, kw_only=True)
class RhoUncertainty(CheckedInParts):
    """No sensitive item can be inferred with confidence ρ or more, whatever else is known.

    For every set χ of published items that some record holds, sensitive items included, and every
    sensitive item a outside χ, the share of the records with χ that hold a is below ρ. Supports
    count published records; the comparison is in whole numbers.

    The check is exact for records of any length and does not enumerate their subsets: the
    confidence of χ → a is greatest where χ is an intersection of records with a. For each a it
    looks at single items first, then tries to set aside for every record with a enough records of
    its own that hold the rest without a, and searches the intersections only where that fails.

    Parameters
    ----------
    rho
        The confidence that no rule may reach; a number, or a text such as ``"1/3"``, in (0, 1].
    sensitive
        The items that must not be inferred. Those that were removed are passed over. Of those
        that stand behind categories or sets it is judged what these imply; where they leave it
        open, the verdict is not exact.
    prior
        Whether the empty χ counts too: the share of all records that hold a.
    budget
        Seconds after which the check gives up and says so (``exact=False``); not published.

    Examples
    --------
    Table 1 of the paper; α follows from b1, and γ from b1 and from α:

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([
    ...     ["a1", "b1", "b2", "α", "γ"], ["a1", "a2", "b2"], ["a2", "b2"], ["a2", "γ"],
    ...     ["a1", "b2", "α", "γ"]])
    >>> promise = RhoUncertainty(rho=0.7, sensitive=("α", "γ"))
    >>> verdict = promise.check(table)
    >>> verdict.holds, verdict.reason
    (False, 'met 3 rules of confidence 0.7 or more, the worst {α} → γ: 2 of 2 records')
    >>> [(w.items, w.consequent, w.support, w.confidence) for w in verdict.witnesses][1:]
    [(('b1',), 'α', 1, Fraction(1, 1)), (('b1',), 'γ', 1, Fraction(1, 1))]

    Without b1 and α it holds:

    >>> promise.check(TransactionTable.from_rows([
    ...     ["a1", "b2", "γ"], ["a1", "a2", "b2"], ["a2", "b2"], ["a2", "γ"],
    ...     ["a1", "b2", "γ"]])).holds
    True

    Notes
    -----
    The paper's text also says "at most" ρ; its definition and its examples say "below", and so do
    we. It admits the empty χ but its algorithms never look at it; we do unless told otherwise.

    References
    ----------
    J. Cao, P. Karras, C. Raïssi, K.-L. Tan: ρ-uncertainty: Inference-Proof Transaction
    Anonymization. PVLDB 3(1), 2010. The closed sets are found as in T. Uno, T. Asai, Y. Uchida,
    H. Arimura: An Efficient Algorithm for Enumerating Closed Patterns in Transaction Databases.
    Discovery Science 2004.
    """

    rho: Fraction = share(
        Fraction(1, 2), above=0, doc="confidence that no rule may reach, in (0, 1]"
    )
    sensitive: tuple[str, ...] = items(doc="items that must not be inferred")
    prior: bool = flag(True, doc="count the share of all records as a rule too")
    budget: float | None = duration(doc="seconds after which the check gives up and says so")

    def check(self, published: Published) -> Verdict:
        """Look for rules that reach ρ; the witnesses are such rules, the worst first."""
        # Imported here: loading compiled code takes a moment that only a check should cost.
        from setveil.guarantee.rho_rules import RuleSearch

        found = shown_items(published, self.sensitive)
        checked = found.parts.fold(len, add, 0)
        forced = [each for each in found.forced if each.share >= self.rho]
        if forced:
            return self._forced(checked, forced)
        shown = set(found.numbers.values())
        if not shown:
            return self._kept(found, checked, 0)
        search = RuleSearch(rho=self.rho, prior=self.prior, most=MOST_WITNESSES, budget=self.budget)
        met = search.run(found.parts, shown)
        if not met.rules and not met.in_time:
            reason = (
                f"not decided within {self.budget:g} s: {met.safe:,} of {len(shown):,} sensitive "
                "items are proved safe, and no violation was met"
            )
            return Verdict(holds=False, exact=False, reason=reason, checked=checked)
        if not met.rules:
            return self._kept(found, checked, len(shown))
        required = f"confidence below {share_as_json(self.rho)}, not "
        names = found.parts.sample.names
        witnesses = tuple(
            _as_witness(names, rule, f"{required}{rule.confidence}") for rule in met.rules
        )
        first = witnesses[0]
        rules = "1 rule" if met.number == 1 else f"{met.number:,} rules"
        reason = (
            f"met {rules} of confidence {share_as_json(self.rho)} or more, the worst "
            f"{{{', '.join(first.items)}}} → {first.consequent}: {met.rules[0].both:,} of "
            f"{first.support:,} records"
        )
        return Verdict(holds=False, exact=True, reason=reason, checked=checked, witnesses=witnesses)

    def _kept(self, found: ShownItems, checked: int, shown: int) -> Verdict:
        """Return the verdict where none of the sensitive items that are shown follows."""
        if found.doubts or found.twice:
            return Verdict(holds=False, exact=False, reason=found.doubt, checked=checked)
        reason = (
            f"no antecedent in {checked:,} records gives a sensitive item away with "
            f"confidence {share_as_json(self.rho)} or more ({shown:,} of "
            f"{len(self.sensitive):,} sensitive items occur)"
        )
        if not shown:
            reason = "no record shows a sensitive item, so none can be inferred"
        if not self.sensitive:
            reason = "no sensitive item is named, so there is none to be inferred"
        return Verdict(holds=True, exact=True, reason=reason, checked=checked)

    def _forced(self, checked: int, forced: list[Forced]) -> Verdict:
        """Return the verdict where categories leave nothing but sensitive items."""
        witnesses = tuple(
            Witness(
                items=(each.shown,),
                support=each.records,
                required=f"confidence below {share_as_json(self.rho)}, not {each.share} or more",
                consequent=" or ".join(each.items),
                confidence=each.share,
            )
            for each in forced[:MOST_WITNESSES]
        )
        first = forced[0]
        reason = (
            f"whichever sensitive items stand behind {first.shown!r}, at least {first.share} of "
            f"its {first.records:,} records hold the same one"
        )
        return Verdict(holds=False, exact=True, reason=reason, checked=checked, witnesses=witnesses)

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> RhoUncertainty(rho="1/3", sensitive=("gout", "flu")).describe()
        'none of 2 sensitive items follows from part of a record with confidence 1/3 or more'
        >>> RhoUncertainty(rho="1/3", sensitive=()).describe()
        'no sensitive item is published, so none follows from a record'
        """
        if not self.sensitive:
            return "no sensitive item is published, so none follows from a record"
        part = "part of a record" if self.prior else "a non-empty part of a record"
        return (
            f"none of {len(self.sensitive):,} sensitive items follows from {part} with confidence "
            f"{share_as_json(self.rho)} or more"
        )

    def by_hand(self) -> str:
        """Return how to check the promise in the exported tables, without setveil."""
        return (
            "For each sensitive item, and each set of other items that some record of the table "
            "records holds, collect the records that hold all of the set. The share of them that "
            f"hold the sensitive item must be below {share_as_json(self.rho)}."
        )

    def unprotected(
        self,
        shown: Collection[str] = (),
        longest: int | None = None,
    ) -> tuple[str, ...]:
        """Return what the promise leaves open, in sentences for the owner.

        >>> RhoUncertainty(rho=0.3, sensitive=("flu",)).unprotected()[1]
        'A sensitive item may still be inferred with a certainty below 0.3.'
        """
        said = [
            (
                "Records may be unique: someone who knows a few items of a person may find the "
                "record and learn its other items that are not sensitive."
            )
        ]
        if self.sensitive:
            said.append(
                "A sensitive item may still be inferred with a certainty below "
                f"{share_as_json(self.rho)}."
            )
        said.append("Items that you did not name as sensitive may be learned.")
        return tuple(said)

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values; the budget is no part of the promise.

        >>> RhoUncertainty(rho=0.7, sensitive=("flu",)).params()
        {'rho': 0.7, 'sensitive': ['flu'], 'prior': True}
        """
        return {
            "rho": share_as_json(self.rho),
            "sensitive": list(self.sensitive),
            "prior": self.prior,
        }


@dataclass(frozen=True, kw_only=True)
class MaxConfidence:
    """The greatest confidence with which a sensitive item can be inferred.

    Parameters
    ----------
    value
        The confidence; 0 where no rule was met.
    exact
        Whether it is certain that no rule has more; else `value` is a lower bound.
    witness
        A rule that has it, None where no rule was met.
    """

    value: Fraction
    exact: bool
    witness: Witness | None


def max_confidence(
    published: Release | TransactionTable,
    sensitive: Iterable[str],
    *,
    prior: bool = True,
    budget: float | None = None,
) -> MaxConfidence:
    """Return the greatest confidence of a rule that gives a sensitive item away.

    A release keeps ρ-uncertainty for every ρ above it. Starting from the best single item, the
    same search that checks ρ-uncertainty asks for better rules until there is none.

    Parameters
    ----------
    published
        A release or a table.
    sensitive
        The items that must not be inferred.
    prior
        Whether the share of all records that hold an item counts as a rule.
    budget
        Seconds after which the best rule so far is returned, with ``exact=False``.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["a1", "α"], ["a2", "α"], ["a1", "a2", "α"],
    ...                                     ["a1", "a2"]])
    >>> max_confidence(table, ["α"], prior=False).value
    Fraction(2, 3)
    >>> best = max_confidence(table, ["α"])
    >>> best.value, best.witness.items, best.witness.support
    (Fraction(3, 4), (), 4)
    """
    from setveil.guarantee.rho_rules import Oracle, OutOfTimeError

    check_values(RhoUncertainty, budget=budget)
    found = shown_items(published, distinct_names(sensitive))
    rows, shown = found.parts.sample, found.numbers.values()
    best, exact = None, not (found.doubts or found.twice)
    if shown:
        oracle = Oracle.about(rows, shown, budget=budget)
        try:
            for rule in oracle.strongest(prior=prior):
                best = oracle.published(rule)
        except OutOfTimeError:
            exact = False
    if best is None:
        return MaxConfidence(value=Fraction(0), exact=exact, witness=None)
    witness = _as_witness(rows.names, best, "no rule of more confidence")
    return MaxConfidence(value=best.confidence, exact=exact, witness=witness)


def _as_witness(names: Sequence[str], rule: Rule, required: str) -> Witness:
    return Witness(
        items=tuple(names[number] for number in rule.antecedent),
        support=rule.support,
        required=required,
        consequent=names[rule.consequent],
        confidence=rule.confidence,
    )
