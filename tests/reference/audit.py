"""What an audit must have found before it recommends a release, by plain counting.

Only for forms with a row per record: a person's candidates are the rows that may hold what is
known of them.
"""

from collections import Counter

FAMILIES = {
    "suppressed": {"linkage"},
    "generalized": {"linkage"},
    "set-generalized": {"linkage", "elimination"},
    "disassociated": {"linkage", "re-association"},
    "grouped": {"linkage"},
}
"""The kinds of attackers that each form needs, beside inference where there are secrets."""


def families(form, *, sensitive):
    """Return the kinds of attackers that must have tried."""
    return FAMILIES[form] | ({"inference"} if sensitive else set())


def rarest(rows, m, hidden=()):
    """Return for every row its rarest items that are not hidden, equally rare ones by name."""
    counts = Counter(item for row in rows for item in set(row))
    return [sorted(set(row) - set(hidden), key=lambda i: (counts[i], i))[:m] for row in rows]


def chance_in_row(row, item, above):
    """Return the chance that a row holds an item: its nodes stand for different leaves.

    The most specific node chooses first, among the leaves that no other has taken.
    """
    below = [
        sorted(leaf for leaf, nodes in above.items() if name in dict(nodes)) or [name]
        for name in row
    ]

    def absent(rest, taken):
        if not rest:
            return 1.0
        free = [leaf for leaf in rest[0] if leaf not in taken]
        kept = [leaf for leaf in free if leaf != item]
        return sum(absent(rest[1:], {*taken, leaf}) for leaf in kept) / len(free)

    return 1 - absent(sorted(below, key=len), set())


def candidates(published, known, above, elsewhere=0.0):
    """Return the weights of the rows that may hold all known items; what no row shows is free.

    `elsewhere` is the weight of a row that does not show an item, where single items were left out.
    """
    shown = [
        item
        for item in known
        if elsewhere or any(chance_in_row(row, item, above) > 0 for row in published)
    ]
    found = {}
    for place, row in enumerate(published):
        weight = 1.0
        for item in shown:
            weight *= chance_in_row(row, item, above) or elsewhere
        if weight > 0:
            found[place] = weight
    return found


def linkage(published, behind, who, above, elsewhere=0.0):
    """Return the rates of people who are named and who are singled out, and both gains.

    `who` holds (place in the original, known items); `behind` the original of each published row.
    """
    named, singled = [], []
    for target, known in who:
        found = candidates(published, known, above, elsewhere)
        best = [p for p, w in found.items() if w >= max(found.values()) * (1 - 1e-9)]
        right = [behind[place] for place in best].count(target)
        named.append(right / len(best) if best else 0.0)
        singled.append(float(len(found) == 1 and right == 1))
    blind = 1 / len(published)
    rates = {"named": sum(named) / len(named), "singled": sum(singled) / len(singled)}
    return rates, {name: max((rate - blind) / (1 - blind), 0) for name, rate in rates.items()}


def inference(published, rows, who, secrets):
    """Return the mean belief in secrets that people have, and the gain, for rows in clear."""
    believed, before = [], []
    for target, known in who:
        there = [i for i in known if any(i in row for row in published)]
        alike = [row for row in published if set(there) <= set(row)]
        held = [item for item in secrets if item in rows[target]]
        for chances, among in ((believed, alike), (before, published)):
            shares = [sum(item in row for row in among) / len(among) for item in held]
            chances.append(sum(shares) / len(shares))
    gain = 1 - sum(1 - each for each in believed) / (sum(1 - each for each in before) or 1.0)
    return sum(believed) / len(believed), max(gain, 0.0)
