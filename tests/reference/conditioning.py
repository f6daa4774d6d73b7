"""Chances of cells by going through all tables: plain, slow, and independent of the sampling."""

from itertools import product

import numpy as np


def enumerated(logits, crowding):
    """Return each cell's chance to be kept, and how many rows keep so many, over all tables."""
    rows, columns = logits.shape
    most = len(crowding) - 1
    total = 0.0
    chances = np.zeros(logits.shape)
    sizes = np.zeros(most + 1)
    for bits in product((0, 1), repeat=rows * columns):
        kept = np.array(bits).reshape(rows, columns)
        if not kept.any(axis=0).all() or not kept.any(axis=1).all():
            continue
        counts = np.minimum(kept.sum(axis=1), most)
        weight = float(np.exp((logits * kept).sum() + crowding[counts].sum()))
        total += weight
        chances += weight * kept
        sizes += weight * np.bincount(counts, minlength=most + 1)
    return chances / total, sizes / total
