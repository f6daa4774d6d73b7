"""Frequent itemsets and rules by counting every itemset in every record."""

from collections import Counter
from fractions import Fraction
from itertools import combinations


def supports(rows, largest):
    """Return how many records hold each itemset of up to `largest` items, as sorted tuples."""
    return Counter(
        itemset
        for row in rows
        for size in range(1, largest + 1)
        for itemset in combinations(sorted(set(row)), size)
    )


def most_frequent(counts, k):
    """Return the k itemsets of greatest support: ties by size, then by names."""
    present = [itemset for itemset in counts if counts[itemset] > 0]
    return sorted(present, key=lambda s: (-counts[s], len(s), s))[:k]


def rules(rows, k, largest, confidence):
    """Return (antecedent, consequent) of the rules within the k most frequent itemsets."""
    counts = supports(rows, largest)
    return {
        (tuple(x for x in itemset if x != y), y)
        for itemset in most_frequent(counts, k)
        for y in itemset
        if len(itemset) > 1
        and Fraction(counts[itemset], counts[tuple(x for x in itemset if x != y)]) >= confidence
    }
