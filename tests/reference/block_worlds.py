"""All worlds of a small disassociated release, block by block and up to the order of records.

Written from the definition, like ``disassociation_worlds.py``, with which the tests compare it: the
sub-records of a chunk stand in distinct records of its clusters, a term of a term chunk in any
non-empty set of records, no record is empty. Records of one cluster are interchangeable, so a
world is kept with each cluster's records sorted, and with the number of placements that give it.
A record is a whole number; item i is its bit i.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, permutations

MOST = 4_000
"""Steps that the enumeration of one block may take."""


class TooManyWorldsError(Exception):
    """A block has more worlds than we go through."""


@dataclass(frozen=True)
class Block:
    """Clusters that shared chunks hold together.

    `spans` are the slots of each cluster, `domains` for each cluster the sets of items that stand
    together (one for each chunk over it and one for each of its terms), and `worlds` how many
    placements give each world. `bare` are the clusters without a term.
    """

    first: int
    spans: tuple
    domains: tuple
    bare: tuple
    worlds: Counter

    @cached_property
    def records(self):
        """For each cluster what its records may be."""
        return [{r for w in self.worlds for r in w[slice(*span)]} for span in self.spans]

    def supports(self, itemset):
        """Return the least and the greatest support of a set of items."""
        found = {sum(r & itemset == itemset for r in world) for world in self.worlds}
        return min(found), max(found)

    def chance(self, cluster, known, item):
        """Return how likely a record with `known` holds an item, all placements alike likely."""
        held = both = 0
        for world, ways in self.worlds.items():
            here = [r for r in world[slice(*self.spans[cluster])] if r & known == known]
            held += ways * len(here)
            both += ways * sum(r & item == item for r in here)
        return Fraction(both, held)


class Worlds:
    """A release's blocks, and what all worlds say of sets of items."""

    def __init__(self, release):
        self.bit = {name: 1 << i for i, name in enumerate(release.vocabulary.names)}
        clusters = [(c.size, c.chunks, c.terms) for c in release.clusters]
        shared = release.shared
        reach = list(range(1, len(clusters) + 1))
        for chunk in shared:
            reach[chunk.first] = max(reach[chunk.first], chunk.last)
        self.sizes = [size for size, _, _ in clusters]
        self.blocks = []
        first = 0
        while first < len(clusters):
            last = reach[first]
            inside = [chunk for chunk in shared if first <= chunk.first < last]
            self.blocks.append(self._block(first, clusters[first:last], inside))
            first = last

    def mask(self, items):
        """Return a set of published items as a number."""
        return sum(self.bit[item] for item in set(items))

    def _block(self, first, clusters, shared):
        starts = [0]
        for size, _, _ in clusters:
            starts.append(starts[-1] + size)
        spans = tuple((starts[c], starts[c + 1]) for c in range(len(clusters)))
        domains = [[] for _ in clusters]
        worlds = Counter({(0,) * starts[-1]: 1})
        bags = [
            (chunk, c, c + 1) for c, (_, chunks, _) in enumerate(clusters) for chunk in chunks
        ] + [(chunk, chunk.first - first, chunk.last - first) for chunk in shared]
        for chunk, a, b in bags:
            rows = tuple(sorted(map(self.mask, chunk.subrecords)))
            for c in range(a, b):
                domains[c].append(self.mask(i for row in chunk.subrecords for i in row))
            worlds = _laid(worlds, placements(rows, starts[b] - starts[a]), starts[a], spans)
        for c, (size, _, terms) in enumerate(clusters):
            for term in terms:
                domains[c].append(self.bit[term])
                worlds = _laid(worlds, anywhere(self.bit[term], size), starts[c], spans)
        return Block(
            first,
            spans,
            tuple(map(tuple, domains)),
            tuple(not terms for _, _, terms in clusters),
            Counter({world: ways for world, ways in worlds.items() if all(world)}),
        )

    @cached_property
    def records(self):
        """All records that any world has."""
        return {r for block in self.blocks for found in block.records for r in found}

    def supports(self, itemset):
        """Return the least and the greatest support of a set of items in the whole release."""
        found = [block.supports(itemset) for block in self.blocks]
        return sum(low for low, _ in found), sum(high for _, high in found)

    def clusters(self, itemset):
        """Return the clusters of which some world's record holds the set."""
        return {
            block.first + c
            for block in self.blocks
            for c, found in enumerate(block.records)
            if any(r & itemset == itemset for r in found)
        }

    def certain(self, known):
        """Return what all records with `known` hold besides; None if no world has such a record."""
        holding = [r for r in self.records if r & known == known]
        if not holding:
            return None
        common = holding[0]
        for record in holding:
            common &= record
        return common & ~known

    def is_narrowed(self, k, m):
        """Tell whether a set of at most m items is possible in a block, but never in k records."""
        for block in self.blocks:
            held = {s for found in block.records for r in found for s in subsets(r, m)}
            if any(block.supports(s)[1] < k for s in held):
                return True
        return False

    def gives_away(self):
        """Tell whether items of a person in a known cluster make an item of another chunk certain.

        It is enough to know all of a record outside the other item's chunk: who knows less knows
        of no more records.
        """
        for block in self.blocks:
            for found, domains in zip(block.records, block.domains, strict=True):
                for domain in domains:
                    for known in {r & ~domain for r in found} - {0}:
                        common = domain
                        for record in found:
                            if record & known == known:
                                common &= record
                        if common:
                            return True
        return False

    def greatest_chance(self, block, m):
        """Return the greatest chance of an item, given at most m items outside its chunk."""
        return max(
            (
                block.chance(c, known, 1 << i)
                for c, (found, domains) in enumerate(zip(block.records, block.domains, strict=True))
                for domain in domains
                for known in {s for r in found for s in subsets(r & ~domain, m)}
                for i in range(domain.bit_length())
                if domain >> i & 1
            ),
            default=Fraction(0),
        )


@lru_cache(maxsize=50_000)
def placements(rows, n):
    """Return all ways to put a bag of rows into n slots, at most one into each."""
    filled = rows + (0,) * (n - len(rows))
    return tuple(sorted(set(permutations(filled))))


@lru_cache(maxsize=5_000)
def anywhere(term, n):
    """Return all ways to put a term into one or more of n slots."""
    return tuple(tuple(term * (w >> s & 1) for s in range(n)) for w in range(1, 1 << n))


@lru_cache(maxsize=5_000)
def subsets(items, most):
    """Return the non-empty parts of a set, up to a size."""
    bits = [1 << i for i in range(items.bit_length()) if items >> i & 1]
    return tuple(
        sum(part)
        for size in range(1, min(most, len(bits)) + 1)
        for part in combinations(bits, size)
    )


def _laid(worlds, ways, start, spans):
    """Return the worlds after something was placed into slots from `start` on."""
    if len(worlds) * len(ways) > MOST:
        raise TooManyWorldsError
    found = Counter()
    for world, count in worlds.items():
        before, after = world[:start], world[start + len(ways[0]) :]
        middle = world[start : start + len(ways[0])]
        for way in ways:
            made = (*before, *map(int.__or__, middle, way), *after)
            found[tuple(r for a, b in spans for r in sorted(made[a:b]))] += count
    return found
