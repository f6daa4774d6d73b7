"""(h, k, p)-coherence by enumeration: every public itemset is counted record by record."""

from fractions import Fraction
from itertools import combinations


def support(itemset, rows):
    return sum(set(itemset) <= set(row) for row in rows)


def breach(itemset, rows, sensitive):
    """The greatest confidence with which the itemset tells a sensitive item."""
    return max(
        (Fraction(support({*itemset, e}, rows), support(itemset, rows)) for e in sensitive),
        default=Fraction(0),
    )


def is_mole(itemset, rows, sensitive, h, k):
    held = support(itemset, rows)
    return held > 0 and (held < k or breach(itemset, rows, sensitive) > h)


def all_moles(rows, sensitive, h, k, p):
    """Return every mole of at most p public items, as sorted tuples, the smallest first."""
    public = sorted({item for row in rows for item in row} - set(sensitive))
    return [
        itemset
        for size in range(1, p + 1)
        for itemset in combinations(public, size)
        if is_mole(itemset, rows, sensitive, h, k)
    ]


def minimal(sets):
    """Return the sets that hold no other of them."""
    return [s for s in sets if not any(set(other) < set(s) for other in sets)]


def is_coherent(rows, sensitive, h, k, p):
    return not all_moles(rows, sensitive, h, k, p)


def greedy_hits(sets, cost):
    """Choose items, most sets hit per cost first, ties to the first name; return them in order."""
    order = []
    while sets:
        present = sorted({item for s in sets for item in s})
        # Python's max keeps the first of equals.
        best = max(
            present,
            key=lambda e: (
                float("inf") if cost[e] == 0 else Fraction(sum(e in s for s in sets), cost[e])
            ),
        )
        order.append(best)
        sets = [s for s in sets if best not in s]
    return order


def suppress(rows, sensitive, h, k, p):
    """Return the suppressed items, single moles first (by name), then in the greedy's order."""
    moles = minimal(all_moles(rows, sensitive, h, k, p))
    occurrences = {item: support([item], rows) for row in rows for item in row}
    single = [s[0] for s in moles if len(s) == 1]
    return single + greedy_hits([s for s in moles if len(s) > 1], occurrences)


def without(rows, suppressed):
    return [[item for item in row if item not in set(suppressed)] for row in rows]
