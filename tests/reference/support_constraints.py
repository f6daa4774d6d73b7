"""Support constraints straight from the definition: every part of every image is counted."""

from itertools import combinations


def rare_parts(rows, images, itemsets, k):
    """Return for each itemset the parts of its image with a support above 0 and below k.

    `rows` are sets of published items, `images` names what stands for each item, or None.
    """
    found = {}
    for itemset in itemsets:
        image = sorted({images[i] for i in itemset if images.get(i) is not None})
        for size in range(1, len(image) + 1):
            for part in combinations(image, size):
                support = sum(set(part) <= set(row) for row in rows)
                if 0 < support < k:
                    found.setdefault(tuple(sorted(set(itemset))), {})[part] = support
    return found
