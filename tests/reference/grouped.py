"""All originals that a grouped release allows, by enumeration, from what it shows of groups."""

from fractions import Fraction
from itertools import combinations, permutations, product


def group_worlds(group, *, whole):
    """Return all ways to give a group's records their sensitive items, as tuples of sets."""
    slots = range(len(group.rows))
    if whole:
        parts = [frozenset(part) for part, count in group.parts for _ in range(count)]
        parts += [frozenset()] * (len(slots) - len(parts))
        secrets = set(permutations(parts))
    else:
        choices = [
            [(item, set(chosen)) for chosen in combinations(slots, count)]
            for (item,), count in group.parts
        ]
        secrets = {
            tuple(frozenset(item for item, chosen in choice if slot in chosen) for slot in slots)
            for choice in product(*choices)
        }
    return [
        tuple(frozenset(row) | secret for row, secret in zip(group.rows, given, strict=True))
        for given in secrets
    ]


def worlds(release):
    """Return all originals slot by slot; all are meant to be equally likely."""
    each = [group_worlds(group, whole=release.whole) for group in release.groups]
    return [sum(choice, ()) for choice in product(*each)]


def chance(release, slot, item):
    """Return the share of all worlds in which a slot's record holds an item."""
    every = worlds(release)
    return Fraction(sum(item in world[slot] for world in every), len(every))


def divergence(release, original, sensitive, items):
    """Return the reconstruction error by the definition, cell by cell."""
    from math import log

    def cell(row):
        return tuple(item in row for item in items)

    holders = [row for row in original if sensitive in row]
    total = 0.0
    for pattern in product([False, True], repeat=len(items)):
        act = Fraction(sum(cell(row) == pattern for row in holders), len(holders))
        est = Fraction(0)
        for group in release.groups:
            a = group.histogram.get(sensitive, 0)
            b = sum(cell(row) == pattern for row in group.rows)
            est += Fraction(a * b, len(group.rows))
        est /= len(holders)
        if act:
            total += float(act) * log(act / est)
    return total
