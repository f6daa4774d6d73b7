"""What crafted records imply for original items, by going through all originals.

Nothing here is taken from what a release says of itself when it is loaded: only the rows and the
tree of the manifest count. A set of leaves is a whole number; leaf i is its bit i. A set of
records likewise.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

from tests.reference import record_worlds

HOLDS, BROKEN, OPEN, UNKNOWN = "holds", "violated", "open", "unknown"
"""No original breaks the promise; all do; some do; some do, and perhaps all."""
MOST = 3_000
"""So many originals are gone through; where there are more, it is unknown whether all break it."""


@dataclass
class Records:
    """Records by their labels, the leaves behind each label, and the originals of each record."""

    rows: list
    behind: dict
    worlds: list

    def holders(self, wanted):
        """Return the records for which something is so, as bits."""
        return sum(1 << r for r in range(len(self.rows)) if wanted(r))

    @cached_property
    def showing(self):
        """For each label the records that show it."""
        return {label: self.holders(lambda r, x=label: x in self.rows[r]) for label in self.behind}

    def surely(self, mask):
        return self.holders(lambda r: all(t & mask for t in self.worlds[r]))

    def possibly(self, mask):
        return self.holders(lambda r: any(t & mask for t in self.worlds[r]))

    def choices(self, masks):
        """Return for each record which of some items it may hold, least sets only."""
        found = []
        for worlds in self.worlds:
            held = {tuple(bool(t & mask) for mask in masks) for t in worlds}
            found.append([a for a in held if not any(b != a and _below(b, a) for b in held)])
        return found


def _below(few, many):
    return all(b or not a for a, b in zip(few, many, strict=True))


def judge(records, masks, families, breaks):
    """Tell whether some original, or each, breaks a promise about some items.

    `families` are for each item the sets of records that somebody may narrow a person down to;
    `breaks` tells of how many of how many is too much.
    """
    some = [records.possibly(mask) for mask in masks]
    if not _broken(families, some, breaks):
        return HOLDS
    if _broken(families, [records.surely(mask) for mask in masks], breaks):
        return BROKEN
    choices = records.choices(masks)
    ways = 1
    for each in choices:
        ways *= len(each)
    if ways > MOST:
        return UNKNOWN
    for choice in product(*choices):
        held = [sum(1 << r for r, row in enumerate(choice) if row[a]) for a in range(len(masks))]
        if not _broken(families, held, breaks):
            return OPEN
    return BROKEN


def _broken(families, held, breaks):
    return any(
        breaks((found & mine).bit_count(), found.bit_count())
        for family, mine in zip(families, held, strict=True)
        for found in family
    )


def meets(sets, most):
    """Return all non-empty sets of records that up to so many labels have in common."""
    met = set()
    for size in range(1, min(most, len(sets)) + 1):
        for chosen in combinations(sets, size):
            common = chosen[0]
            for each in chosen[1:]:
                common &= each
            if common:
                met.add(common)
    return met


def rho(records, masks, share, *, prior):
    """Judge ρ-uncertainty; known is what records show, and what they surely hold of the items."""
    every = (1 << len(records.rows)) - 1
    families = []
    sure = [records.surely(mask) for mask in masks]
    for a, mask in enumerate(masks):
        known = {
            records.showing[label] for label, behind in records.behind.items() if behind != mask
        }
        known |= {held for b, held in enumerate(sure) if b != a}
        family = meets(sorted(known - {0}), len(known))
        families.append(family | ({every} if prior and every else set()))
    return judge(records, masks, families, lambda both, n: both and both >= share * n)


def coherence(records, masks, located, *, h, k, p):
    """Judge coherence; public is what neither is a sensitive item nor hides only such items."""
    secret = 0
    for mask in located:
        secret |= mask
    public = [
        records.showing[label] for label, behind in records.behind.items() if behind & ~secret
    ]
    family = meets(sorted(set(public) - {0}), p)
    if any(found.bit_count() < k for found in family):
        return BROKEN
    return judge(records, masks, [family] * len(masks), lambda both, n: both > h * n)


def both_ways(states):
    """Return what holds whichever way names are read."""
    found = set(states)
    if len(found) == 1:
        return found.pop()
    return UNKNOWN if found <= {BROKEN, UNKNOWN} else OPEN


# --- trees ----------------------------------------------------------------------------------------


class Tree:
    """The tree of a manifest, with its leaves named or not, and what a text may mean in it."""

    def __init__(self, nodes):
        self.nodes = nodes
        place = {node["id"]: v for v, node in enumerate(nodes)}
        self.parents = [-1 if n["parent"] is None else place[n["parent"]] for n in nodes]
        self.children = [[] for _ in nodes]
        for v, parent in enumerate(self.parents):
            if parent >= 0:
                self.children[parent].append(v)
        self.named, self.unnamed, self.masks = {}, [], [0] * len(nodes)
        self.n_leaves = 0
        for v, node in enumerate(nodes):
            below = sum(nodes[child]["leaves"] for child in self.children[v])
            if not below and node["leaves"] == 1:
                self.named[v] = self._leaf(v)
            else:
                self.unnamed += [self._leaf(v) for _ in range(node["leaves"] - below)]

    def _leaf(self, v):
        bit = 1 << self.n_leaves
        self.n_leaves += 1
        while v >= 0:
            self.masks[v] |= bit
            v = self.parents[v]
        return bit

    def items(self, text):
        """Return the named leaves that a text is the id or the name of."""
        found = set()
        for v, bit in self.named.items():
            own = self.parents[v] if self.nodes[v]["pseudo"] else v
            if text in (self.nodes[own]["id"], self.nodes[v]["name"]):
                found.add(bit)
        return found

    def readings(self, text, shown):
        """Return the sets of leaves that a text may mean, 0 for none of those that are shown."""
        items = self.items(text)
        called = {
            self.masks[v]
            for v, node in enumerate(self.nodes)
            if v not in self.named and text in (node["id"], node["name"])
        }
        if items:
            elsewhere = {mask for mask in called if not any(bit & mask for bit in items)}
            return items | {bit | mask for bit in items for mask in elsewhere}
        if called:
            hidden = {bit for bit in self.unnamed for mask in called if bit & mask}
            return called | hidden | {0}
        return {bit for bit in self.unnamed if bit & shown} | {0}

    def located(self, text):
        """Return the leaf that a text means, 0 if there is none or several."""
        found = self.items(text)
        return found.pop() if len(found) == 1 else 0


def of_nodes(rows, structure):
    """Return the records of a generalized release, and its tree."""
    tree = Tree(structure["nodes"])
    behind = {node["id"]: tree.masks[v] for v, node in enumerate(structure["nodes"])}
    below = [tuple(behind[label] for label in row) for row in rows]
    bags = structure["hides"] and not structure.get("whole", False)
    every = (1 << tree.n_leaves) - 1
    # More items than leaves: the originals were no sets, and repetitions say nothing.
    bags = bags and all(record_worlds.can_match(masks, every) for masks in below)
    worlds = []
    for masks in below:
        # What was left out leaves no trace: only leaves below what is shown count.
        found = record_worlds.generalized(masks, tree.n_leaves, hides=False)
        if bags:
            found = [t for t in found if record_worlds.can_match(masks, t)]
        worlds.append(found)
    used = {label for row in rows for label in row}
    records = Records(rows, {label: behind[label] for label in used}, worlds)
    return records, tree


def of_sets(rows, members):
    """Return the records of sets of items, and the bit of each item."""
    items = sorted({item for row in rows for label in row for item in members(label)})
    bit = {item: 1 << i for i, item in enumerate(items)}
    used = {label for row in rows for label in row}
    behind = {label: sum(bit[item] for item in members(label)) for label in used}
    worlds = [
        record_worlds.generalized(tuple(behind[label] for label in row), len(items), hides=False)
        for row in rows
    ]
    return Records(rows, behind, worlds), bit


def leaves_are_lost(records, k, m, n_leaves):
    """Tell whether somebody who knows up to m leaves of a person is left with fewer than k records.

    They are those that may hold all of them.
    """
    for size in range(1, m + 1):
        for chosen in combinations(range(n_leaves), size):
            mask = sum(1 << i for i in chosen)
            if 0 < len(record_worlds.holders(records.worlds, mask)) < k:
                return True
    return False
