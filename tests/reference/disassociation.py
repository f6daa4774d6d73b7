"""Disassociation in plain sets, as the specification reads; slow, and written apart from it.

Records are frozensets of anything that sorts, in the order in which ties are broken.
"""

from itertools import combinations


def supports(records):
    """Return item → number of records that hold it."""
    found = {}
    for record in records:
        for item in record:
            found[item] = found.get(item, 0) + 1
    return found


def horizontal(records, k, most, passes=None):
    """Return clusters (lists of places) by splitting on the most frequent item, recursively.

    Where a part would be smaller than k, the whole is kept together; unless `passes` says of its
    size that the item is passed over.
    """
    return _split(records, list(range(len(records))), frozenset(), k=k, most=most, passes=passes)


def _split(records, places, ignored, **how):
    k, most, passes = how["k"], how["most"], how["passes"]
    while len(places) >= most:
        counts = supports(records[p] - ignored for p in places)
        if not counts:
            break
        term = min(counts, key=lambda item: (-counts[item], item))
        ignored = ignored | {term}
        held = [p for p in places if term in records[p]]
        rest = [p for p in places if term not in records[p]]
        if not rest:
            continue
        if min(len(held), len(rest)) >= k:
            with_it = _split(records, held, ignored, **how)
            return with_it + _split(records, rest, ignored - {term}, **how)
        if passes is None or not passes(len(places)):
            break
    return [places]


def is_km(rows, k, m):
    """Tell whether no set of up to m items is in some, but fewer than k rows."""
    counts = {}
    for row in rows:
        for size in range(1, min(m, len(row)) + 1):
            for itemset in combinations(sorted(row), size):
                counts[itemset] = counts.get(itemset, 0) + 1
    return all(count >= k for count in counts.values())


def vertical(records, k, m):
    """Return the domains of the record chunks, in order of their making, and the other items."""
    counts = supports(records)
    ordered = sorted(counts, key=lambda item: (-counts[item], item))
    rest = [item for item in ordered if counts[item] >= k]
    domains = []
    while rest:
        chosen = []
        for item in rest:
            tried = {*chosen, item}
            if is_km([record & tried for record in records], k, m):
                chosen.append(item)
        domains.append(chosen)
        rest = [item for item in rest if item not in chosen]
    return domains, {item for item in counts if counts[item] < k}


def chunk(records, domain):
    """Return the non-empty sub-records."""
    return [record & set(domain) for record in records if record & set(domain)]


def excess(records, domains):
    """Return e: how many more sub-records there are than records."""
    return sum(len(chunk(records, domain)) for domain in domains) - len(records)


def narrows(records, domains, terms, k, m):
    """Tell whether sub-records are so scarce that some set stays below k in every world."""
    reach = min(m, len(domains))
    return not terms and 0 < excess(records, domains) < k * (reach - 1)


def repaired(records, domains, terms, k, m):
    """Return domains and terms after the rarest item of the last chunk went to the term chunk."""
    domains, terms = [list(domain) for domain in domains], set(terms)
    while narrows(records, domains, terms, k, m):
        terms.add(domains[-1].pop())
        domains = [domain for domain in domains if domain]
    return domains, terms


def safe(records, k, m, cap):
    """Return domains, terms and deletions (place, item) with no chunk item in more than `cap`.

    The sub-records come first from which least is lost: those of fewest items, but with nothing
    else to fill a record, an item alone in its sub-record last. Where items have to go to the
    terms, it is tried again with items in domains of their own, and kept if that loses less.
    """
    full, rare = supports(records), vertical(records, k, m)[1]
    plain = SafeCluster(records, k, m, cap).made(apart=False)
    if plain[1] == rare:
        return plain

    def lost(way):
        return sum(full[item] for item in way[1] - rare) + 2 * len(way[2])

    return min(plain, SafeCluster(records, k, m, cap).made(apart=True), key=lost)


