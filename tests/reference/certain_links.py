"""Which records have a link that is certain wherever its items occur: read off the definition.

For releases without joint clusters.
"""

from itertools import combinations


def linked_records(release, original, key, m, *, across=False):
    """Return how many records hold at most m items that give another of their items away.

    The item y is given away by the set A if every cluster that may hold A has y in all records,
    or in all sub-records that hold A's part in y's chunk. With `across`, only the first counts,
    and A must lie outside y's chunk where the record is.
    """
    clusters = [_places(cluster) for cluster in release.clusters]
    slots = [cluster.number for cluster in release.clusters for _ in range(cluster.size)]
    holders = {}
    for number, (where, _, _, _) in enumerate(clusters):
        for item in where:
            holders.setdefault(item, set()).add(number)
    removed = set(key.removed)
    given = {}
    found = 0
    for number, record in zip(slots, key.records.tolist(), strict=True):
        items = sorted(item for item in original[record] if (record, item) not in removed)
        places = clusters[number][0]
        for known in (a for size in range(1, m + 1) for a in combinations(items, size)):
            if known not in given:
                given[known] = _given_away(clusters, holders, known, across)
            others = given[known] - set(known)
            if across:
                others = {y for y in others if all(places[a] != places[y] for a in known)}
            if others:
                found += 1
                break
    return found


def _places(cluster):
    """Return where each item stands, the rows of each chunk, the items of all, and what is spare.

    What is spare: by how many sub-records outnumber records; anything where there are terms.
    """
    where = dict.fromkeys(cluster.terms, -1)
    always = set(cluster.terms) if cluster.size == 1 else set()
    for number, chunk in enumerate(cluster.chunks):
        for item in {item for row in chunk.subrecords for item in row}:
            where[item] = number
            if sum(item in row for row in chunk.subrecords) == cluster.size:
                always.add(item)
    rows = [[set(row) for row in set(chunk.subrecords)] for chunk in cluster.chunks]
    spare = sum(len(chunk.subrecords) for chunk in cluster.chunks) - cluster.size
    return where, rows, always, float("inf") if cluster.terms else spare


def _given_away(clusters, holders, known, across):
    """Return the items that come with `known` in every cluster where it is possible."""
    common = None
    for number in sorted(set.intersection(*(holders[item] for item in known))):
        if common is not None and not common:
            break
        where, rows, always, spare = clusters[number]
        pieces = {}
        for item in known:
            pieces.setdefault(where[item], set()).add(item)
        pieces.pop(-1, None)
        matches = [[row for row in rows[q] if piece <= row] for q, piece in pieces.items()]
        if all(matches) and len(matches) - 1 <= spare:
            here = set(always)
            if not across:
                here.update(*(set.intersection(*rows) for rows in matches))
            common = here if common is None else common & here
    return common or set()
