"""Which records have a link that is certain wherever its items occur: read off the definition.

For releases without joint clusters whose clusters have a term chunk, or chunks with many more
sub-records than records, so that pieces from different chunks can always meet.
"""

from itertools import combinations


def linked_records(release, original, key, m):
    """Return how many records hold at most m items that give another of their items away.

    The item y is given away by the set A if all records of every cluster that may hold A hold y,
    and A lies outside y's chunk where the record is.
    """
    clusters = [_places(cluster) for cluster in release.clusters]
    slots = [cluster.number for cluster in release.clusters for _ in range(cluster.size)]
    holders = {}
    for number, (where, _, _) in enumerate(clusters):
        for item in where:
            holders.setdefault(item, set()).add(number)
    given = {}
    found = 0
    for number, record in zip(slots, key.records.tolist(), strict=True):
        items = sorted(original[record])
        places = clusters[number][0]
        for known in (a for size in range(1, m + 1) for a in combinations(items, size)):
            if known not in given:
                given[known] = _given_away(clusters, holders, known)
            if any(all(places[a] != places[y] for a in known) for y in given[known] - set(known)):
                found += 1
                break
    return found


def _places(cluster):
    """Return where each item stands, the rows of each chunk, and the items in all records."""
    where = dict.fromkeys(cluster.terms, -1)
    always = set()
    for number, chunk in enumerate(cluster.chunks):
        for item in {item for row in chunk.subrecords for item in row}:
            where[item] = number
            if sum(item in row for row in chunk.subrecords) == cluster.size:
                always.add(item)
    rows = [[set(row) for row in set(chunk.subrecords)] for chunk in cluster.chunks]
    return where, rows, always


def _given_away(clusters, holders, known):
    """Return the items that all records of every cluster hold where `known` is possible."""
    common = None
    for number in sorted(set.intersection(*(holders[item] for item in known))):
        if common is not None and not common:
            break
        where, rows, always = clusters[number]
        pieces = {}
        for item in known:
            pieces.setdefault(where[item], set()).add(item)
        if all(
            chunk < 0 or any(piece <= row for row in rows[chunk]) for chunk, piece in pieces.items()
        ):
            common = set(always) if common is None else common & always
    return common or set()
