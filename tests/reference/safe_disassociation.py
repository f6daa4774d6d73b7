"""How few occurrences of a small cluster any safe way of publishing it loses, by trying all."""

from itertools import combinations

from tests.reference.coat import partitions
from tests.reference.disassociation import is_km, narrows, supports


def is_safe(records, domains, terms, *, k, m, cap):
    """Tell whether chunks of these domains are frequent, not too few, and give nothing away."""
    if not all(is_km([record & set(domain) for record in records], k, m) for domain in domains):
        return False
    if narrows(records, domains, terms, k, m):
        return False
    if len(domains) <= 1 and not terms:
        return True
    counts = supports(records)
    return all(counts.get(item, 0) <= cap for domain in domains for item in domain)


def least_lost(records, k, m, cap, *, most):
    """Return the fewest occurrences that are deleted or of items moved to the terms, up to `most`.

    Occurrences of items that fewer than k records hold are in the term chunk anyway and do not
    count. Every choice of moved items, of deletions that empty no record, and of domains is tried.
    """
    counts = supports(records)
    frequent = sorted(item for item in counts if counts[item] >= k)
    rare = {item for item in counts if counts[item] < k}
    best = most
    for size in range(len(frequent) + 1):
        for moved in combinations(frequent, size):
            hidden = sum(counts[item] for item in moved)
            left = [item for item in frequent if item not in moved]
            for deletions in range(best - hidden):
                if _can_delete(records, left, {*rare, *moved}, deletions, k=k, m=m, cap=cap):
                    best = hidden + deletions
                    break
    return best


def _can_delete(records, items, terms, deletions, *, k, m, cap):
    held = [(place, i) for place, record in enumerate(records) for i in sorted(record & set(items))]
    ways = list(partitions(items))
    for gone in combinations(held, deletions):
        left = [
            record - {item for at, item in gone if at == place}
            for place, record in enumerate(records)
        ]
        if all(left) and any(is_safe(left, domains, terms, k=k, m=m, cap=cap) for domains in ways):
            return True
    return False
