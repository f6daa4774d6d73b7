"""Equivocation by trying every partition, in fractions."""

from fractions import Fraction
from itertools import combinations, pairwise
from math import log2


def runs(values, cuts):
    """Return the runs between some places of a sorted list."""
    ends = [0, *cuts, len(values)]
    return [values[a:b] for a, b in pairwise(ends)]


def equivocation(values, probabilities, epsilon):
    """Return the least entropy over partitions into runs no wider than epsilon."""
    pairs = sorted(zip(map(Fraction, values), map(Fraction, probabilities), strict=True))
    best = None
    for number in range(len(pairs)):
        for cuts in combinations(range(1, len(pairs)), number):
            parts = runs(pairs, cuts)
            if any(part[-1][0] - part[0][0] > Fraction(epsilon) for part in parts):
                continue
            sums = [sum(chance for _, chance in part) for part in parts]
            bits = sum(float(p) * log2(1 / p) for p in sums if p)
            best = bits if best is None else min(best, bits)
    return best


def conditional(values, known, epsilon):
    """Return the mean over records of the equivocation among those with the same attributes."""
    total = 0
    for own in known:
        alike = [v for v, other in zip(values, known, strict=True) if tuple(other) == tuple(own)]
        distinct = sorted(set(alike))
        chances = [Fraction(alike.count(v), len(alike)) for v in distinct]
        total += equivocation(distinct, chances, epsilon)
    return total / len(values)
