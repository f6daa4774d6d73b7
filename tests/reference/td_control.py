"""SuppressControl and TDControl in plain sets and fractions: everything is recomputed each time."""

from collections import Counter
from fractions import Fraction
from itertools import combinations


def rules_of(rows, rho, sensitive, size, first=None):
    """Return the rules (antecedent, consequent) of one size that reach rho."""
    found = set()
    for known in {c for row in rows for c in combinations(sorted(row, key=str), size)}:
        holding = [row for row in rows if row.issuperset(known)]
        for a in sensitive - set(known):
            inside = sum(a in row for row in holding)
            if inside and Fraction(inside, len(holding)) >= rho:
                found.add((known, a))
    return {(known, a) for known, a in found if first is None or first & set(known)}


def hit(rules, cost, rank):
    """Return what is suppressed, in order, until every rule is hit."""
    picked = []
    while rules:
        count = Counter(x for known, a in rules for x in (*known, a))
        free = [x for x in count if cost[x] == 0]
        best = min(free or count, key=lambda x: (0 if free else -count[x] / cost[x], rank[x]))
        picked.append(best)
        rules = {(known, a) for known, a in rules if best not in (*known, a)}
    return picked


def suppress(rows, rho, sensitive, cost, *, rank, first=None):
    """Return what SuppressControl suppresses, in order."""
    rows = [set(row) for row in rows]
    picked = []
    for size in range(1, max(map(len, rows), default=0) + 1):
        chosen = hit(rules_of(rows, rho, sensitive, size, first), cost, rank)
        picked += chosen
        rows = [row - set(chosen) for row in rows]
    return picked


def frequent(rows, rho, sensitive):
    """Return the sensitive items that a share of rho or more of all records hold."""
    return [a for a in sorted(sensitive) if 0 < sum(a in r for r in rows) >= rho * len(rows)]


def suppress_control(rows, rho, sensitive, *, prior):
    """Return what SuppressControl suppresses, the empty antecedent first."""
    items = sorted(sensitive) + sorted({x for row in rows for x in row} - sensitive)
    rank = {x: i for i, x in enumerate(items)}
    cost = {x: Fraction(sum(x in row for row in rows)) for x in items}
    before = frequent(rows, rho, sensitive) if prior else []
    return before + suppress([row - set(before) for row in rows], rho, sensitive, cost, rank=rank)


class TopDown:
    """TDControl: `tree` numbers its nodes in preorder; rows hold node numbers and item names."""

    def __init__(self, rows, rho, sensitive, tree):
        self.rows, self.rho, self.sensitive, self.tree = rows, rho, sensitive, tree
        self.gone, self.log = set(), []
        self.rank = {v: i for i, v in enumerate([*sorted(sensitive), *range(len(tree))])}

    def occurrences(self, v):
        if v in self.sensitive:
            return sum(v in row for row in self.rows)
        return sum(self.above(v, x) for row in self.rows for x in row)

    def above(self, v, x):
        return x not in self.sensitive and v <= x < self.tree.ends[v]

    def loss(self, v):
        if v in self.sensitive or self.tree.is_leaf[v]:
            return Fraction(0)
        return Fraction(int(self.tree.leaves[v]), self.tree.n_leaves)

    def children(self, v):
        below = [self.narrow(u) for u in range(1, len(self.tree)) if self.tree.parents[u] == v]
        return [u for u in below if self.occurrences(u)]

    def narrow(self, v):
        below = [u for u in range(1, len(self.tree)) if self.tree.parents[u] == v]
        if len(below) == 1 and not self.tree.is_leaf[below[0]]:
            return self.narrow(below[0])
        return v

    def recoded(self, cut):
        """Return all records as sets of what stands for their items."""
        made = []
        for row in self.rows:
            images = {next((v for v in cut if self.above(v, x)), x) for x in row}
            made.append({v for v in images if v in cut or v in self.sensitive} - self.gone)
        return made

    def tested(self, cut, first):
        """Return what must be suppressed when `first` are new in the cut, and its loss."""
        tokens = {*cut, *self.sensitive}
        cost = {v: self.occurrences(v) * (1 - self.loss(v)) for v in tokens}
        picked = suppress(
            self.recoded(cut), self.rho, self.sensitive, cost, rank=self.rank, first=first
        )
        return picked, sum(cost[v] for v in picked)

    def run(self, *, prior):
        if prior:
            self.gone |= set(frequent(self.rows, self.rho, self.sensitive))
        cost = {a: Fraction(self.occurrences(a)) for a in self.sensitive}
        bare = [row & self.sensitive - self.gone for row in self.rows]
        self.gone |= set(suppress(bare, self.rho, self.sensitive, cost, rank=self.rank))
        root = self.narrow(0)
        cut = {root}
        while True:
            trials = []
            for x in sorted(cut):
                below = set(self.children(x))
                if self.tree.is_leaf[x] or not below:
                    continue
                gain = self.occurrences(x) * self.loss(x)
                gain -= sum(self.occurrences(c) * self.loss(c) for c in below)
                after = cut - {x} | below
                picked, lost = self.tested(after, below)
                trials.append((gain - lost, -x, x, after, picked))
            best = max(trials, key=lambda trial: trial[:2], default=(0,))
            if best[0] <= 0:
                break
            self.log.append((best[2], best[0]))
            cut = best[3] - set(best[4])
            self.gone |= set(best[4])
        if root in cut:
            picked, _ = self.tested(cut, {root})
            cut -= set(picked)
            self.gone |= set(picked)
        return cut
