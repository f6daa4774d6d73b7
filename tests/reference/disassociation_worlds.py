"""All worlds of small disassociated releases, and what they say, by enumeration.

Written from the definition alone: the sub-records of a chunk stand in distinct records of its
clusters, a term of a term chunk in any non-empty set of records, no record is empty.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product


def parts_of(release):
    """Return sizes, chunks (rows, first slot, last slot) and terms (term, first, last slot)."""
    clusters = list(release.clusters)
    starts = [0]
    for cluster in clusters:
        starts.append(starts[-1] + cluster.size)
    chunks = [chunk for cluster in clusters for chunk in cluster.chunks] + list(release.shared)
    bags = [(chunk.subrecords, starts[chunk.first], starts[chunk.last]) for chunk in chunks]
    terms = [
        (term, starts[cluster.number], starts[cluster.number + 1])
        for cluster in clusters
        for term in cluster.terms
    ]
    return starts, bags, terms


def _placements(rows, low, high):
    """Return all ways to put a bag of rows into distinct slots, as tuples of (slot, row)."""
    return sorted(
        {
            tuple(sorted(zip(slots, rows, strict=True)))
            for slots in permutations(range(low, high), len(rows))
        }
    )


def placements(release, *, once=False):
    """Yield every way to place everything without an empty record, as a tuple of sets.

    With `once`, terms of term chunks go into one record only. Equal sub-records are not told
    apart, so all ways yielded are equally likely if sub-records are placed at random.
    """
    starts, bags, terms = parts_of(release)
    ways = [_placements(rows, low, high) for rows, low, high in bags]
    for term, low, high in terms:
        sizes = [1] if once else range(1, high - low + 1)
        ways.append(
            [
                tuple((slot, (term,)) for slot in slots)
                for size in sizes
                for slots in combinations(range(low, high), size)
            ]
        )
    for chosen in product(*ways):
        records = [set() for _ in range(starts[-1])]
        for placed in chosen:
            for slot, row in placed:
                records[slot].update(row)
        if all(records):
            yield tuple(map(frozenset, records))


def count_ways(release):
    """Return about how many placements there are to go through."""
    _, bags, terms = parts_of(release)
    total = 1
    for rows, low, high in bags:
        for i in range(len(rows)):
            total *= high - low - i
    for _, low, high in terms:
        total *= 2 ** (high - low) - 1
    return total


def supports(release, itemsets):
    """Return for each itemset its set of supports over all worlds."""
    found = {itemset: set() for itemset in itemsets}
    for world in placements(release):
        for itemset, seen in found.items():
            seen.add(sum(itemset <= record for record in world))
    return found


def itemsets_of(release, most):
    """Return all sets of at most so many published items."""
    names = release.vocabulary.names
    return [
        frozenset(chosen) for size in range(1, most + 1) for chosen in combinations(names, size)
    ]


def blocks_of(release):
    """Return the runs of clusters that shared chunks hold together."""
    joined = list(range(len(release.clusters)))
    for chunk in release.shared:
        for c in range(chunk.first, chunk.last):
            for other in range(len(joined)):
                if joined[other] == joined[c]:
                    joined[other] = joined[chunk.first]
    runs = {}
    for c, block in enumerate(joined):
        runs.setdefault(block, []).append(c)
    return [(run[0], run[-1] + 1) for run in runs.values()]


def breaches(release, k, m):
    """Return the sets of at most m items that are possible in a block, but never in k records.

    Each comes with the block's clusters and its greatest support.
    """
    starts, _, _ = parts_of(release)
    most = Counter()
    blocks = blocks_of(release)
    itemsets = itemsets_of(release, m)
    for world in placements(release):
        for first, last in blocks:
            records = world[starts[first] : starts[last]]
            for itemset in itemsets:
                support = sum(itemset <= record for record in records)
                most[first, last, itemset] = max(support, most[first, last, itemset])
    return {where: support for where, support in most.items() if 0 < support < k}


def certain_links(release):
    """Return (cluster, itemset outside y's chunk, y) where every world puts y with the itemset.

    A term of a term chunk stands with no other item.
    """
    starts, _, _ = parts_of(release)
    state = {}
    domains = {}
    for cluster in release.clusters:
        chunks = [*cluster.chunks, *shared_over(release, cluster.number)]
        inside = [{item for row in chunk.subrecords for item in row} for chunk in chunks]
        domains[cluster.number] = inside + [{term} for term in cluster.terms]
    for world in placements(release):
        for cluster in release.clusters:
            for record in set(world[starts[cluster.number] : starts[cluster.number + 1]]):
                for domain in domains[cluster.number]:
                    outside = sorted(record - domain)
                    for size in (1, 2):
                        for chosen in combinations(outside, size):
                            for y in domain:
                                link = (cluster.number, frozenset(chosen), y)
                                state[link] = state.get(link, True) and y in record
    return {link for link, certain in state.items() if certain}


def shared_over(release, cluster):
    return [chunk for chunk in release.shared if chunk.first <= cluster < chunk.last]


def link_probability(release, cluster, itemset, y, *, once=False):
    """Return P(y in r | itemset in r) for a record of a cluster, all placements alike likely."""
    starts, _, _ = parts_of(release)
    held = both = 0
    for world in placements(release, once=once):
        record = world[starts[cluster]]
        held += itemset <= record
        both += itemset <= record and y in record
    return Fraction(both, held) if held else None


def certain_items(release):
    """Return for each set of items some world's record holds what all such records hold besides."""
    common = {}
    for world in placements(release):
        for record in set(world):
            for size in range(len(record) + 1):
                for known in map(frozenset, combinations(sorted(record), size)):
                    common[known] = common.get(known, record) & record
    return {known: items - known for known, items in common.items()}


def possible_clusters(release):
    """Return for each set of items the clusters of which some world's record holds it."""
    starts, _, _ = parts_of(release)
    found = {}
    for world in placements(release):
        for cluster in range(len(starts) - 1):
            for record in set(world[starts[cluster] : starts[cluster + 1]]):
                for size in range(1, len(record) + 1):
                    for known in map(frozenset, combinations(sorted(record), size)):
                        found.setdefault(known, set()).add(cluster)
    return found
