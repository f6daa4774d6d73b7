"""Plain twins of the checks of tables: rows are dicts, classes are found by comparing rows."""

from fractions import Fraction
from itertools import chain, combinations, pairwise
from math import prod


def classes(rows, columns):
    """Return the rows of each class as lists, by comparing every row with every class."""
    found = []
    for row in rows:
        for group in found:
            if all(group[0][c] == row[c] for c in columns):
                group.append(row)
                break
        else:
            found.append([row])
    return found


def shares(group, column):
    values = [row[column] for row in group]
    return {v: Fraction(values.count(v), len(values)) for v in set(values)}


def k_anonymous(rows, columns, k):
    return all(sum(all(a[c] == b[c] for c in columns) for b in rows) >= k for a in rows)


def xy_anonymous(rows, x, y, k):
    for row in rows:
        values = {tuple(b[c] for c in y) for b in rows if all(b[c] == row[c] for c in x)}
        if len(values) < k:
            return False
    return True


def given_away(rows, columns, sensitive, most, values=()):
    return any(
        share > most
        for group in classes(rows, columns)
        for value, share in shares(group, sensitive).items()
        if not values or value in values
    )


def distinct_diverse(rows, columns, sensitive, least):
    return all(len({r[sensitive] for r in group}) >= least for group in classes(rows, columns))


def entropy_diverse(rows, columns, sensitive, least):
    """Compare nⁿ with lⁿ Π cᶜ in whole numbers, without taking logarithms or common factors."""
    for group in classes(rows, columns):
        values = [row[sensitive] for row in group]
        n = len(values)
        powers = prod(values.count(v) ** values.count(v) for v in set(values))
        if Fraction(n) ** n < least**n * powers:
            return False
    return True


def recursive_diverse(rows, columns, sensitive, c, first):
    for group in classes(rows, columns):
        values = [row[sensitive] for row in group]
        counts = sorted((values.count(v) for v in set(values)), reverse=True)
        if not counts[0] < c * sum(counts[first - 1 :]):
            return False
    return True


# --- earth mover's distances --------------------------------------------------------------------


def equal_distance(own, whole):
    """Return the greatest difference of the chances of any set of values."""
    p, q = shares(own, "s"), shares(whole, "s")
    sets = chain.from_iterable(combinations(q, size) for size in range(len(q) + 1))
    return max(sum((p.get(v, 0) - q[v] for v in each), Fraction(0)) for each in sets)


def ordered_distance(own, whole):
    """Move the i-th smallest to the i-th smallest: no other way is cheaper on a line."""
    places = {v: i for i, v in enumerate(sorted({row["s"] for row in whole}))}
    left = sorted([places[row["s"]] for row in own] * len(whole))
    right = sorted([places[row["s"]] for row in whole] * len(own))
    moved = sum(abs(a - b) for a, b in zip(left, right, strict=True))
    return Fraction(moved, len(left) * max(len(places) - 1, 1))


def tree_distance(own, whole, parents):
    """Use edges of half the difference of heights: what lies below each must cross it."""
    leaves = set(parents) - set(parents.values())
    heights = dict.fromkeys(leaves, 0)
    for leaf in leaves:
        node, steps = leaf, 0
        while node in parents:
            node, steps = parents[node], steps + 1
            heights[node] = max(heights.get(node, 0), steps)
    top = max(heights.values())
    p, q = shares(own, "s"), shares(whole, "s")
    moved = Fraction(0)
    for node, above in parents.items():
        below = [leaf for leaf in leaves if node in way_up(leaf, parents)]
        off = sum((p.get(v, 0) - q.get(v, 0) for v in below), Fraction(0))
        moved += abs(off) * (heights[above] - heights[node]) / 2
    return moved / top


def way_up(node, parents):
    found = [node]
    while found[-1] in parents:
        found.append(parents[found[-1]])
    return found


def farthest(rows, columns, distance):
    return max((distance(group, rows) for group in classes(rows, columns)), default=Fraction(0))


# --- presence and mechanisms --------------------------------------------------------------------


def present(release, public, columns, low, high):
    for row in public:
        there = sum(all(r[c] == row[c] for c in columns) for r in release)
        listed = sum(all(r[c] == row[c] for c in columns) for r in public)
        if not low <= Fraction(there, listed) <= high:
            return False
    return True


def above_exponential(ratio, epsilon):
    """Tell whether a ratio is above e^ε by adding up its series until that is clear."""
    if epsilon == 0:
        return ratio > 1
    total, term, i = Fraction(0), Fraction(1), 0
    while True:
        total += term
        i += 1
        term = term * epsilon / i
        if total >= ratio:
            return False
        # Each later term is at most half of the one before, so the rest is at most two terms.
        if i > 2 * epsilon and total + 2 * term < ratio:
            return True


def differentially_private(matrix, epsilon):
    for left, right in pairwise(matrix):
        for a, b in zip(left, right, strict=True):
            for high, low in ((a, b), (b, a)):
                if high and (not low or above_exponential(high / low, epsilon)):
                    return False
    return True


def private_beliefs(matrix, rho1, rho2):
    """Try every published value and every pair of values, believed with ρ1 and 1 - ρ1."""
    for y in range(len(matrix[0])):
        for i in range(len(matrix)):
            for j in range(len(matrix)):
                believed, other = rho1 * matrix[i][y], (1 - rho1) * matrix[j][y]
                if i != j and believed and believed >= rho2 * (believed + other):
                    return False
    return True


def k_km_anonymous(rows, columns, items, k, m):
    """Tell whether each class has k rows and each set of up to m items of a row k in its class."""
    for group in classes(rows, columns):
        if len(group) < k:
            return False
        sets = [set(row[items]) for row in group]
        for own in sets:
            for size in range(1, m + 1):
                for known in combinations(sorted(own), size):
                    if sum(set(known) <= other for other in sets) < k:
                        return False
    return True
