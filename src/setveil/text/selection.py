"""Tables with wished properties: records chosen for their type-token ratio or cell density.

The experiments on re-association vary the type-token ratio of the data, those on elimination the
density of the cells of generalized items; both choose documents so that it takes a wished value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.arrays import Int32Array, Int64Array, offsets_of
from setveil.core.errors import InfeasibleError, InputError, ParameterError
from setveil.core.table import TransactionTable, Vocabulary, frozen, record_cells
from setveil.text.swap_kernels import swap_towards

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from setveil.core.threads import Progress


TOLERANCE = 0.01


@dataclass(frozen=True, kw_only=True, eq=False)
class Selection:
    """Records that were chosen for a property.

    Parameters
    ----------
    table
        The chosen records in canonical order, over the items that they hold.
    records
        Places of those records in the table they were chosen from; for the owner only.
    value
        The property over them.
    at_random
        The property over as many records drawn at random, for comparison; NaN if it has none.
    """

    table: TransactionTable
    records: Int64Array
    value: float
    at_random: float

    def __repr__(self) -> str:
        return f"<Selection: {len(self.table):,} records, {self.value:.4f}>"


def with_ttr(
    table: TransactionTable,
    target: float,
    *,
    size: int,
    length: int | None = None,
    tolerance: float = TOLERANCE,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Selection:
    """Choose records whose type-token ratio, different items per occurrence, is `target`.

    The ratio falls as records are added or get longer, for items repeat: a thousand documents of
    seventy words each cannot have 0.5. `length` then cuts every record to some of its items; an
    error says which size or length would do.

    Parameters
    ----------
    table
        The records to choose from.
    target
        The wished ratio, above 0 and at most 1.
    size
        Number of records to choose.
    length
        Longest record; of a longer one that many items are drawn at random. None keeps all.
    tolerance
        How far the ratio may be from `target`.
    rng
        Source of randomness; the operating system's if not given.
    progress
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    Selection
        The records; the same for the same bag of records and the same generator.

    Raises
    ------
    InfeasibleError
        If no choice was found, with the range that choices reach.

    Examples
    --------
    >>> rows = [["flu", "cough"], ["flu", "cough"], ["flu", "fever"], ["asthma"]]
    >>> table = TransactionTable.from_rows(rows)
    >>> chosen = with_ttr(table, 0.5, size=2, rng=np.random.default_rng(1))
    >>> chosen.table.to_rows(), chosen.value
    ([['cough', 'flu'], ['cough', 'flu']], 0.5)
    >>> with_ttr(table, 0.2, size=2)
    Traceback (most recent call last):
    setveil.core.errors.InfeasibleError: no 2 of the 4 records have a ttr of 0.2 (±0.01): they \
