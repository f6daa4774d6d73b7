"""Both properties of a choice of records by their definitions, and every choice there is."""

from fractions import Fraction
from itertools import combinations


def ttr(rows):
    """Different items per occurrence; None where nothing occurs."""
    held = [item for row in rows for item in set(row)]
    return Fraction(len(set(held)), len(held)) if held else None


def cell_density(rows, groups):
    """Original cells per cell, by walking through every cell of every generalized item's table."""
    original = cells = 0
    for group in map(set, groups):
        if len(group) < 2:
            continue
        for row in rows:
            if not group & set(row):
                continue
            for member in group:
                cells += 1
                original += member in row
    return Fraction(original, cells) if cells else None


def values(rows, size, of):
    """Return the value of every choice of `size` records that has one."""
    found = (of([rows[i] for i in choice]) for choice in combinations(range(len(rows)), size))
    return [value for value in found if value is not None]


def swap_towards(*, rows, parts, wholes, order, size, target, tolerance, swaps):
    """Try swaps one by one, counting everything anew; return the order and how many were kept."""
    order = list(order)

    def away(candidate):
        chosen = candidate[:size]
        whole = sum(wholes[r] for r in chosen)
        part = sum(parts[r] for r in chosen) + len({i for r in chosen for i in rows[r]})
        return abs(part / whole - target) if whole else float("inf")

    kept = 0
    for leaving, entering in swaps:
        if away(order) <= tolerance:
            break
        candidate = list(order)
        candidate[leaving], candidate[entering] = order[entering], order[leaving]
        if away(candidate) < away(order):
            order = candidate
            kept += 1
    return order, kept
