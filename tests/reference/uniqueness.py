"""Uniqueness from its definition: every record, every subset of known items, every other record."""

from fractions import Fraction
from itertools import combinations


def uniqueness(rows, m):
    """Return the exact share of records that `m` known items single out."""
    records = [frozenset(row) for row in rows]
    total = Fraction(0)
    for mine, record in enumerate(records):
        choices = [set(known) for known in combinations(sorted(record), min(m, len(record)))]
        single = sum(
            not any(known <= other for theirs, other in enumerate(records) if theirs != mine)
            for known in choices
        )
        total += Fraction(single, len(choices))
    return total / len(records)
