"""Linkage and intersection of records in clear, by plain sets."""


def candidates(rows, published, known):
    """Return the places of the rows that show all known items that are published at all."""
    return [i for i, row in enumerate(rows) if set(known) & published <= set(row)]


def surviving(rows, published, others, also_published, known):
    """Return the candidates that some candidate of another release can be the same person as.

    That is so where some original gives both rows: they agree on what both releases publish.
    """
    both = published & also_published
    partners = [set(others[j]) for j in candidates(others, also_published, known)]
    return [
        i
        for i in candidates(rows, published, known)
        if any(set(rows[i]) & both == partner & both for partner in partners)
    ]


def learned(rows, places, known):
    """Return what all of some rows show beyond the known items."""
    shown = [set(rows[i]) for i in places]
    return set.intersection(*shown) - set(known) if shown else set()
