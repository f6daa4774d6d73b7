"""Scores of re-association by counting and by trying every pairing, from the definitions.

A cluster is (true, said): two lists of records of equal length, each record a triple of sets: its
anchor, its terms from other record chunks, its terms from the term chunk.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np


def attached(row, part):
    """Return what is attached to the anchor in a part of the release."""
    _, records, terms = row
    return {"": records | terms, "records": records, "terms": terms}[part]


def whole(row, part):
    return row[0] | attached(row, part)


def pairings(true, said):
    """Return every way to pair true with said records of equal anchors, as lists of pairs."""
    for order in permutations(range(len(said))):
        if all(true[i][0] == said[j][0] for i, j in enumerate(order)):
            yield [(true[i], said[j]) for i, j in enumerate(order)]


def ratio(part, total):
    return None if not total else Fraction(part) / total


def attachments(clusters, part):
    """Return how many attachments are right, true and said, per anchor content and term."""
    right = there = claimed = 0
    for true, said in clusters:
        n = Counter((frozenset(row[0]), t) for row in true for t in attached(row, part))
        p = Counter((frozenset(row[0]), t) for row in said for t in attached(row, part))
        right += sum(min(p[pair], n[pair]) for pair in p)
        there += sum(n.values())
        claimed += sum(p.values())
    return right, there, claimed


def accuracy(clusters, part):
    right, there, _ = attachments(clusters, part)
    return ratio(right, there)


def precision(clusters, part):
    right, _, claimed = attachments(clusters, part)
    return ratio(right, claimed)


def transaction_breakage(clusters, part):
    """Return the share of records with a term re-attached rightly, under the best pairing."""
    broken = sum(
        max(
            sum(bool(attached(a, part) & attached(b, part)) for a, b in pairs)
            for pairs in pairings(true, said)
        )
        for true, said in clusters
    )
    return ratio(broken, sum(len(true) for true, _ in clusters))


def km_breakage(clusters, part, originals, subrecords, *, k, m):
    """Return the share of the rare separated itemsets that some pairing shows in both records."""
    counts = Counter(s for row in originals for s in combinations(sorted(row), m))
    protected = {
        s for s, n in counts.items() if n < k and not any(set(s) <= set(r) for r in subrecords)
    }
    asked, broken = set(), set()
    for true, said in clusters:
        asked |= {s for a in true for s in protected if set(s) <= whole(a, part)}
        for a in true:
            for b in said:
                if a[0] == b[0]:
                    both = whole(a, part) & whole(b, part)
                    broken |= {s for s in protected if set(s) <= both}
    return ratio(len(broken), len(asked))


def transport(first, second, distance):
    """Return the word mover's distance by a linear program over all flows."""
    from scipy.optimize import linprog

    rows, columns = sorted(first), sorted(second)
    cost = [distance(a, b) for a in rows for b in columns]
    sums, totals = [], []
    for i in range(len(rows)):
        sums.append([float(j // len(columns) == i) for j in range(len(cost))])
        totals.append(1 / len(rows))
    for i in range(len(columns)):
        sums.append([float(j % len(columns) == i) for j in range(len(cost))])
        totals.append(1 / len(columns))
    return linprog(cost, A_eq=np.array(sums), b_eq=totals).fun


def word_mover_range(clusters, part, distance):
    """Return the least and greatest mean distance over all pairings that share most terms."""
    low = high = 0.0
    count = 0
    for true, said in clusters:
        every = list(pairings(true, said))
        alike = [sum(len(attached(a, part) & attached(b, part)) for a, b in p) for p in every]
        best = [pairs for pairs, n in zip(every, alike, strict=True) if n == max(alike)]
        found = []
        for pairs in best:
            moves = [
                0.0 if whole(a, part) == whole(b, part)
                else transport(whole(a, part), whole(b, part), distance)
                for a, b in pairs
                if whole(a, part) == whole(b, part) or (whole(a, part) and whole(b, part))
            ]  # fmt: skip
            found.append((sum(moves), len(moves)))
        low += min(total for total, _ in found)
        high += max(total for total, _ in found)
        count += found[0][1]
        if len({n for _, n in found}) > 1:
            return None  # which records have no terms depends on the pairing: not compared
    return (low / count, high / count) if count else None


def term_pair_precision(clusters, pairs):
    """Return the share of (cluster, term, term) whose terms some true record holds both."""
    right = sum(
        any({first, second} <= row[2] for row in clusters[c][0]) for c, first, second in pairs
    )
    return ratio(right, len(pairs))
