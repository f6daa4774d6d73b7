"""ρ-uncertainty by definition: every subset of every record is an antecedent."""

from fractions import Fraction
from itertools import combinations


def antecedents(rows, *, prior):
    """Return every set of items that some record holds; the empty one only with `prior`."""
    found = {
        frozenset(items)
        for row in {frozenset(row) for row in rows}
        for size in range(1, len(row) + 1)
        for items in combinations(row, size)
    }
    return found | {frozenset()} if prior and rows else found


def rules(rows, sensitive, *, prior=True):
    """Yield (antecedent, consequent, support of the antecedent, confidence) of every rule."""
    plain = [set(row) for row in rows]
    occurring = set(sensitive) & set().union(*plain)
    for known in antecedents(rows, prior=prior):
        holding = [row for row in plain if known <= row]
        for a in occurring - known:
            both = sum(a in row for row in holding)
            if both:
                yield known, a, len(holding), Fraction(both, len(holding))


def violations(rows, rho, sensitive, *, prior=True):
    """Return {(antecedent, consequent): (support, confidence)} of the rules that reach rho."""
    return {
        (known, a): (support, confidence)
        for known, a, support, confidence in rules(rows, sensitive, prior=prior)
        if confidence >= rho
    }


def max_confidence(rows, sensitive, *, prior=True):
    """Return the greatest confidence of a rule, 0 if there is none."""
    return max(
        (confidence for *_, confidence in rules(rows, sensitive, prior=prior)), default=Fraction(0)
    )


def reserve(rows, weights, a, rho):
    """Return for each row with `a` the weight without it that holds the rest, and if it got none.

    `rows` are distinct; those with `a` are served in order, from an equal row and then from the
    last of the others on, with more than weight * (1 - rho) / rho each. The second part of each
    pair tells who fell short.
    """
    left = dict(enumerate(weights))
    found = []
    for row, weight in zip(rows, weights, strict=True):
        if a not in row:
            continue
        quota = weight * (1 - rho) // rho + 1
        others = [t for t, r in enumerate(rows) if a not in r and row - {a} <= r]
        for t in sorted(others, key=lambda t: (rows[t] != row - {a}, -t)):
            taken = min(left[t], quota)
            left[t] -= taken
            quota -= taken
        found.append((sum(weights[t] for t in others), quota > 0))
    return found
