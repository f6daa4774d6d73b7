"""Select-a-size by going through everything that may happen to a record, in exact fractions."""

from fractions import Fraction
from itertools import combinations
from math import comb


def subsets(items):
    items = sorted(items)
    return [frozenset(c) for size in range(len(items) + 1) for c in combinations(items, size)]


def size_chances(length, beta, sizes):
    """Return p[j] as the paper has it, or the given chances, cut at the length."""
    if sizes is None:
        return [comb(length, j) * beta ** (length - j) * (1 - beta) ** j for j in range(length + 1)]
    chances = [Fraction(0)] * (length + 1)
    for j, chance in enumerate(sizes):
        chances[min(j, length)] += chance
    return chances


def published(record, domain, beta, sizes=None):
    """Return what a record may be published as, and how likely."""
    found = {}
    chances = size_chances(len(record), beta, sizes)
    for kept in subsets(record):
        for added in subsets(domain - record):
            keeps = chances[len(kept)] / comb(len(record), len(kept))
            adds = beta ** len(added) * (1 - beta) ** (len(domain - record) - len(added))
            found[kept | added] = found.get(kept | added, 0) + keeps * adds
    return {outcome: chance for outcome, chance in found.items() if chance}