have 0.5 to 1, and the nearest is 0.5. To fix: ask for a ttr in that range.

    References
    ----------
    A. AlShuhail, J. Shao, "Semantic attack on disassociated transaction data", 2023, "Dataset
    preparation": the data density there is this ratio, 0.2 to 0.7.
    """
    _check(table, target, size=size, tolerance=tolerance)
    if length is not None and length < 1:
        raise ParameterError(f"length is {length}", fix="keep at least one item per record")
    rng = np.random.default_rng(rng)
    order, sorted_table = _sort_records(table)
    cut = sorted_table if length is None else truncate_records(sorted_table, length, rng=rng)
    if not len(cut.items):
        raise InputError("no record holds an item", fix="choose from records with items")
    ratio = Ratio(
        offsets=cut.offsets,
        items=cut.items,
        n_items=cut.n_items,
        parts=np.zeros(len(cut), dtype=np.int64),
        wholes=cut.lengths,
    )
    found = choose(ratio, target, size=size, tolerance=tolerance, rng=rng, progress=progress)
    if not found.reached:
        hint = _other_sizes(cut, target, size=size, rng=rng)
        raise _out_of_reach("ttr", target, tolerance, found, n=len(table), hint=hint)
    return _selection(cut, order, found)


def with_cell_density(
    table: TransactionTable,
    groups: Iterable[Iterable[str]],
    target: float,
    *,
    size: int,
    tolerance: float = TOLERANCE,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Selection:
    """Choose records whose cell density, original cells per cell, is `target`.

    Parameters
    ----------
    table
        The records to choose from. Those that hold no member of a group have no cells; they may
        be chosen, as they are data too, and do not change the density.
    groups
        The items that will be published together, as one generalized item each; see
        :func:`setveil.measure.profile.cell_density`.
    target
        The wished density, above 0 and at most 1.
    size, tolerance, rng, progress
        As in :func:`with_ttr`.

    Returns
    -------
    Selection
        The records; the same for the same bag of records and the same generator.

    Raises
    ------
    InfeasibleError
        If no choice was found, with the exact range of choices.

    Examples
    --------
    >>> rows = [["flu", "cold"], ["flu"], ["cold"], ["fever"]]
    >>> table = TransactionTable.from_rows(rows)
    >>> groups = [["flu", "cold"]]
    >>> chosen = with_cell_density(table, groups, 0.75, size=2, rng=np.random.default_rng(1))
    >>> chosen.table.to_rows()
    [['cold', 'flu'], ['cold']]
    """
    _check(table, target, size=size, tolerance=tolerance)
    rng = np.random.default_rng(rng)
    order, sorted_table = _sort_records(table)
    original, cells = record_cells(sorted_table, groups)
    if not cells.any():
        raise InputError(
            "no record holds a member of a group of two or more items",
            fix="check the spelling of the groups' items",
        )
    ratio = Ratio(
        offsets=np.zeros(len(table) + 1, dtype=np.int64),
        items=np.zeros(0, dtype=np.int32),
        n_items=0,
        parts=original,
        wholes=cells,
    )
    found = choose(ratio, target, size=size, tolerance=tolerance, rng=rng, progress=progress)
    if not found.reached:
        raise _out_of_reach("cell density", target, tolerance, found, n=len(table))
    return _selection(sorted_table, order, found)


def at_random(
    table: TransactionTable, *, size: int, rng: np.random.Generator | None = None
) -> TransactionTable:
    """Return `size` records drawn at random, in canonical order, over the items they hold.

    >>> table = TransactionTable.from_rows([["flu"], ["cold"], ["flu"]])
    >>> len(at_random(table, size=2))
    2
    """
    _check_size(table, size)
    rng = np.random.default_rng(rng)
    order = table.canonical_order()
    return select_records(table, order[rng.choice(len(table), size=size, replace=False)])


def truncate_records(
    table: TransactionTable, length: int, *, rng: np.random.Generator
) -> TransactionTable:
    """Return the records with at most `length` items each, drawn at random where there are more.

    >>> table = TransactionTable.from_rows([["a", "b", "c"], ["a"]])
    >>> truncate_records(table, 2, rng=np.random.default_rng(1)).lengths.tolist()
    [2, 1]
    """
    kept = _ranks(table, rng) < length
    offsets = offsets_of(np.minimum(table.lengths, length))
    return TransactionTable(offsets=offsets, items=table.items[kept], vocabulary=table.vocabulary)


def select_records(table: TransactionTable, records: Int64Array) -> TransactionTable:
    """Return some records in canonical order, over the items that they hold and no others.

    >>> table = TransactionTable.from_rows([["flu"], ["cold", "fever"], ["gout"]])
    >>> chosen = select_records(table, np.array([0, 1]))
    >>> chosen.to_rows(), chosen.vocabulary.names
    ([['cold', 'fever'], ['flu']], ('cold', 'fever', 'flu'))
    """
    taken = table.take(records)
    taken = taken.take(taken.canonical_order())
    held, items = np.unique(taken.items, return_inverse=True)
    names = tuple(table.vocabulary[i] for i in held.tolist())
    return TransactionTable(
        offsets=taken.offsets,
        items=items.astype(np.int32),
        vocabulary=Vocabulary(names=names),
    )


# --- what both have in common -------------------------------------------------------------------


def _check(table: TransactionTable, target: float, *, size: int, tolerance: float) -> None:
    if not (math.isfinite(target) and 0 < target <= 1):
        raise ParameterError(f"the wished value is {target}", fix="use a number in (0, 1]")
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise ParameterError(f"the tolerance is {tolerance}", fix="use 0 or more, such as 0.01")
    _check_size(table, size)


def _check_size(table: TransactionTable, size: int) -> None:
    if not 1 <= size <= len(table):
        raise ParameterError(
            f"{size:,} records cannot be chosen from {len(table):,}",
            fix="use a size from 1 to the number of records",
        )


def _sort_records(table: TransactionTable) -> tuple[Int64Array, TransactionTable]:
    """Return the records, as sets, in an order that depends on nothing but their content."""
    if table.is_bag:
        table = TransactionTable.from_csr(table.offsets, table.items, table.vocabulary.names)
    order = table.canonical_order()
    return order, table.take(order)


def _selection(table: TransactionTable, order: Int64Array, found: Found) -> Selection:
    return Selection(
        table=select_records(table, found.records),
        records=frozen(np.sort(order[found.records]), np.int64),
        value=found.value,
        at_random=found.at_random,
    )


def _ranks(table: TransactionTable, rng: np.random.Generator) -> Int64Array:
    """Return for each occurrence its place in a random order of its record's items."""
    record_of = np.repeat(np.arange(len(table)), table.lengths)
    drawn = np.lexsort((rng.random(len(table.items)), record_of))
    ranks = np.empty(len(table.items), dtype=np.int64)
    ranks[drawn] = np.arange(len(table.items)) - np.repeat(table.offsets[:-1], table.lengths)
    return ranks


