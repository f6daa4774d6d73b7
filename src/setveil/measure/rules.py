"""Association rules of the original that a release can still state, if only in general."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from setveil.core.errors import NotApplicable, ParameterError
from setveil.measure.generalization import tree_for
from setveil.measure.itemsets import LARGEST, TOP, top_itemsets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.records import Records
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Release

CONFIDENCE = 0.5
"""Least confidence of a rule that counts, unless told otherwise."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """An association rule: of the records that hold `antecedent`, many hold `consequent` too.

    >>> Rule(antecedent=("hiv",), consequent="zidovudine", support=9, confidence=Fraction(9, 10))
    Rule(antecedent=('hiv',), consequent='zidovudine', support=9, confidence=Fraction(9, 10))
    """

    antecedent: tuple[str, ...]
    consequent: str
    support: int
    confidence: Fraction


@dataclass(frozen=True, kw_only=True)
class RulesKept:
    """How many rules of the original a release can still state.

    Parameters
    ----------
    value
        Share of the rules that it states, as they were or with more general terms.
    exact
        Share that it states as they were.
    rules
        Number of rules of the original.
    """

    value: float
    exact: float
    rules: int


def rules_of(
    table: Records,
    *,
    confidence: float | Fraction = CONFIDENCE,
    k: int = TOP,
    largest: int = LARGEST,
) -> list[Rule]:
    """Return the rules with one consequent that the `k` most frequent itemsets give.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "cough"], ["flu", "cough"], ["cough"]])
    >>> for rule in rules_of(table, confidence=0.9):
    ...     print(rule.antecedent, "→", rule.consequent, rule.confidence)
    ('flu',) → cough 1
    """
    least = Fraction(str(confidence))
    if not 0 < least <= 1:
        raise ParameterError(
            f"the confidence is {confidence}", fix="use a number above 0 and at most 1"
        )
    frequent = top_itemsets(table, k, largest=largest)
    found = []
    for itemset, support in frequent.items():
        for place, consequent in enumerate(itemset):
            antecedent = itemset[:place] + itemset[place + 1 :]
            # Every subset of one of the most frequent itemsets is one of them too.
            if antecedent and support >= least * frequent[antecedent]:
                found.append(
                    Rule(
                        antecedent=antecedent,
                        consequent=consequent,
                        support=support,
                        confidence=Fraction(support, frequent[antecedent]),
                    )
                )
    return found


def rules_kept(
    release: Release,
    original: Records,
    *,
    taxonomy: Taxonomy | None = None,
    sensitive: Iterable[str] = (),
    confidence: float | Fraction = CONFIDENCE,
    k: int = TOP,
    largest: int = LARGEST,
) -> RulesKept:
    """Return the share of the original's rules that the release still states for certain.

    The rules are those of :func:`rules_of`. In a rule each item is replaced by the highest term
    that the release publishes for it; the release states the rule when no item of it is
    suppressed, the consequent's term is none of the antecedent's, and the general rule has the
    confidence for certain: at least (least support of all its terms) / (greatest support of its
    antecedent). These bounds are equal where a record that does not show a term certainly has
    nothing below it, that is, in suppressed and globally recoded releases and under Partition.
    Where any record may have lost any item, the greatest support is the number of records.

    A general rule is true, but says less than the rule it came from; `exact` counts the rules
    whose items are all published as they were.

    Parameters
    ----------
    release, original
        What is compared.
    taxonomy
        The tree the release was made with; a generalized release needs it.
    sensitive
        The sensitive items; those that the taxonomy lacks stand beside it.
    confidence, k, largest
        Which rules count: their least confidence, and the itemsets they are made of.

    Raises
    ------
    NotApplicable
        The original has no such rule, or the release does not say where its items belong.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "cough"], ["flu", "cough"], ["hiv", "cough"]])
    >>> release, _ = publish_suppressed(table, [True, True, False])
    >>> rules_kept(release, table)  # lost: hiv → cough
    RulesKept(value=0.6666666666666666, exact=0.6666666666666666, rules=3)
    """
    rules = rules_of(original, confidence=confidence, k=k, largest=largest)
    if not rules:
        raise NotApplicable("no rule of the original has this confidence")
    tree = None if taxonomy is None else tree_for(taxonomy, original, sensitive)
    shown = release.shown_classes(original, tree)
    number = original.vocabulary.number
    general = {}
    for place, rule in enumerate(rules):
        terms = [shown.names[number(item)] for item in (*rule.antecedent, rule.consequent)]
        known = [term for term in terms if term is not None]
        if len(known) == len(terms) and known[-1] not in known[:-1]:
            general[place] = tuple(dict.fromkeys(known))
    whole, antecedents = list(general.values()), [known[:-1] for known in general.values()]
    counts = shown.table.itemset_supports([*whole, *antecedents]).tolist()
    least = Fraction(str(confidence))
    stated = []
    for place, both, most in zip(general, counts, counts[len(whole) :], strict=False):
        greatest = most if shown.complete else shown.table.n_records
        if greatest > 0 and both >= least * greatest:
            stated.append(rules[place])
    exact = sum(
        all(shown.exact[number(item)] for item in (*rule.antecedent, rule.consequent))
        for rule in stated
    )
    return RulesKept(value=len(stated) / len(rules), exact=exact / len(rules), rules=len(rules))
