"""Choosing records so that a ratio over them comes near a wished value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.swaps import swap_towards

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from setveil.core.table import Int32Array, Int64Array

    Progress = Callable[[str, int, int], None]

FEW = 20_000
"""Up to this many choices are all looked at; more are searched."""

PER_RECORD = 10
LEAST_TRIED = 10_000
ROUNDS = 100
STARTS = 3
STALLED = 2e-4
ROUNDING = 1e-12
AIM = 0.1
"""Share of the tolerance that the search aims at, so as not to stop at its very edge."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratio:
    """What a choice of records is judged by: (parts + different items) / wholes.

    Parameters
    ----------
    offsets, items
        Rows of items, sets in compressed form; the different items of a choice are counted.
    n_items
        Number of items.
    parts, wholes
        What each record adds to the numerator and to the denominator.

    Examples
    --------
    >>> ratio = Ratio(offsets=np.array([0, 2, 3]), items=np.array([0, 1, 1], dtype=np.int32),
    ...               n_items=2, parts=np.zeros(2, dtype=np.int64), wholes=np.array([2, 1]))
    >>> ratio.of(np.array([0, 1]))
    0.6666666666666666
    """

    offsets: Int64Array
    items: Int32Array
    n_items: int
    parts: Int64Array
    wholes: Int64Array

    def __len__(self) -> int:
        return len(self.parts)

    def of(self, records: Int64Array) -> float:
        """Return the ratio of a choice; NaN where its denominator is 0."""
        part, whole = self.sums(self.counts(records), records).tolist()
        return part / whole if whole else math.nan

    def counts(self, records: Int64Array) -> Int64Array:
        """Return for each item how many of the records hold it."""
        chosen = np.zeros(len(self), dtype=bool)
        chosen[records] = True
        held = np.repeat(chosen, np.diff(self.offsets))
        return np.bincount(self.items[held], minlength=self.n_items).astype(np.int64)

    def sums(self, counts: Int64Array, records: Int64Array) -> Int64Array:
        """Return numerator and denominator of a choice whose items have these counts."""
        part = int(self.parts[records].sum()) + int(np.count_nonzero(counts))
        return np.array([part, int(self.wholes[records].sum())], dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """How a search ended.

    Parameters
    ----------
    records
        The choice that came nearest, and its `value`.
    reached
        Whether that is near enough.
    at_random
        Value of the random choice that the search set out from.
    low, high
        Least and greatest values that choices have; known only where the wish was not reached.
    exact
        Whether every choice was looked at, so that `low` and `high` are certain.
    """

    records: Int64Array
    value: float
    reached: bool
    at_random: float
    low: float = math.nan
    high: float = math.nan
    exact: bool = False


def choose(
    ratio: Ratio,
    target: float,
    *,
    size: int,
    tolerance: float,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Found:
    """Choose `size` records whose ratio is within `tolerance` of `target`.

    Where there are few choices all are looked at, and one of those that fit is drawn. Otherwise
    a random choice is changed by random swaps that bring it nearer, until it is near enough: the
    result stays as random as the wish allows. A ratio of sums, without different items, has no
    false summits (see :func:`extreme`); with them the ends of the range are those of the search.

    Parameters
    ----------
    ratio
        What is steered; the records must come in an order that depends on nothing but content.
    target, tolerance
        The wished value, and how far the result may be from it.
    size
        Number of records, at least 1 and at most all.
    rng
        Source of randomness.
    progress
        Called as ``progress(stage, done, total)``.

    Examples
    --------
    >>> ratio = Ratio(offsets=np.zeros(4, dtype=np.int64), items=np.zeros(0, dtype=np.int32),
    ...               n_items=0, parts=np.array([1, 2, 4]), wholes=np.array([4, 4, 4]))
    >>> found = choose(ratio, 0.75, size=2, tolerance=0.01, rng=np.random.default_rng(1))
    >>> found.records.tolist(), found.reached
    ([1, 2], True)
    """
    near = tolerance + ROUNDING
    drawn = rng.permutation(len(ratio))
    at_random = ratio.of(drawn[:size])
    if _few_choices(len(ratio), size):
        return _among_all(ratio, target, size=size, near=near, rng=rng, at_random=at_random)
    best: Found | None = None
    for start in range(STARTS):
        if progress is not None:
            progress("choosing records", start, STARTS)
        records = climb(ratio, target, drawn, size=size, near=AIM * near, rng=rng)
        value = ratio.of(records)
        reached = abs(value - target) <= near
        found = Found(records=records, value=value, reached=reached, at_random=at_random)
        if reached:
            return found
        if best is None or not abs(best.value - target) <= abs(value - target):
            best = found
        drawn = rng.permutation(len(ratio))
    assert best is not None
    return _with_range(ratio, best, size=size, rng=rng)


def climb(
    ratio: Ratio,
    target: float,
    order: Int64Array,
    *,
    size: int,
    near: float,
    rng: np.random.Generator,
) -> Int64Array:
    """Swap the first `size` records of `order` for others while that leads nearer to `target`.

    >>> ratio = Ratio(offsets=np.zeros(4, dtype=np.int64), items=np.zeros(0, dtype=np.int32),
    ...               n_items=0, parts=np.array([1, 2, 4]), wholes=np.array([4, 4, 4]))
    >>> rng = np.random.default_rng(1)
    >>> climb(ratio, 1.0, np.arange(3), size=1, near=0.0, rng=rng).tolist()
    [2]
    """
    order = order.copy()
    counts = ratio.counts(order[:size])
    sums = ratio.sums(counts, order[:size])
    if size == len(order):
        return order
    tried = max(PER_RECORD * len(order), LEAST_TRIED)
    before = math.inf
    for _ in range(ROUNDS):
        swap_towards(
            ratio.offsets,
            ratio.items,
            ratio.parts,
            ratio.wholes,
            counts,
            order,
            sums,
            target,
            near,
            rng.integers(size, size=tried),
            rng.integers(size, len(order), size=tried),
        )
        away = abs(sums[0] / sums[1] - target) if sums[1] else math.inf
        if away <= near or before - away < STALLED:
            break
        before = away
    return order[:size]


def extreme(ratio: Ratio, *, size: int, highest: bool) -> Int64Array:
    """Return the choice of the greatest (or least) ratio of sums, exactly (Dinkelbach 1967).

    For a value v the choice that maximises Σ (part − v · whole) is made of the records where
    that is greatest; with v taken from the choice before, each is better than the last, until
    none is. For ratios of sums only, without different items.

    >>> ratio = Ratio(offsets=np.zeros(4, dtype=np.int64), items=np.zeros(0, dtype=np.int32),
    ...               n_items=0, parts=np.array([1, 2, 4]), wholes=np.array([2, 8, 4]))
    >>> extreme(ratio, size=2, highest=False).tolist()
    [0, 1]
    """
    sign = 1 if highest else -1
    shares = np.full(len(ratio), -np.inf)
    np.divide(sign * ratio.parts, ratio.wholes, out=shares, where=ratio.wholes > 0)
    records = np.argsort(-shares, kind="stable")[:size]
    while True:
        value = ratio.of(records)
        gains = sign * (ratio.parts - value * ratio.wholes)
        better = np.argsort(-gains, kind="stable")[:size]
        if not sign * ratio.of(better) > sign * value:
            return np.sort(records)
        records = better


def _with_range(ratio: Ratio, best: Found, *, size: int, rng: np.random.Generator) -> Found:
    """Return a search that failed with the ends of what can be reached."""
    if not len(ratio.items):
        ends = [ratio.of(extreme(ratio, size=size, highest=up)) for up in (False, True)]
    else:
        orders = [rng.permutation(len(ratio)) for _ in range(2)]
        ends = [
            ratio.of(climb(ratio, end, order, size=size, near=0.0, rng=rng))
            for end, order in zip((0.0, 1.0), orders, strict=True)
        ]
    return Found(
        records=best.records,
        value=best.value,
        reached=False,
        at_random=best.at_random,
        low=min(best.value, *ends),
        high=max(best.value, *ends),
        exact=not len(ratio.items),
    )


def _few_choices(n: int, size: int) -> bool:
    """Whether all choices can be looked at; the number itself may have thousands of digits."""
    choices = 1
    for i in range(min(size, n - size)):
        choices = choices * (n - i) // (i + 1)
        if choices > FEW:
            return False
    return choices <= FEW


def _among_all(
    ratio: Ratio,
    target: float,
    *,
    size: int,
    near: float,
    rng: np.random.Generator,
    at_random: float,
) -> Found:
    """Look at every choice and draw one of those that are near enough, or of the nearest."""
    choices, values = zip(*_valued(ratio, size), strict=True)
    found = np.array(values)
    known = np.flatnonzero(~np.isnan(found))
    away = np.abs(found[known] - target)
    fitting = known[away <= max(near, float(away.min()))]
    taken = int(fitting[rng.integers(len(fitting))])
    return Found(
        records=np.array(choices[taken], dtype=np.int64),
        value=float(found[taken]),
        reached=bool(abs(found[taken] - target) <= near),
        at_random=at_random,
        low=float(found[known].min()),
        high=float(found[known].max()),
        exact=True,
    )


def _valued(ratio: Ratio, size: int) -> Iterator[tuple[tuple[int, ...], float]]:
    bounds = ratio.offsets.tolist()
    items = ratio.items.tolist()
    held = [sum(1 << i for i in items[a:b]) for a, b in pairwise(bounds)]
    parts, wholes = ratio.parts.tolist(), ratio.wholes.tolist()
    for choice in combinations(range(len(ratio)), size):
        union = 0
        for record in choice:
            union |= held[record]
        whole = sum(wholes[record] for record in choice)
        part = sum(parts[record] for record in choice) + union.bit_count()
        yield choice, part / whole if whole else math.nan