# --- what to do where there is no such choice ---------------------------------------------------


def _out_of_reach(
    name: str, target: float, tolerance: float, found: Found, *, n: int, hint: str = ""
) -> InfeasibleError:
    verb = "have" if found.exact else "were found to have"
    ends = "they have" if found.exact else "the search reached"
    low, high = (f"{end:.4g}" for end in (found.low, found.high))
    # Between the values that few or large records can have there are gaps.
    gap = found.low <= target <= found.high
    wish = (
        "ask for the nearest, or allow more tolerance" if gap else f"ask for a {name} in that range"
    )
    return InfeasibleError(
        f"no {len(found.records):,} of the {n:,} records {verb} a {name} of {target:g} "
        f"(±{tolerance:g}): {ends} {low} to {high}, and the nearest is {found.value:.4g}",
        fix=f"{wish}{hint}",
    )


def _other_sizes(
    table: TransactionTable, target: float, *, size: int, rng: np.random.Generator
) -> str:
    """Name a number of random records, and a length of records, that would have the ratio."""
    drawn = table.take(rng.permutation(len(table)))
    _, first = np.unique(drawn.items, return_index=True)
    fresh = np.zeros(len(drawn.items), dtype=np.int64)
    fresh[first] = 1
    fresh_until = offsets_of(fresh)[drawn.offsets[1:]]
    enough = _nearest(fresh_until, drawn.offsets[1:], target)
    some = drawn.take(np.arange(size))
    ranks = _ranks(some, rng)
    earliest = np.full(some.n_items, np.iinfo(np.int64).max)
    np.minimum.at(earliest, some.items, ranks)
    longest = int(some.lengths.max(initial=1))
    lengths = np.arange(1, longest + 1)
    types = np.searchsorted(np.sort(earliest), lengths)
    tokens = np.cumsum(np.bincount(ranks, minlength=longest))
    short = _nearest(types, tokens, target)
    hint = ""
    if enough is not None and enough + 1 != size:
        hint += f", or for a size of about {enough + 1:,}"
    if short is not None and short + 1 < longest:
        hint += f", or cut the records to a length of about {short + 1:,}"
    return hint


def _nearest(types: Int64Array, tokens: Int64Array, target: float) -> int | None:
    """Return the place where types per token come nearest to `target`; None if not near."""
    known = np.flatnonzero(tokens)
    if not len(known):
        return None
    away = np.abs(types[known] / tokens[known] - target)
    place = int(np.argmin(away))
    return int(known[place]) if away[place] <= 5 * TOLERANCE else None


# --- Choosing records so that a ratio over them comes near a target ---

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
    choices, values = zip(*_all_values(ratio, size), strict=True)
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


def _all_values(ratio: Ratio, size: int) -> Iterator[tuple[tuple[int, ...], float]]:
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
