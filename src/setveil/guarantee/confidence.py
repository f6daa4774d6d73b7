"""Rules, their confidence, and thresholds for it in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


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
