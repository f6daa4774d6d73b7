"""COAT and PCTA with plain sets and exact fractions, straight from their descriptions."""

from fractions import Fraction
from itertools import combinations, product


def parts(itemset):
    """Return all non-empty parts of a set, as frozensets."""
    members = sorted(itemset, key=sorted)
    return [
        frozenset(part)
        for size in range(1, len(members) + 1)
        for part in combinations(members, size)
    ]


def order(group):
    """Return what decides between generalized items that are otherwise alike."""
    return min(group)


class Recoding:
    """Generalized items as frozensets of names over plain sets of records."""

    def __init__(self, rows, privacy, utility, k):
        self.rows = [set(row) for row in rows]
        self.k = k
        self.groups = {frozenset([item]) for row in self.rows for item in row}
        self.privacy = [frozenset(p) for p in privacy]
        self.utility = [frozenset(u) for u in utility] if utility is not None else None
        self.gone = set()
        self.closed = set()

    def support(self, part):
        return sum(all(group & row for group in part) for row in self.rows)

    def image(self, itemset):
        return frozenset(group for group in self.groups if group & itemset)

    def rare_parts(self, image):
        return [part for part in parts(image) if 0 < self.support(part) < self.k]

    def broken(self):
        images = {self.image(p) for p in self.privacy}
        return [image for image in images if image and self.rare_parts(image)]

    def held_part(self, image):
        """Return the rare part to mend: all that some record holds of the image, most held."""
        held = {frozenset(g for g in image if g & row) for row in self.rows} - {frozenset()}
        rare = [part for part in held if self.support(part) < self.k]
        places = sorted(image, key=order)
        number = {part: sum(1 << places.index(g) for g in part) for part in rare}
        return min(rare, key=lambda part: (-self.support(part), number[part]))

    def partners(self, group):
        if group <= self.closed:
            return []
        if self.utility is None:
            return [other for other in self.groups if other != group]
        together = next((u for u in self.utility if group <= u), group)
        return [other for other in self.groups if other != group and other <= together]

    def cost(self, group, other, part, objective):
        union = group | other
        loss = ((1 << len(union)) - 1) * self.support([union])
        if objective == "ul":
            return (False, Fraction(loss))
        gain = 0
        if group in part:
            after = {g for g in part if g not in {group, other}} | {union}
            gain = min(self.support(after), self.k) - self.support(part)
        if gain <= 0:
            return (True, Fraction(loss))
        return (False, Fraction(loss, gain if objective == "ul_per_gain" else 1))

    def mergers(self, group, part, objective):
        """Return all unions of a generalized item with a partner, each with its rank."""
        return [
            (self.cost(group, other, part, objective), order(other), order(group), group, other)
            for other in self.partners(group)
        ]

    def merge(self, group, other):
        self.groups -= {group, other}
        self.groups.add(group | other)

    def dissolve(self, group):
        """Publish the members as they are, and join them no more."""
        self.groups.remove(group)
        self.groups |= {frozenset([item]) for item in group}
        self.closed |= group

    def suppress(self, group):
        self.groups.remove(group)
        self.gone |= group


def coat(rows, privacy, utility, k, objective):
    """Return the generalized items and the suppressed items."""
    state = Recoding(rows, privacy, utility, k)
    while broken := state.broken():
        image = min(
            broken, key=lambda image: (-state.support(image), sorted(order(g) for g in image))
        )
        part = state.held_part(image)
        rarest = min(part, key=lambda group: (state.support([group]), order(group)))
        mergers = state.mergers(rarest, part, objective)
        if mergers:
            state.merge(*min(mergers, key=lambda m: m[:3])[3:])
        elif len(rarest) > 1:
            state.dissolve(rarest)
        else:
            state.suppress(rarest)
    return state.groups, state.gone


def pcta(rows, privacy, utility, k, objective):
    """Return the generalized items, or None where nothing is left to join this way."""
    state = Recoding(rows, privacy, utility, k)
    while broken := state.broken():
        image = min(
            broken, key=lambda image: (state.support(image), sorted(order(g) for g in image))
        )
        part = state.held_part(image)
        mergers = [m for group in image for m in state.mergers(group, part, objective)]
        if not mergers:
            return None
        state.merge(*min(mergers, key=lambda m: m[:3])[3:])
    return state.groups


def partitions(items):
    """Yield every way to part a list of items into non-empty groups."""
    if not items:
        yield []
        return
    first, *rest = items
    for groups in partitions(rest):
        yield [[first], *groups]
        for place, group in enumerate(groups):
            yield [*groups[:place], [first, *group], *groups[place + 1 :]]


def recodings(left, utility):
    """Yield every set of generalized items that publishes the items `left`, as frozensets."""
    sets = [set(left)] if utility is None else [set(u) & set(left) for u in utility]
    alone = set(left).difference(*sets)
    choices = [partitions(sorted(u)) for u in sets if u]
    for chosen in product(*choices):
        groups = {frozenset(group) for part in chosen for group in part}
        yield groups | {frozenset([item]) for item in alone}


def is_kept(rows, privacy, groups, k):
    """Tell whether no part of a constraint's image is held by some, but fewer than k records."""
    published = [frozenset(group for group in groups if group & set(row)) for row in rows]
    for itemset in privacy:
        image = frozenset(group for group in groups if group & set(itemset))
        for part in parts(image):
            if 0 < sum(part <= row for row in published) < k:
                return False
    return True


def least_suppressed(rows, privacy, utility, k):
    """Return how few items any recoding that keeps the constraints suppresses.

    All recodings are tried, those that suppress fewest first.
    """
    items = sorted({item for row in rows for item in row})
    for number in range(len(items) + 1):
        for gone in combinations(items, number):
            left = [item for item in items if item not in gone]
            if any(is_kept(rows, privacy, groups, k) for groups in recodings(left, utility)):
                return number
    raise AssertionError("suppressing every item keeps every constraint")