class SafeCluster:
    """A cluster on the way to safe chunks; `gone` are its deletions (place, item)."""

    def __init__(self, records, k, m, cap):
        self.records = [set(record) for record in records]
        self.k, self.m, self.cap = k, m, cap
        self.domains, self.terms = vertical(self.records, k, m)
        full = supports(self.records)
        self.order = sorted(
            (item for domain in self.domains for item in domain),
            key=lambda item: (-full[item], item),
        )
        self.gone = set()

    def put_back(self, item):
        for place, what in [pair for pair in self.gone if pair[1] == item]:
            self.records[place].add(what)
            self.gone.discard((place, what))

    def thin_out(self, item):
        domain = next(domain for domain in self.domains if item in domain)
        how = {"cap": self.cap, "k": self.k, "m": self.m, "alone": bool(self.terms)}
        return _thin_out(self.records, domain, item, self.gone, **how)

    def demote(self, item):
        self.domains = _without(self.domains, item)
        self.terms.add(item)
        self.put_back(item)

    def mend_narrow(self, *, apart):
        """Make sub-records enough, or as many as records, or give up an item."""
        counts = supports(self.records)
        rarest = min(self.domains[-1], key=lambda i: (counts[i], -self.order.index(i)))
        if apart:
            wide = _widened(self.records, self.domains, self.order, self.k, self.m)
            if wide:
                self.domains = wide
                return
            if excess(self.records, self.domains) < counts[rarest] and _thin_to_one(
                self.records, self.domains, self.order, self.gone, self.k
            ):
                return
        self.demote(rarest)

    def mend_frequent(self, item, *, apart):
        """Take an item out of enough records, where it stands or else apart, or give it up."""
        if self.thin_out(item):
            return
        self.put_back(item)
        if apart and [item] not in self.domains:
            self.domains = [*_without(self.domains, item), [item]]
            if self.thin_out(item):
                return
        self.demote(item)

    def made(self, *, apart):
        while True:
            if narrows(self.records, self.domains, self.terms, self.k, self.m):
                self.mend_narrow(apart=apart)
                continue
            counts = supports(self.records)
            over = [i for domain in self.domains for i in domain if counts[i] > self.cap]
            if not over or (len(self.domains) == 1 and not self.terms):
                return self.domains, self.terms, self.gone
            item = min(over, key=lambda item: (-counts[item], self.order.index(item)))
            self.mend_frequent(item, apart=apart)


def _without(domains, item):
    """Return the domains without an item, and without one that it leaves empty."""
    left = [[other for other in domain if other != item] for domain in domains]
    return [domain for domain in left if domain]


def _widened(records, domains, order, k, m):
    """Return domains with one item, or else several, set apart, so that nothing is narrowed."""
    items = [
        item
        for domain in reversed(domains)
        for item in sorted(domain, key=order.index, reverse=True)
    ]
    for item in items:
        tried = [*_without(domains, item), [item]]
        if [item] not in domains and not narrows(records, tried, set(), k, m):
            return tried
    tried = domains
    for item in items:
        if [item] not in tried:
            tried = [*_without(tried, item), [item]]
            if not narrows(records, tried, set(), k, m):
                return tried
    return None


def _thin_to_one(records, domains, order, gone, k):
    """Delete items that are alone in their sub-records until each record has one sub-record."""
    tried, taken = [set(record) for record in records], set()
    while excess(tried, domains):
        counts = supports(tried)
        fits = [
            (-counts[item], order.index(item), place, item)
            for domain in domains
            for item in domain
            for place, record in enumerate(tried)
            if counts[item] > k and len(record) > 1 and record & set(domain) == {item}
        ]
        if not fits:
            return False
        *_, place, item = min(fits)
        tried[place].discard(item)
        taken.add((place, item))
    records[:] = tried
    gone |= taken
    return True


def _thin_out(records, domain, item, gone, *, cap, k, m, alone):
    while supports(records)[item] > cap:
        fits = []
        for place, record in enumerate(records):
            if item not in record or len(record) < 2:
                continue
            mates = sorted((record & set(domain)) - {item})
            sets = [{item, *some} for size in range(m) for some in combinations(mates, size)]
            if all(sum(itemset <= other for other in records) > k for itemset in sets):
                fits.append((not mates and not alone, len(mates), place))
        if not fits:
            return False
        place = min(fits)[2]
        records[place].discard(item)
        gone.add((place, item))
    return True


def shared(members, banned, k, m, cap):
    """Return the domains that two clusters can share, or None where they are not worth joining.

    `members` are the clusters of both: for each the parts of its records that are in the term
    chunk (empty ones too), and whether its term chunk may become empty.
    """
    records = [record for rows, _ in members for record in rows]
    counts = supports(records)
    can = {item for item, n in counts.items() if k <= n <= cap and item not in banned}
    held_back = set()
    for rows, may_empty in members:
        listed = {item for row in rows for item in row}
        if listed and not may_empty and listed <= can - held_back:
            held_back.add(min(listed, key=lambda item: (counts[item], item)))
    can -= held_back
    losing = [(len(rows), {i for row in rows for i in row} & can) for rows, _ in members]
    told = sum(len(lost) for _, lost in losing)
    of = sum(size for size, lost in losing if lost)
    if not can or sum(counts[i] for i in can) * of < told * len(records):
        return None
    return vertical([record & can for record in records], k, m)[0]
