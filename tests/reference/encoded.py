"""Releases of tags and of profiles, by enumeration of every original they allow."""

from itertools import permutations


def namings(tags, readable, names):
    """Return every way to name the tags by names that cannot be read, all different."""
    free = [name for name in names if name not in readable]
    return [dict(zip(tags, chosen, strict=True)) for chosen in permutations(free, len(tags))]


def encoded_worlds(rows, readable, names):
    """Return all originals, record by record, that rows of names and tags allow."""
    tags = sorted({item for row in rows for item in row} - set(readable))
    return [
        [frozenset(naming.get(item, item) for item in row) for row in rows]
        for naming in namings(tags, readable, names)
    ]


def groupings(count):
    """Return all ways to divide 0 .. count - 1 into groups."""
    if count == 0:
        return [[]]
    found = []
    for rest in groupings(count - 1):
        found.append([*rest, [count - 1]])
        for place, group in enumerate(rest):
            found.append([*rest[:place], [*group, count - 1], *rest[place + 1 :]])
    return found


def split_worlds(profiles):
    """Return all originals, as lists of records, that profiles of disjoint items allow."""
    found = []
    for groups in groupings(len(profiles)):
        together = [[item for place in group for item in profiles[place]] for group in groups]
        if all(len(set(items)) == len(items) for items in together):
            found.append([frozenset(items) for items in together])
    return found
