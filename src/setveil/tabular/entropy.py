"""Entropies of counts, compared exactly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

MOST_BITS = 20_000_000
"""Longest whole number that is written out to decide between two almost equal entropies."""


def perplexity(counts: Sequence[int]) -> float:
    """Return how many equally frequent values have the same entropy.

    >>> perplexity([2, 2, 2]), perplexity([5])
    (3.0, 1.0)
    """
    total = sum(counts)
    worth = math.exp(math.fsum(c * (math.log(total) - math.log(c)) for c in counts) / total)
    return float(round(worth, 12))


def entropy_reaches(counts: Sequence[int], least: Fraction) -> bool | None:
    """Tell whether the entropy of counts is at least log `least`; None where nobody can tell.

    >>> from fractions import Fraction
    >>> entropy_reaches([1, 1, 1], Fraction(3)), entropy_reaches([2, 1, 1], Fraction(3))
    (True, False)
    """
    # n log n - Σ c log c against n log l does not change when all counts are divided.
    common = math.gcd(*counts)
    counts = [count // common for count in counts]
    total = sum(counts)
    logs = math.log(least.numerator) - math.log(least.denominator)
    difference = math.log(total) - math.fsum(c * math.log(c) for c in counts) / total - logs
    # Each logarithm is right to a few units in the last place.
    if abs(difference) > 1e-12 * (1 + math.log(total) + math.log(least.numerator)):
        return difference > 0
    longest = total * (max(total, least.numerator, least.denominator).bit_length())
    if longest > MOST_BITS:
        return None
    powers = math.prod(count**count for count in counts)
    return bool((total * least.denominator) ** total >= least.numerator**total * powers)
