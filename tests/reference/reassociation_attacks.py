"""How pieces are scored and spread, from the definitions, with sets and loops."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from statistics import mean, median

import numpy as np


def score(attack, piece, anchor, near):
    """Return the score of a piece for an anchor; near gives a number for two terms, or None."""
    numbers = []
    for a in anchor:
        known = [n for t in piece if (n := near(a, t)) is not None]
        if known:
            numbers.append(mean(known))
    if not numbers:
        return None
    if attack == "mra":
        return max(numbers)
    if attack == "rga":
        numbers = [n for n in numbers if n >= median(numbers)]
    return mean(numbers)


def tail(rows, copies, total, at_least):
    """Return the chance that at least so many of some rows are hit, over all outcomes."""
    hit = Fraction(copies, total)
    chance = Fraction(0)
    for outcome in product((0, 1), repeat=rows):
        if sum(outcome) >= at_least:
            chance += hit ** sum(outcome) * (1 - hit) ** (rows - sum(outcome))
    return chance


def greedy_spreads(pieces, rooms):
    """Return all tables of counts that taking the largest tail that fits can give.

    pieces: copies of each piece of a chunk; rooms: rows of each value. Ties are taken in every
    order.
    """
    total = sum(rooms)
    found, seen = set(), set()
    stack = [tuple(tuple(0 for _ in rooms) for _ in pieces)]
    while stack:
        counts = stack.pop()
        if counts in seen:
            continue
        seen.add(counts)
        used = [sum(row[v] for row in counts) for v in range(len(rooms))]
        offers = [
            (tail(room, copies, total, counts[p][v] + 1), p, v)
            for p, copies in enumerate(pieces)
            for v, room in enumerate(rooms)
            if sum(counts[p]) < copies and used[v] < room
        ]
        if not offers:
            found.add(counts)
            continue
        largest = max(offer[0] for offer in offers)
        for chance, p, v in offers:
            if chance == largest:
                after = [list(row) for row in counts]
                after[p][v] += 1
                stack.append(tuple(map(tuple, after)))
    return found


def all_ways(copies, room):
    """Return every table of counts with these row sums and at most these column sums."""
    cells = [range(min(c, r) + 1) for c in copies for r in room]
    for flat in product(*cells):
        table = np.array(flat).reshape(len(copies), len(room))
        if (table.sum(axis=1) == copies).all() and (table.sum(axis=0) <= room).all():
            yield table


def parted(records, k, m):
    """Return the domains of vertical partitioning, or None if there is a term chunk."""
    support = Counter(term for record in records for term in record)
    if min(support.values(), default=k) < k:
        return None
    rest = sorted(support, key=lambda term: (-support[term], term))
    domains = set()
    while rest:
        chosen = []
        for term in rest:
            domain = {*chosen, term}
            sets = Counter(
                subset
                for record in records
                for size in range(1, m + 1)
                for subset in combinations(sorted(domain & record), size)
            )
            if all(count >= k for count in sets.values()):
                chosen.append(term)
        domains.add(frozenset(chosen))
        rest = [term for term in rest if term not in chosen]
    return domains
