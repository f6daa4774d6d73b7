"""The elimination attacks as the paper and the specification tell them, in plain NumPy.

Everything is computed anew in every round: groups are sorted, gaps are taken, the greatest wins.
"""

import numpy as np


def exceeds(value, threshold):
    """More than a threshold; a mean of equal numbers may come out a rounding below them."""
    return value > threshold * (1 + 1e-12)


class Live:
    """A table of distances of which cells are taken out, one by one."""

    def __init__(self, distances):
        self.distances = np.asarray(distances, dtype=float)
        self.alive = np.ones(self.distances.shape, dtype=bool)

    def may_go(self, row, column):
        """Neither the last of its row nor of its column."""
        return self.alive[row].sum() >= 2 and self.alive[:, column].sum() >= 2

    def groups(self):
        """Rows, then columns: lists of live cells."""
        rows, columns = self.alive.shape
        for i in range(rows):
            yield [(i, j) for j in range(columns) if self.alive[i, j]]
        for j in range(columns):
            yield [(i, j) for i in range(rows) if self.alive[i, j]]


def counting_weights(live):
    """d · (1 - 1/live cells in the row) · (1 - 1/live cells in the column)."""
    in_row = live.alive.sum(axis=1, keepdims=True)
    in_column = live.alive.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore"):
        return live.distances * (1 - 1 / in_row) * (1 - 1 / in_column)


def split(group, weighted):
    """Return the greatest gap of a group, its lower cluster, and its largest cell.

    Equal distances: the lower row and column counts as the larger one. Equal gaps: the uppermost.
    """
    ordered = sorted(group, key=lambda cell: (weighted[cell], -cell[0], -cell[1]))
    if len(ordered) < 2:
        return 0.0, [], ordered[-1] if ordered else None
    gaps = np.diff([weighted[cell] for cell in ordered])
    at = len(gaps) - 1 - int(np.argmax(gaps[::-1]))
    return float(gaps[at]), ordered[: at + 1], ordered[-1]


class Counting:
    """GBA: what a cell weighs depends on how many are left beside it."""

    def __init__(self, live):
        self.live = live

    def weighted(self):
        return counting_weights(self.live)

    def remove(self, row, column):
        self.live.alive[row, column] = False


class Redistributing:
    """RBA: what a cell weighed goes to the lower clusters of its row and its column."""

    def __init__(self, live):
        self.live = live
        rows, columns = live.alive.shape
        self.by_row = np.full((rows, columns), 1 / columns)
        self.by_column = np.full((rows, columns), 1 / rows)

    def weighted(self):
        shrunk = np.maximum(1 - self.by_row, 0), np.maximum(1 - self.by_column, 0)
        return self.live.distances * shrunk[0] * shrunk[1]

    def remove(self, row, column):
        weighted, alive = self.weighted(), self.live.alive
        along = [(row, j) for j in range(alive.shape[1]) if alive[row, j]]
        down = [(i, column) for i in range(alive.shape[0]) if alive[i, column]]
        for group, weights in ((along, self.by_row), (down, self.by_column)):
            heirs = [cell for cell in split(group, weighted)[1] if cell != (row, column)]
            for cell in heirs:
                weights[cell] += weights[row, column] / len(heirs)
        alive[row, column] = False


def by_groups(distances, rule, most=None):
    """GBA (rule Counting) or RBA (rule Redistributing).

    Returns the eliminated cells in order, the vulnerability that decided each, the threshold, the
    first vulnerability that was too low (None where there was no group left), and the weighted
    table at the end, NaN where a cell is gone.
    """
    live = Live(distances)
    state = rule(live)
    weighted = state.weighted()
    threshold = float(np.mean([split(group, weighted)[0] for group in live.groups()]))
    eliminated, decided, stopped = [], [], None
    while most is None or len(eliminated) < most:
        weighted = state.weighted()
        candidates = []
        for group in live.groups():
            gap, _, largest = split(group, weighted)
            if len(group) >= 2 and live.may_go(*largest):
                candidates.append((-gap, -weighted[largest], *largest))
        if not candidates:
            break
        gap, _, row, column = min(candidates)
        if not exceeds(-gap, threshold):
            stopped = -gap
            break
        state.remove(row, column)
        eliminated.append((row, column))
        decided.append(-gap)
    final = np.where(live.alive, state.weighted(), np.nan)
    return eliminated, decided, threshold, stopped, final


def wba(distances):
    live = Live(distances)
    weighted = counting_weights(live)
    threshold = float(weighted.mean())
    eliminated, decided = [], []
    while True:
        weighted = counting_weights(live)
        candidates = [
            (-weighted[cell], *cell)
            for cell in zip(*np.nonzero(live.alive), strict=True)
            if live.may_go(*cell)
        ]
        if not candidates:
            break
        value, row, column = min(candidates)
        if not exceeds(-value, threshold):
            break
        live.alive[row, column] = False
        eliminated.append((int(row), int(column)))
        decided.append(float(-value))
    return eliminated, decided, threshold


def above(distances, threshold, most=None):
    """TBA: cells above a threshold, greatest first, but for the last of a row or column."""
    live = Live(distances)
    cells = sorted(np.ndindex(live.alive.shape), key=lambda cell: (-live.distances[cell], *cell))
    eliminated = []
    for row, column in cells:
        if not live.distances[row, column] > threshold or len(eliminated) == most:
            break
        if live.may_go(row, column):
            live.alive[row, column] = False
            eliminated.append((row, column))
    return eliminated


def by_groups_in_arrays(distances, rule, most=None):
    """As :func:`by_groups`, every round with whole arrays: what one writes in NumPy at first.

    Returns the eliminated cells in order; with `most`, only so many.
    """
    live = Live(distances)
    state = rule(live)
    rows, columns = live.alive.shape
    row, column = np.arange(rows), np.arange(columns)
    threshold = None
    eliminated = []
    while most is None or len(eliminated) < most:
        weighted = np.where(live.alive, state.weighted(), np.nan)
        gaps = np.concatenate([widest(weighted, axis=1), widest(weighted, axis=0)])
        if threshold is None:
            threshold = gaps.mean()
        lowest = np.where(live.alive, weighted, -1.0)
        i = np.concatenate([row, lowest.argmax(axis=0)])
        j = np.concatenate([lowest.argmax(axis=1), column])
        free = (live.alive.sum(axis=1)[i] >= 2) & (live.alive.sum(axis=0)[j] >= 2)
        gaps = np.where(free, gaps, -1.0)
        best = np.lexsort((j, i, -weighted[i, j], -gaps))[0]
        if not exceeds(gaps[best], threshold):
            break
        eliminated.append((int(i[best]), int(j[best])))
        state.remove(*eliminated[-1])
    return eliminated


def widest(weighted, axis):
    """The largest gap of each row or column; cells that are gone are NaN and sorted last."""
    gaps = np.diff(np.sort(weighted, axis=axis), axis=axis)
    return np.max(np.nan_to_num(gaps, nan=0.0), axis=axis, initial=0.0)
